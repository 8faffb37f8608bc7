/** `retain`: the one setting that lets go of periods. */

import { join } from 'node:path';

import { expect, test } from 'vitest';

import { addDays, day } from '../../src/model/calendar.ts';
import { archived, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column } from '../support/contents.ts';
import { askedReports, reports, runNight } from '../support/night.ts';
import { readDelta } from '../support/delta-reader.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const world = { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 20 } };

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'network'],
  metrics: ['installs'],
  datePeriod: { first: { daysAgo: 4 }, last: { daysAgo: 1 } },
});

const days = async (): Promise<unknown> =>
  column(scenario, 'select distinct day::varchar from daily order by 1');
const periods = async (): Promise<unknown> =>
  column(scenario, "select start_day::varchar from ripen.periods where slice = 'daily' order by 1");

test('only periods before the first day that is kept leave the warehouse and every copy, in one run, and are not requested again', async () => {
  scenario = await openScenario([daily], { simulator: world });
  const snapshot = join(scenario.directory, 'a.duckdb');
  const tables = join(scenario.directory, 'tables');
  const lake = join(scenario.directory, 'lake');
  const publish = [
    { kind: 'duckdb', path: snapshot, mode: 0o644 },
    { kind: 'delta', path: tables, mode: 0o644, keepMs: 0 },
    { kind: 'parquet', path: lake, mode: 0o644 },
  ] as const;
  const copies = async (): Promise<unknown[]> => {
    const sql = 'select distinct day::varchar as day from';
    const rows = [
      await ask(snapshot, `${sql} daily order by day`),
      await readDelta(join(tables, 'daily')),
      await ask(':memory:', `${sql} '${lake}/daily/**/*.parquet' order by day`),
    ];
    return rows.map((each) => [...new Set(each.map((row) => String(row['day'])))].toSorted());
  };
  await scenario.night(new Date('2026-06-05T02:30:00Z'), { publish });
  const slices = [{ ...daily, retainDays: 3 }];
  const second = new Date('2026-06-06T02:30:00Z');
  await scenario.night(second, { publish, slices });
  const kept = ['2026-06-03', '2026-06-04', '2026-06-05'];
  expect(await days()).toEqual(kept);
  expect(await periods()).toEqual(kept);
  expect(scenario.events).toContainEqual(
    expect.objectContaining({
      type: 'periods_deleted',
      slice: 'daily',
      periods: 2,
      before: '2026-06-03',
    }),
  );
  expect(await copies()).toEqual([kept, kept, kept]);
  expect((await runNight(scenario, second, { slices })).failures).toEqual([]);
  expect(await periods()).toEqual(kept);
});

test('a backfill covers only days that have begun and that are kept, says which, and is refused where there is none', async () => {
  scenario = await openScenario([{ ...daily, retainDays: 3 }], { simulator: world });
  const now = new Date('2026-06-05T02:30:00Z');
  await runNight(scenario, now);
  const again = (start: string, end: string): ReturnType<typeof runNight> =>
    runNight(scenario, now, {
      request: { command: 'backfill', forced: { start: day(start), end: day(end) } },
    });

  expect((await again('2026-05-30', '2026-06-20')).failures).toEqual([]);
  expect(askedReports(scenario).at(-1)?.period).toBe('2026-06-02:2026-06-05');
  expect(await periods()).toEqual(['2026-06-02', '2026-06-03', '2026-06-04', '2026-06-05']);
  expect(
    await column(scenario, "select message from ripen.warnings where code = 'BACKFILL_CUT'"),
  ).toEqual([
    'Of the days 2026-05-30:2026-06-19 only 2026-06-02:2026-06-05 were requested: the others have not begun, or are older than `retain` allows.',
  ]);

  for (const [start, end] of [
    ['2026-06-06', '2026-06-08'],
    ['2026-05-20', '2026-05-25'],
  ] as const) {
    const { failures } = await again(start, end);
    expect(failures).toMatchObject([{ code: 'USAGE_INVALID', slice: 'daily' }]);
    expect(failures[0]?.message).toContain(
      'were not requested: they have not begun, or are older than `retain` allows',
    );
  }
  expect(await periods()).toHaveLength(4);
});

test('a replay brings nothing back that `retain` had let go of by the newest archived fetch', async () => {
  const slices = [{ ...daily, retainDays: 3 }];
  scenario = await openScenario(slices, { simulator: world });
  await scenario.night(new Date('2026-06-05T02:30:00Z'), archived);
  await scenario.night(new Date('2026-06-08T02:30:00Z'), archived);
  const kept = ['2026-06-05', '2026-06-06', '2026-06-07'];
  expect(await days()).toEqual(kept);
  for (const isNew of [false, true]) {
    if (isNew) await loseWarehouse(scenario);
    expect((await replayInto(scenario)).failures).toEqual([]);
    expect(await days()).toEqual(kept);
    expect(await periods()).toEqual(kept);
  }
  // A replay as of an earlier night has what that night kept.
  await loseWarehouse(scenario);
  expect(
    (await replayInto(scenario, {}, { asOf: new Date('2026-06-06T02:30:00Z') })).failures,
  ).toEqual([]);
  expect(await days()).toEqual(['2026-06-03', '2026-06-04', ...kept]);
});

test.each([
  ['days', ['day', 'network']],
  ['days and weeks', ['day', 'week', 'network']],
])(
  'the oldest days of a table by %s leave it and the ledger while one by weeks is not complete',
  async (_, dimensions) => {
    const datePeriod = { first: { daysAgo: 20 }, last: { daysAgo: 1 } } as const;
    const before = { ...daily, dimensions, datePeriod };
    scenario = await openScenario([before], { simulator: world });
    await runNight(scenario, new Date('2026-06-05T02:30:00Z'));
    scenario.simulator.script({
      match: reports({}),
      times: Infinity,
      fault: { kind: 'status', status: 503 },
    });
    const weekly = { ...before, dimensions: ['week', 'network'], retainDays: 10 };
    const slices = [slice({ ...weekly, grain: 'week' })];
    await runNight(scenario, new Date('2026-06-06T02:30:00Z'), { slices });
    const kept = Array.from({ length: 9 }, (__, at) => addDays(day('2026-05-27'), at));
    expect(await days()).toEqual(kept);
    expect(await periods()).toEqual(kept);
  },
);
