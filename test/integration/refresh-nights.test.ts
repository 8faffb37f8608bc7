/** Nights in a row: what is asked for again, what changes, and what does not. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column, contentOf, lastRun, query, stateOf, storedAndTrue } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { askedReports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { storedRows } from '../support/truth.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');
const simulator = { world: smallWorld };

const metrics = ['installs', 'clicks', 'cost', 'ecpi', 'all_revenue_total_d7'];
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network', 'os_name'],
  metrics,
  datePeriod: { first: { daysAgo: 20 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});

test('rows that vanished upstream between two nights are gone after the second, and every row is as the service has it', async () => {
  const fine = slice({
    ...daily,
    name: 'fine',
    dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  });
  scenario = await openScenario([fine], { simulator: { world: { ...smallWorld, rowsPerDay: 100 } } });
  await runNight(scenario, FIRST);
  const before = await scenario.inWarehouse((warehouse) => storedRows(warehouse, fine));
  await runNight(scenario, SECOND);

  const { stored, truth } = await storedAndTrue(scenario, fine, '2026-05-12:2026-06-01', SECOND);
  const keyOf = (row: string): string => row.split('",').slice(0, 5).join();
  const keys = new Set(truth.map(keyOf));
  expect(before.filter((row) => !keys.has(keyOf(row))).length, 'rows that vanished').toBeGreaterThan(0);
  expect(stored).toEqual(truth);
});

const oids = (): Promise<string[]> =>
  column(scenario, 'select view_oid from duckdb_views() where not internal order by schema_name, view_name');

const declared = (): Promise<Record<string, unknown>[]> =>
  query(
    scenario,
    `select view_name, replace(sql, '"', '') as sql, comment from duckdb_views() where not internal
     union all select table_name, '', comment from duckdb_tables() where schema_name = 'main'
     union all select table_name || '.' || column_name, data_type, comment from duckdb_columns()
     where schema_name = 'main' and not internal
     order by all`,
  );

test('a second sync at the same instant requests nothing, changes nothing, makes no view and no comment, and takes fewer than 60 statements', async () => {
  scenario = await openScenario([daily, slice({ ...daily, name: 'other' })], { simulator });
  await runNight(scenario, FIRST);
  const held = () => Promise.all([oids(), declared(), stateOf(scenario, 'daily')]);
  const before = await held();
  const steps = await countSteps();
  const again = await runNight(scenario, FIRST).finally(() => {
    steps.stop();
  });
  expect(again.service.requests).toBe(0);
  expect(steps.kinds.filter((kind) => /^(create|drop|alter|comment) /.test(kind))).toEqual([]);
  expect(
    steps.kinds.filter((kind) => /^(select|with|insert|update|delete|begin|commit)\b/.test(kind)).length,
  ).toBeLessThan(60);
  expect(await held()).toEqual(before);
  expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
});

test('restatements are exactly the totals that differ between two snapshots, metric by metric and day by day', async () => {
  scenario = await openScenario([daily], { simulator });
  const snapshot = (): Promise<Record<string, unknown>[]> =>
    query(
      scenario,
      'select day, sum(installs) as installs, sum(clicks) as clicks, sum(cost) as cost, sum(all_revenue_total_d7) as all_revenue_total_d7 from daily group by day',
    );
  await runNight(scenario, FIRST);
  const before = new Map((await snapshot()).map((row) => [row['day'], row]));
  const summary = await runNight(scenario, SECOND);
  const after = new Map((await snapshot()).map((row) => [row['day'], row]));

  const moved: string[] = [];
  const number = (value: unknown): string =>
    value === null || value === undefined ? 'null' : Number(value).toFixed(6);
  for (const [period, was] of before) {
    for (const metric of ['installs', 'clicks', 'cost', 'all_revenue_total_d7']) {
      const [from, to] = [number(was[metric]), number(after.get(period)?.[metric])];
      if (from !== to) moved.push(`${String(period)} ${metric} ${from} ${to}`);
    }
  }
  const recorded = (await query(scenario, 'select period, metric, before, after, seen_at from ripen.restatements')).map(
    (row) => `${String(row['period'])} ${String(row['metric'])} ${number(row['before'])} ${number(row['after'])}`,
  );
  expect(moved.length).toBeGreaterThan(10);
  expect(recorded.sort()).toEqual(moved.sort());
  expect(summary.slices[0]?.restated_periods).toBe(new Set(moved.map((line) => line.slice(0, 10))).size);
});

test('a backfill of 3 days asks for exactly those days and leaves the load of every other day alone', async () => {
  scenario = await openScenario([daily], { simulator });
  await runNight(scenario, FIRST);
  const outside = "day < '2026-05-20' or day >= '2026-05-23'";
  const before = await contentOf(scenario, `(from daily where ${outside})`);
  scenario.simulator.asked.reset();
  const forced = { start: day('2026-05-20'), end: day('2026-05-23') };
  const summary = await runNight(scenario, SECOND, { request: { command: 'backfill', slices: ['daily'], forced } });

  expect(askedReports(scenario).map(({ period }) => period)).toEqual(['2026-05-20:2026-05-22']);
  expect(summary.slices[0]).toMatchObject({ periods: { forced: 3 }, windows: { planned: 1, loaded: 1, failed: 0 } });
  expect(await contentOf(scenario, `(from daily where ${outside})`)).toEqual(before);
  expect(await column(scenario, `select distinct _load_id from daily where not (${outside})`)).toEqual(['4']);
  expect(await column(scenario, 'select reasons::varchar from ripen.loads where load_id = 4')).toEqual(['[forced]']);
});

test('a slice without a date dimension is replaced whole when its 10 days move on, and by a backfill of 1 of them', async () => {
  const whole = slice({
    name: 'whole',
    dimensions: ['app_token', 'network'],
    metrics,
    datePeriod: { first: { daysAgo: 10 }, last: { daysAgo: 1 } },
  });
  scenario = await openScenario([whole], { simulator });
  await runNight(scenario, FIRST);
  scenario.simulator.asked.reset();
  await runNight(scenario, SECOND);
  expect(askedReports(scenario).map(({ period }) => period)).toEqual(['2026-05-23:2026-06-01']);
  const second = await storedAndTrue(scenario, whole, '2026-05-23:2026-06-01', SECOND);
  expect(second.stored).toEqual(second.truth);
  expect(await column(scenario, 'select start_day from ripen.periods')).toEqual(['2026-05-23']);

  const forced = { start: day('2026-05-25'), end: day('2026-05-26') };
  await runNight(scenario, SECOND, { request: { command: 'backfill', forced } });
  expect(askedReports(scenario).map(({ period }) => period)).toEqual([
    '2026-05-23:2026-06-01',
    '2026-05-23:2026-06-01',
  ]);
  const third = await storedAndTrue(scenario, whole, '2026-05-23:2026-06-01', SECOND);
  expect(third.stored).toEqual(third.truth);
});
