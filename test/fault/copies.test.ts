/** FAULTS 15, 55: identical rows in batches, parts and pages, whose totals count them once or as often as they come. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import { archived, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import {
  type AnsweringWorld,
  batchesAsked,
  type Change,
  gridOf,
  inBatches,
  openAnswering,
  type Report,
  type TrueRow,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost', 'sessions'];
const values = { app_token: ['a', 'b'], network: ['x', 'y'] };
const DAYS = ['2026-05-30', '2026-05-31'];
const rows = gridOf(DAYS, values, metrics);

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
});
const batched = inBatches(daily, 33);
/** The row of network y of app b comes so often on each day. */
const comes =
  (times: number) =>
  (row: TrueRow): number =>
    row['app_token'] === 'b' && row['network'] === 'y' ? times : 1;

const counts = ['once', 'as often'] as const;
const cases = counts.flatMap((count) => [2, 3].map((times) => [times, count] as const));

async function expectOneOfEach(world: AnsweringWorld, of: Slice, cells = 32): Promise<void> {
  expect(world.truth(of)).toHaveLength(cells);
  expect(await world.cells(of)).toEqual(world.truth(of));
  expect(await column(world.scenario, 'select distinct code from ripen.warnings')).toEqual([
    'DUPLICATE_ROWS',
  ]);
}

const open = (of: Slice, [times, copiesCount]: (typeof cases)[number]): Promise<AnsweringWorld> =>
  openAnswering([of], rows, { copies: comes(times), copiesCount });

test.each(cases)(
  'a row that comes %i times in one answer, which its totals count %s, is stored once, as proven',
  async (...copied) => {
    const world = await open(daily, copied);
    expect((await world.night(1)).failures).toEqual([]);
    await expectOneOfEach(world, daily);
    expect(world.asked).toHaveLength(1);
  },
);

test.each(cases)(
  'a row that comes %i times in each batch, which its totals count %s, is stored once, as proven, and every batch is asked for once',
  async (...copied) => {
    const world = await open(batched, copied);
    expect((await world.night(1)).failures).toEqual([]);
    await expectOneOfEach(world, batched);
    expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
      'proven',
    ]);
    expect(world.asked.length).toBeGreaterThan(1);
    expect(world.asked).toHaveLength(batchesAsked(world).length);
  },
);

/** The chosen rows so many times more, in the answers aimed at alone. */
const copyIn =
  (
    copiesCount: (typeof counts)[number],
    isCopied = (row: number): boolean => row === 0,
    times = 1,
  ): Change =>
  (report) => {
    const more = report.rows.flatMap((row, at) =>
      isCopied(at) ? Array.from({ length: times }, () => row) : [],
    );
    const cents = (value: unknown): number => Math.round(Number(value) * 100);
    const totals = Object.entries(report.totals).map(([metric, total]) => {
      const extra = more.reduce((sum, row) => sum + cents(row[metric]), 0);
      return [metric, copiesCount === 'once' ? total : (cents(total) + extra) / 100];
    });
    return json({
      ...report,
      rows: [...report.rows, ...more],
      totals: Object.fromEntries(totals) as unknown,
    });
  };

describe.each(counts)('in one batch of 2, whose totals count copies %s,', (count) => {
  test.each<[string, (row: number) => boolean]>([
    ['the first row', (row) => row === 0],
    ['every row', () => true],
    ['every second row', (row) => row % 2 === 0],
  ])('%s twice is stored once, as proven, without another request', async (_, isCopied) => {
    const world = await openAnswering([batched], rows);
    world.rewrite({ metric: 'sessions' }, copyIn(count, isCopied));
    expect((await world.night(1)).failures).toEqual([]);
    await expectOneOfEach(world, batched);
    expect(world.asked).toHaveLength(batchesAsked(world).length);
  });

  test.each<[string, (row: number) => boolean, (row: number) => boolean]>([
    ['a row twice, another one in the other batch,', (row) => row === 1, (row) => row === 2],
    ['every row twice, one row in the other batch,', () => true, (row) => row === 2],
  ])('%s is stored once, as proven, without another request', async (_, isCopied, isOther) => {
    const world = await openAnswering([batched], rows);
    world.rewrite({ metric: 'sessions' }, copyIn(count, isCopied));
    world.rewrite({ metric: 'clicks' }, copyIn(count, isOther));
    expect((await world.night(1)).failures).toEqual([]);
    await expectOneOfEach(world, batched);
    expect(world.asked).toHaveLength(batchesAsked(world).length);
  });

  test('a row 3 times, and twice in the other batch, is stored once, as proven, without another request', async () => {
    const world = await openAnswering([batched], rows);
    world.rewrite(
      { metric: 'sessions' },
      copyIn(count, (row) => row === 1, 2),
    );
    world.rewrite(
      { metric: 'clicks' },
      copyIn(count, (row) => row === 1),
    );
    expect((await world.night(1)).failures).toEqual([]);
    await expectOneOfEach(world, batched);
    expect(world.asked).toHaveLength(batchesAsked(world).length);
  });
});

test('a row twice in both batches, which one counts once and the other as often, is stored once, as proven, without another request', async () => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: 'sessions' }, copyIn('once'));
  world.rewrite({ metric: 'clicks' }, copyIn('as often'));
  expect((await world.night(1)).failures).toEqual([]);
  await expectOneOfEach(world, batched);
  expect(world.asked).toHaveLength(batchesAsked(world).length);
});

