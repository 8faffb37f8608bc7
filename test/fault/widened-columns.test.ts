/** Numbers that their columns do not hold, by the catalog, the configuration or a value: stored as stated, in every copy. What fails widens nothing. */

import { join } from 'node:path';

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { ReportMutation } from '../support/simulator/mutations.ts';
import type { Quirks } from '../support/simulator/quirks.ts';
import { column, query, storedAndTrue, lastRun } from '../support/contents.ts';
import { gridOf, openAnswering, withCells } from '../support/answering.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { combined, replacedValue, wrongTotal } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import type { PublishTarget } from '../../src/config/config.ts';
import { deltaRows } from '../support/delta-reader.ts';
import { ask } from '../support/sample-warehouse.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');

/** A count of the usual kind. */
const quirks: Partial<Quirks> = {
  metrics: [
    { id: 'points_scored', formatting: 'integer', kind: 'count', listed: 'overview_metrics' },
  ],
};
const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 6, quirks } as const;
const given = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'points_scored', 'cost'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
} as const;
const daily = slice(given);

/** Befalls the answers of the second night: its first row is the oldest. */
const script = (mutate: ReportMutation): (() => void) =>
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate },
  });
const typeOf = async (name: string): Promise<string> =>
  (
    await column(scenario, `select column_type from (describe daily) where column_name = '${name}'`)
  ).join();
const widenings = (): Promise<string[]> =>
  column(
    scenario,
    "select name || ': ' || before || ' to ' || after from ripen.schema_changes where change = 'column widened'",
  );

/** Columns, comments and views, as the database tells them. */
const described = async (): Promise<unknown> => [
  await query(scenario, 'describe daily'),
  await query(
    scenario,
    "select table_name, column_name, comment from duckdb_columns() where schema_name = 'main' order by all",
  ),
  await query(
    scenario,
    "select table_name, comment from duckdb_tables() where schema_name = 'main' order by all",
  ),
  await query(
    scenario,
    "select view_name, sql, comment from duckdb_views() where view_name like 'daily%' order by all",
  ),
];

test('7.5 in a count whose list turned from integer to money after 4 days were loaded is stored as 7.5', async () => {
  const altered = {
    id: 'points_scored',
    formatting: 'money',
    during: (now: Date) => now >= SECOND,
  } as const;
  scenario = await openScenario([daily], {
    simulator: { world: { ...world, quirks: { ...quirks, catalog: [altered] } } },
  });
  await runNight(scenario, FIRST);
  const type = await typeOf('points_scored');
  expect(type).toBe('BIGINT');
  script(replacedValue(0, 'points_scored', '7.5'));
  expect(await runNight(scenario, SECOND)).toMatchObject({ status: 'succeeded', failures: [] });

  expect(
    await column(
      scenario,
      "select points_scored::varchar from daily where points_scored::varchar like '7.5%'",
    ),
  ).toEqual([expect.stringMatching(/^7\.50*$/)]);
  expect((await widenings()).map((each) => each.slice(0, 23))).toEqual(['points_scored: BIGINT t']);
  const { stored, truth } = await storedAndTrue(scenario, daily, '2026-05-28:2026-06-01', SECOND);
  expect(stored.filter((row) => !truth.includes(row)).length).toBe(1);
  expect(stored.length).toBe(truth.length);
});

test.each<[string, ReportMutation]>([
  ['whose installs are off by 1', wrongTotal('installs', 1)],
  ['with a value that is no number', replacedValue(1, 'installs', '1,234.5')],
])(
  'a window with a cost of 20 digits %s fails, and changes no column, no comment and no view',
  async (_, mutate) => {
    const short = slice({
      ...given,
      datePeriod: { first: { day: day('2026-05-31') }, last: { daysAgo: 1 } },
    });
    scenario = await openScenario([short], { simulator: { world } });
    await runNight(scenario, FIRST);
    const before = await described();
    const restore = script(combined(replacedValue(0, 'cost', '12345678901234.123456789'), mutate));
    const failed = await runNight(scenario, SECOND);
    expect(failed.failures.length).toBeGreaterThan(0);
    expect(failed.slices[0]?.windows.loaded).toBe(0);
    expect(await described()).toEqual(before);
    expect(await widenings()).toEqual([]);

    // The same value in a sound answer does.
    restore();
    script(replacedValue(0, 'cost', '12345678901234.123456789'));
    expect((await runNight(scenario, SECOND)).failures).toEqual([]);
    expect((await widenings()).length).toBe(1);
    expect(
      await column(scenario, 'select distinct cost::varchar from daily where cost > 1000000'),
    ).toEqual([expect.stringMatching(/^12345678901234\.1234567890*$/)]);
  },
);

const float = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
  refresh: 'nightly',
});

const open = async (): Promise<void> => {
  scenario = await openScenario([float], { simulator: { world: smallWorld } });
};
const costs = (...texts: readonly string[]): ReportMutation =>
  combined(...texts.map((text, row) => replacedValue(row, 'cost', text)));
const at = (name: string): string => join(scenario.directory, name);

