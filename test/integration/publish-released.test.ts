/** `keep_released`: what `retain` lets go from the warehouse stays in Delta tables, as it was last, through kills of publishing. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { findingsOf } from '../../src/check/check.ts';
import { unplaced } from '../../src/config/read-config.ts';
import type { Config } from '../../src/config/config.ts';
import { dropSlice } from '../../src/drop.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import { explainPlan } from '../../src/run/plan-report.ts';
import { readStatus } from '../../src/status/status.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import { textWith } from '../support/matching.ts';
import { column, query } from '../support/contents.ts';
import { deltaRows, readDelta, readLog, sortedRows } from '../support/delta-reader.ts';
import { countSteps } from '../support/failing-step.ts';
import { reports } from '../support/night.ts';
import { replacedValue } from '../support/report-mutations.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { type ReportMutation, withEachRow } from '../support/simulator/mutations.ts';
import { slice } from '../support/slice.ts';

/** 60 in the long form, each killed at another step. */
const NIGHTS = Number(process.env['RIPEN_RELEASED_NIGHTS'] ?? '7');
const RETAIN = NIGHTS > 30 ? 30 : 3;

let scenario: Scenario;

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'network'],
  metrics: ['installs', 'clicks'],
  datePeriod: { first: { daysAgo: 3 }, last: { daysAgo: 1 } },
  retainDays: 3,
});
const FIRST = day('2026-06-05');
const at = (night: number): Date => new Date(`${addDays(FIRST, night)}T02:30:00Z`);

async function open(
  retainDays = 3,
  change: Partial<Slice> = {},
): Promise<{ readonly root: string; readonly change: Pick<Config, 'publish'> }> {
  scenario = await openScenario([{ ...daily, ...change, retainDays }], {
    simulator: { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 20 } },
  });
  const root = join(scenario.directory, 'tables');
  const target = { kind: 'delta', path: root, mode: 0o644, keepMs: 0, keepReleased: true } as const;
  return { root, change: { publish: [target] } };
}

function cubeOf(cohorts: Readonly<Record<string, readonly string[]>>): Partial<Slice> {
  const cube = cubeMetrics(cohorts);
  return { cube, metrics: cube.map(({ metric }) => metric) };
}

type Row = Record<string, unknown>;
const byDay = (rows: readonly Row[]): Map<string, string> => {
  const found = new Map<string, Row[]>();
  for (const row of rows)
    found.set(String(row['day']), [...(found.get(String(row['day'])) ?? []), row]);
  return new Map([...found].map(([key, some]) => [key, JSON.stringify(sortedRows(some))]));
};
const inWarehouse = async (): Promise<Map<string, string>> =>
  byDay(await query(scenario, 'select * exclude (_load_id) from main.daily'));
const inLake = async (root: string): Promise<Map<string, string>> =>
  byDay(await readDelta(join(root, 'daily')));

test(`over ${NIGHTS} nights with retain: ${RETAIN}d, whose publishes fail at one step after the other, every released period stays as it was last`, async () => {
  const { root, change } = await open(RETAIN);
  const last = new Map<string, string>();
  let failures = 0;
  let total = 0;
  for (let night = 0; night < NIGHTS; night += 1) {
    // From a step on everything fails, as for a killed process; the last steps of a night are those of its publish.
    const fromStep =
      night === 0 ? Infinity : Math.round(total * (0.25 + (0.5 * ((night * 7) % 11)) / 11));
    const steps = await countSteps((each) => each >= fromStep);
    const hasFailed = await scenario
      .night(at(night), change)
      .then(
        (summary) => summary.failures.length > 0,
        () => true,
      )
      .finally(() => steps.stop());
    failures += hasFailed ? 1 : 0;
    total = Math.max(total, steps.kinds.length);
    for (const [key, rows] of await inWarehouse()) last.set(key, rows);
    expect((await scenario.night(at(night), change)).failures, `night ${night}`).toEqual([]);
    for (const [key, rows] of await inWarehouse()) last.set(key, rows);
    expect(await inLake(root), `night ${night}, failed from step ${fromStep}`).toEqual(last);
  }
  expect(failures).toBeGreaterThan(NIGHTS / 3);
  const held = await column(scenario, 'select distinct day::varchar from daily order by 1');
  expect(held.length).toBeLessThanOrEqual(RETAIN);
  const released = [...last.keys()].filter((key) => !held.includes(key)).sort();
  expect(released.length).toBeGreaterThan(1);
  await scenario.night(at(NIGHTS - 1), change);
  const finality = await readDelta(join(root, 'ripen_finality'));
  const named = finality
    .filter((row) => row['released'] === true)
    .map((row) => String(row['period']));
  expect([...new Set(named)].sort()).toEqual(released);
  const shown = await ask(
    join(root, 'catalog.duckdb'),
    'select count(distinct day)::int as days from daily_final',
  );
  expect(shown).toEqual([{ days: last.size }]);
}, 3_600_000);