test.each(counts)(
  'a batch whose copies the totals count %s, and which lacks 1 of its 8 rows for ever, fails with exit code 65, and nothing is loaded',
  async (count) => {
    const world = await openAnswering([batched], rows);
    world.rewrite({ metric: 'sessions' }, (report, asking) =>
      copyIn(count)({ ...report, rows: report.rows.slice(0, -1) }, asking),
    );
    expect((await world.night(1)).failures.length).toBeGreaterThan(0);
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    expect(await world.cells(batched)).toEqual([]);
  },
);

test('1 of 4 rows of a settled day, which comes 4 times and whose totals are its own, does not replace them: exit code 65', async () => {
  const nightly: Slice = { ...daily, refresh: 'nightly' };
  const world = await openAnswering([nightly], rows);
  expect((await world.night(1)).failures).toEqual([]);
  world.rewrite({ day: '2026-05-31' }, (report) => {
    const isKept = (row: Report['rows'][number]): boolean => row['day'] !== '2026-05-31';
    const last = report.rows.filter((row) => !isKept(row)).slice(0, 1);
    const kept = [...report.rows.filter(isKept), ...last];
    const totals = metrics.map((metric) => {
      return [metric, kept.reduce((sum, row) => sum + Number(row[metric]), 0)];
    });
    return json({
      ...report,
      rows: [...kept, ...last, ...last, ...last],
      totals: Object.fromEntries(totals) as unknown,
    });
  });
  const { failures } = await world.night(20);
  expect(failures.map(({ code }) => code)).toEqual(['DATA_SHRUNK']);
  expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
  expect(await world.cells(daily)).toEqual(world.truth(daily));
});

test('2 rows of one key that differ in one batch of 2 fail the window with exit code 65, both shown', async () => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: 'sessions' }, (report) =>
    json({ ...report, rows: [...report.rows, { ...report.rows[0], sessions: '1' }] }),
  );
  const { failures } = await world.night(1);
  expect(failures.map(({ code }) => code)).toEqual(['DATA_DUPLICATE_KEY']);
  expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
  expect(await world.cells(batched)).toEqual([]);
});

test.each(cases)(
  'a row that comes %i times, counted %s, in the pages of batches is stored once',
  async (...copied) => {
    const world = await open(batched, copied);
    world.pages = { size: 3, totals: 'first' };
    expect((await world.night(1)).failures).toEqual([]);
    await expectOneOfEach(world, batched);
  },
);

describe('2 learned parts', () => {
  const nightly: Slice = {
    ...daily,
    refresh: 'nightly',
    datePeriod: { first: { day: day('2026-05-31') }, last: { daysAgo: 1 } },
  };
  const two = gridOf(['2026-05-31', '2026-06-01'], values, metrics);

  test.each(
    cases.flatMap(([times, count]) => [
      [times, count, 1, nightly] as const,
      [times, count, 2, inBatches(nightly, 50)] as const,
    ]),
  )(
    'with a row that comes %i times, which all totals count %s, in %i batches, are loaded, one of each, as proven',
    async (times, copiesCount, _, of) => {
      const world = await openAnswering([of], two, { maxRows: 3 });
      expect((await world.night(1)).failures).toEqual([]);
      Object.assign(world, { maxRows: Infinity, copies: comes(times), copiesCount });
      expect((await world.night(2)).failures).toEqual([]);
      await expectOneOfEach(world, of);
      expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
        'proven',
      ]);
    },
  );
});

describe('a cube of 4 metrics of 2 ages', () => {
  const cube = cubeMetrics({ cohort_size: ['d1', 'd2'], all_revenue_total: ['d1', 'd2'] });
  const ids = cube.map(({ metric }) => metric);
  const curve = slice({ ...daily, name: 'curve', metrics: ids, cube });
  const long = gridOf(DAYS, values, ids);

  test.each(cases)(
    'in batches with a row that comes %i times, counted %s, is stored once, and so by a replay',
    async (times, copiesCount) => {
      const world = await openAnswering([inBatches(curve, 50)], long, {
        copies: comes(times),
        copiesCount,
      });
      expect((await world.night(10, { config: archived })).failures).toEqual([]);
      await expectOneOfEach(world, curve);
      await loseWarehouse(world.scenario);
      expect((await replayInto(world.scenario)).failures).toEqual([]);
      expect(await world.cells(curve)).toEqual(world.truth(curve));
    },
  );

  test.each(cases)(
    'replayed with one age of two, with a row that comes %i times, counted %s, has no conflict and no unknown key',
    async (times, copiesCount) => {
      const world = await openAnswering([curve], long, { copies: comes(times), copiesCount });
      expect((await world.night(10, { config: archived })).failures).toEqual([]);
      await loseWarehouse(world.scenario);
      const fewer = cubeMetrics({ cohort_size: ['d1'], all_revenue_total: ['d1'] });
      const younger = { ...curve, cube: fewer, metrics: fewer.map(({ metric }) => metric) };
      expect((await replayInto(world.scenario, { slices: [younger] })).failures).toEqual([]);
      expect(await world.cells(younger)).toEqual(world.truth(younger));
      expect(world.warnings().filter((words) => words.startsWith('UNKNOWN_KEYS'))).toEqual([]);
    },
  );
});
