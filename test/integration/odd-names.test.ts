/** Names that stand for something in SQL, in JavaScript or in a load: they load, are restated and published as any other. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column } from '../support/contents.ts';
import { reports } from '../support/night.ts';
import { replacedValue } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');
const small = { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } as const;
const datePeriod = { first: { day: day('2026-05-29') }, last: { day: day('2026-05-31') } } as const;
const names = ['windows', 'typed', 'answers', 'staged', 'documents', 'plain_texts', 'not_numbers', 'before', 'after'];

test(`slices named ${names.join(', ')} load beside each other, are restated, and reach both published copies`, async () => {
  const slices = names.map((name) =>
    slice({ name, dimensions: ['day', 'os_name'], metrics: ['installs', 'cost'], datePeriod, refresh: 'nightly' }),
  );
  scenario = await openScenario(slices, { simulator: { world: small } });
  const published = `${scenario.directory}/readers`;
  const config = {
    slices,
    publish: [
      { kind: 'duckdb', path: `${published}/analytics.duckdb`, mode: 0o644 },
      { kind: 'parquet', path: `${published}/lake`, mode: 0o644 },
    ],
  } as const;
  expect(await scenario.night(FIRST, config)).toMatchObject({ status: 'succeeded', failures: [] });
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate: replacedValue(0, 'installs', '90000') },
  });
  const summary = await scenario.night(SECOND, config);

  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(summary.published.map(({ kind }) => kind)).toEqual(['duckdb', 'parquet']);
  expect(
    await column(scenario, "select distinct slice from ripen.restatements where metric = 'installs' order by slice"),
  ).toEqual([...names].sort());
  for (const name of names) {
    const [count] = await column(scenario, `select count(*) from main."${name}"`);
    expect(
      await column(
        scenario,
        `select count(*) from read_parquet('${published}/lake/${name}/*/*.parquet', hive_partitioning = false)`,
      ),
    ).toEqual([count]);
  }
});