test('released periods are counted, dropped, brought back by a backfill, and go with a changed meaning, which check and plan announce', async () => {
  const { root, change } = await open();
  for (let night = 0; night < 4; night += 1) await scenario.night(at(night), change);
  const config = { ...scenario.config, ...change };
  const days = ['2026-06-02', '2026-06-03', '2026-06-04'];
  const released = async (): Promise<string[]> =>
    column(scenario, 'select distinct period::varchar from ripen.released order by 1');
  expect(await released()).toEqual(days);
  const [status] = await scenario.inWarehouse(
    async (warehouse) => (await readStatus(config, warehouse, at(3))).slices,
  );
  expect(status?.released_periods).toBe(3);
  const before = await inLake(root);

  // Its types change: the files are written again from themselves.
  const writing = { mode: 'write', lockWaitMs: 0, emit: () => {} } as const;
  await withWarehouse(config.warehouse, writing, async (warehouse) =>
    warehouse.run('alter table main.daily alter column clicks type DECIMAL(38,2)'),
  );
  expect((await scenario.night(at(3), change)).failures).toEqual([]);
  const widened = (rows: string | undefined): string =>
    String(rows).replaceAll(/"clicks":"(\d+)"/g, '"clicks":"$1.00"');
  const after = await inLake(root);
  for (const each of days) expect(after.get(each)).toBe(widened(before.get(each)));

  const patience = { lockWaitMs: 0, emit: () => {}, signal: AbortSignal.timeout(60_000) };
  const dropped = await dropSlice(
    config,
    { ...patience, slice: 'daily', before: day('2026-06-03') },
    async () => true,
  );
  expect(dropped.dropped).toMatchObject({ periods: 1 });
  expect(await released()).toEqual(days.slice(1));
  expect([...(await inLake(root)).keys()]).not.toContain('2026-06-02');

  const slices = [{ ...daily, retainDays: 30 }];
  const forced = { start: day('2026-06-03'), end: day('2026-06-04') };
  const paths = async (): Promise<string[]> =>
    (await readLog(join(root, 'daily'))).files.map(({ path }) => path);
  const old = (await paths()).find((path) => path.includes('2026-06-03'));
  expect(
    (await scenario.night(at(3), { ...change, slices }, { command: 'backfill', forced })).failures,
  ).toEqual([]);
  expect(await released()).toEqual(['2026-06-04']);
  expect((await paths()).some((path) => path.includes('2026-06-03'))).toBe(true);
  expect(old).toBeDefined();

  const changed = {
    ...config,
    slices: [{ ...daily, dimensions: ['day', 'network', 'os_name'], retainDays: 30 }],
  };
  const asking = { ...patience, planAt: at(3), slices: null };
  expect((await explainPlan(changed, asking)).slices[0]).toMatchObject({ released_periods: 1 });
  const told = (
    await findingsOf(changed, { at: at(3), stated: unplaced, signal: patience.signal }, () => {})
  )
    .map(({ message }) => message)
    .join('\n');
  expect(told).toContain('1 period that only Delta tables have will be deleted with it');
  await scenario.night(at(4), { ...change, slices: changed.slices });
  expect(await released()).toEqual([]);
  expect(await inLake(root)).toEqual(await inWarehouse());
});

test('a released period whose file is lost is refused with the way out, and no other table is left behind', async () => {
  const { root, change } = await open();
  for (let night = 0; night < 2; night += 1) await scenario.night(at(night), change);
  const lost = (await readLog(join(root, 'daily'))).files.find(({ path }) =>
    path.includes('2026-06-02'),
  );
  rmSync(join(root, 'daily', lost?.path ?? ''));
  const { failures } = await scenario.night(at(2), change);
  expect(failures).toMatchObject([{ code: 'STORAGE_FAILED' }]);
  expect(failures[0]?.hint).toContain('ripen drop --slice daily --before');
});