/** A copy of each kind. */
const copies = (): readonly PublishTarget[] => [
  { kind: 'parquet', path: at('lake'), mode: 0o644 },
  { kind: 'delta', path: at('tables'), mode: 0o644, keepMs: 86_400_000 },
  { kind: 'duckdb', path: at('copy.duckdb'), mode: 0o644 },
];

/** That every copy of `daily` gives what the warehouse gives; returns that. */
async function sameInCopies(select: string): Promise<readonly Record<string, unknown>[]> {
  const held = await query(scenario, `${select} from daily order by all`);
  for (const [file, from] of [
    [':memory:', `read_parquet('${at('lake/daily/*.parquet')}')`],
    [':memory:', `read_parquet('${at('lake/daily/*.parquet')}', union_by_name = true)`],
    [at('copy.duckdb'), 'daily'],
    [':memory:', await deltaRows(at('tables/daily'))],
  ] as const) {
    expect(await ask(file, `${select} from ${from} order by all`)).toEqual(held);
  }
  return held;
}

test('a night that changes the types of two columns and asks for one day leaves the other days in every copy as they were, in the new types, and as final as they were', async () => {
  await open();
  const publish = copies();
  const ofOthers = `where "day" <> date '2026-05-28' order by all`;
  const finality = 'select period, metric, is_final, final_at from ripen.finality order by all';
  const states = 'select start_day, state, next_refresh_at from ripen.periods order by all';
  expect((await scenario.night(FIRST, { publish })).failures).toEqual([]);
  const before = await query(
    scenario,
    `select "day", app_token, os_name, installs::double as i, cost::double as c from daily ${ofOthers}`,
  );
  const stood = [await query(scenario, finality), await query(scenario, states)];

  script(combined(costs('0.30000000000000004'), replacedValue(1, 'installs', '7.5')));
  const order = {
    command: 'backfill',
    slices: ['daily'],
    forced: { start: day('2026-05-28'), end: day('2026-05-29') },
  } as const;
  expect((await scenario.night(FIRST, { publish }, order)).failures).toEqual([]);
  expect([await typeOf('cost'), await typeOf('installs')]).toEqual([
    'DECIMAL(29,17)',
    'DECIMAL(20,1)',
  ]);
  expect(
    await query(
      scenario,
      `select "day", app_token, os_name, installs::double as i, cost::double as c from daily ${ofOthers}`,
    ),
  ).toEqual(before);
  expect([await query(scenario, finality), await query(scenario, states)]).toEqual(stood);

  const select = `select "day"::varchar as "day", app_token, os_name, installs::varchar as i, cost::varchar as c, typeof(installs) as it, typeof(cost) as ct`;
  await sameInCopies(select);
});

test('two counts of 38 digits in one window are stored, restated and published, though their sum has more digits than a decimal', async () => {
  await open();
  const large = [
    '99999999999999999999999999999999999999',
    '99999999999999999999999999999999999998',
  ];
  const counts = (...texts: readonly string[]): ReportMutation =>
    combined(...texts.map((text, row) => replacedValue(row, 'installs', text)));
  const publish = copies();
  const restore = script(counts(...large));
  expect((await scenario.night(FIRST, { publish })).failures).toEqual([]);
  expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
  expect(await column(scenario, 'select installs::varchar from daily')).toEqual(
    expect.arrayContaining(large),
  );
  restore();
  script(counts(...large.toReversed(), large[0] ?? ''));
  expect((await scenario.night(SECOND, { publish })).failures).toEqual([]);
  expect(await column(scenario, 'select metric from ripen.restatements')).toContain('installs');
});

test('a number of so many digits that no decimal holds it beside the counts of its cube fails the window, and the stored values stay exact', async () => {
  const cube = cubeMetrics({ cohort_size: ['d1'], all_revenue_total: ['d1'] });
  const ids = cube.map(({ metric }) => metric);
  const datePeriod = { first: { day: day('2026-05-20') }, last: { day: day('2026-05-20') } };
  const curve = slice({ name: 'curve', dimensions: ['day'], metrics: ids, cube, datePeriod });
  const rows = gridOf(['2026-05-20'], {}, ids).map((row) =>
    withCells(row, { cohort_size_d1: '9007199254740993', all_revenue_total_d1: '1.25' }),
  );
  const answering = await openAnswering([curve], rows);
  await answering.night(1);
  const values = 'select value::varchar || typeof(value) from curve order by metric';
  const stored = await column(answering.scenario, values);
  expect(stored.at(-1)).toMatch(/^9007199254740993\.0+DECIMAL/);
  answering.rows = rows.map((row) =>
    withCells(row, { all_revenue_total_d1: '1.4210854715202004e-10' }),
  );
  const forced = { start: day('2026-05-20'), end: day('2026-05-21') };
  const { failures } = await answering.night(2, { request: { command: 'backfill', forced } });
  expect(failures).toMatchObject([
    { code: 'DATA_REJECTED', hint: textWith('to a slice of its own') },
  ]);
  expect(await column(answering.scenario, values)).toEqual(stored);
});
