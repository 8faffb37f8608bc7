/** Names that stand for something in SQL, in JavaScript or in a load: they load, are restated and published as any other. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { oddlyNamedDimensions, oddlyNamedMetrics, unaskedKeys } from '../support/simulator/quirks.ts';
import { column, query, storedAndTrue } from '../support/contents.ts';
import { reports, runNight } from '../support/night.ts';
import { combined, replacedValue } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');
const DAYS = '2026-05-29:2026-05-31';
const small = { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } as const;
const quirks = { metrics: oddlyNamedMetrics, dimensions: oddlyNamedDimensions, unasked: unaskedKeys(60) };
const datePeriod = { first: { day: day('2026-05-29') }, last: { day: day('2026-05-31') } } as const;
const metrics = oddlyNamedMetrics.map(({ id }) => id);

test(`metrics named ${metrics.join(', ')} load, and a value of each that a second night changes is restated by its name`, async () => {
  const odd = slice({
    name: 'odd',
    dimensions: ['day', 'os_name', ...oddlyNamedDimensions.keys()],
    metrics: ['installs', ...metrics],
    datePeriod,
    refresh: 'nightly',
  });
  scenario = await openScenario([odd], { simulator: { world: { ...small, quirks } } });
  expect(await runNight(scenario, FIRST)).toMatchObject({ status: 'succeeded', failures: [] });
  const { stored, truth } = await storedAndTrue(scenario, odd, DAYS, FIRST);
  expect(truth.length).toBeGreaterThan(5);
  expect(stored).toEqual(truth);

  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate: combined(...metrics.map((id, at) => replacedValue(0, id, String(90_000 + at)))) },
  });
  expect(await runNight(scenario, SECOND)).toMatchObject({ status: 'succeeded', failures: [] });
  const restated = await query(
    scenario,
    'select metric, max(after)::integer >= 90000 as changed from ripen.restatements group by metric order by metric',
  );
  expect(restated.filter(({ changed }) => changed === true).map(({ metric }) => metric)).toEqual([...metrics].sort());
});

test('60 keys that nobody asked for, one of them "", are kept in _extra of every row, under metrics of any name', async () => {
  const odd = slice({ name: 'odd', dimensions: ['day', 'os_name'], metrics: ['installs', ...metrics], datePeriod });
  scenario = await openScenario([odd], { simulator: { world: { ...small, quirks } } });
  expect(await runNight(scenario, FIRST)).toMatchObject({ status: 'succeeded', failures: [] });
  expect(
    await query(
      scenario,
      `select distinct len(json_keys(_extra)) as keys, json_extract_string(_extra, '/') as empty,
           json_extract_string(_extra, '/unasked_59') as last
       from odd`,
    ),
  ).toEqual([{ keys: '60', empty: 'value 0', last: 'value 59' }]);
  expect(await column(scenario, "select count(*) from ripen.warnings where code = 'UNKNOWN_KEYS'")).toEqual(['1']);
});

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