test('released days that the service no longer has stay in the lake when `retain` is raised, until their loss is accepted', async () => {
  const { root, change } = await open();
  for (let night = 0; night < 4; night += 1) await scenario.night(at(night), change);
  const days = ['2026-06-02', '2026-06-03', '2026-06-04'];
  const before = await inLake(root);
  const datePeriod = { ...daily.datePeriod, first: { day: day('2026-06-02') } };
  const raised = { ...change, slices: [{ ...daily, datePeriod, retainDays: 30 }] };
  const backfill = {
    command: 'backfill',
    forced: { start: day('2026-06-02'), end: day('2026-06-05') },
  } as const;
  scenario.simulator.script({
    match: reports({ date_period: (days) => days < '2026-06-05' }),
    times: Infinity,
    fault: { kind: 'status', status: 204, body: 'empty' },
  });
  for (const request of [{}, backfill]) {
    const { failures } = await scenario.night(at(14), raised, request);
    expect(failures).toMatchObject([{ code: 'DATA_SHRUNK' }]);
    const after = await inLake(root);
    for (const each of days) expect(after.get(each)).toBe(before.get(each));
  }
  expect(
    await column(scenario, 'select distinct period::varchar from ripen.released order by 1'),
  ).toEqual(days);
  expect(
    (await scenario.night(at(14), raised, { ...backfill, acceptLoss: true })).failures,
  ).toEqual([]);
  expect([...(await inLake(root)).keys()].sort()[0]).toBe('2026-06-05');
});

test('a released period of a cube whose values are all zero stays in the lake', async () => {
  const { root, change } = await open(3, cubeOf({ all_revenue_total: ['d0'] }));
  const zero = { all_revenue_total_d0: '0' };
  const mutate: ReportMutation = (report) => ({
    ...withEachRow(report, (row) => ({ ...row, ...zero })),
    totals: zero,
  });
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'report', mutate },
  });
  for (let night = 0; night < 3; night += 1) await scenario.night(at(night), change);
  expect(
    await column(scenario, 'select distinct day::varchar from daily order by 1'),
  ).not.toContain('2026-06-02');
  const lake = await inLake(root);
  expect([...lake.keys()].sort()).toEqual([
    '2026-06-02',
    '2026-06-03',
    '2026-06-04',
    '2026-06-05',
    '2026-06-06',
  ]);
});

test('a released period of a cube that is brought back in part stays whole in the lake until the rest of its metrics came', async () => {
  const ages = Array.from({ length: 21 }, (_, age) => `d${age}`);
  const datePeriod = { first: { day: day('2026-06-02') }, last: { day: day('2026-06-06') } };
  const cube = {
    ...cubeOf({ all_revenue_total: ages, retained_users: ages }),
    datePeriod,
    maxUrlBytes: 1000,
  };
  const { root, change } = await open(48, cube);
  // The next publish states what was released after the last one.
  for (const night of [45, 48, 48]) await scenario.night(at(night), change);
  const before = await inLake(root);
  const cells = 'period, metric, released, is_final';
  const finality = async (): Promise<Row[]> =>
    ask(
      ':memory:',
      `select ${cells} from ${await deltaRows(join(root, 'ripen_finality'))} order by all`,
    );
  const stated = await finality();
  const refused = scenario.simulator.script({
    match: reports({ metrics: (metrics) => metrics.includes('_d20') }),
    times: Infinity,
    fault: { kind: 'status', status: 400 },
  });
  const raised = { ...change, slices: [{ ...daily, ...cube, retainDays: 400 }] };
  for (const retried of [false, true]) {
    const { failures } = await scenario.night(at(48), raised);
    expect(failures, `retried ${retried}`).toMatchObject([{ code: 'SOURCE_REFUSED' }]);
    expect((await inWarehouse()).size).toBe(5);
    expect(await inLake(root)).toEqual(before);
    expect(await finality()).toEqual(stated);
  }
  refused();
  expect((await scenario.night(at(48), raised)).failures).toEqual([]);
  expect(await inLake(root)).toEqual(await inWarehouse());
  expect(await column(scenario, 'select count(*)::varchar from ripen.released')).toEqual(['0']);
});

test('a released value that the type of a metric added again cannot hold is refused until `types` states one that can', async () => {
  const { root, change } = await open();
  const mutate = replacedValue(0, 'clicks', '7.5');
  scenario.simulator.script({ match: reports(), times: 1, fault: { kind: 'report', mutate } });
  for (const night of [0, 4]) await scenario.night(at(night), change);
  const before = await readDelta(join(root, 'daily'));
  expect(before.map((row) => row['clicks'])).toContain('7.5');
  await scenario.night(at(5), { ...change, slices: [{ ...daily, metrics: ['installs'] }] });
  const [failure, ...others] = (await scenario.night(at(6), change)).failures;
  expect(others).toEqual([]);
  expect(failure).toMatchObject({ code: 'STORAGE_FAILED', message: textWith('clicks') });
  expect(failure?.hint).toContain('`types:`');
  const slices = [{ ...daily, types: { clicks: 'DECIMAL(20,1)' } }];
  expect((await scenario.night(at(6), { ...change, slices })).failures).toEqual([]);
  expect((await readDelta(join(root, 'daily'))).map((row) => row['clicks'])).toContain('7.5');
});
