/** FAULTS 8, 18, 52: of several batches of a window's metrics one comes without rows, or short, once or for ever. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type AnsweringWorld,
  batchesAsked,
  type Change,
  countAsked,
  cut,
  gridOf,
  inBatches,
  noContent,
  noRows,
  noRowsButTotals,
  openAnswering,
  refused,
  short,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { slice } from '../support/slice.ts';

const DAYS = ['2026-05-30', '2026-05-31'];
const metrics = ['installs', 'clicks', 'cost', 'sessions', 'impressions', 'reattributions'];
const places = { app_token: ['a', 'b'], network: ['x', 'y', 'z'] };
const rows = gridOf(DAYS, places, metrics);

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
});
const batched = inBatches(daily, 40);
/** A metric of the last batch. */
const LAST = 'reattributions';
const again = {
  command: 'backfill',
  forced: { start: day('2026-05-30'), end: day('2026-06-01') },
} as const;

const failing: readonly (readonly [string, Change])[] = [
  ['204', noContent],
  ['{"rows":[],"totals":{}}', noRows],
  ['no rows beside totals of 12', noRowsButTotals],
  ['3 of 12 rows missing beside totals of 12', short(3, 'of all')],
  ['3 of 12 rows missing beside totals of 9', short(3, 'of the rest')],
  ['3 of 12 rows missing and no totals', short(3, 'missing')],
];

/** Those that end in a wrong number or in NULL if they are believed. */
const silent = failing.filter(([name]) => !name.endsWith('of 12'));

async function expectTrue(world: AnsweringWorld, of: Slice): Promise<void> {
  const truth = world.truth(of);
  expect(truth.length).toBeGreaterThan(20);
  expect(await world.cells(of)).toEqual(truth);
}

test.each(failing)(
  'a first load of 2 days in batches, one of which is answered %s once, is whole and proven',
  async (_, change) => {
    const world = await openAnswering([batched], rows);
    world.rewrite({ metric: LAST }, change, 1);
    expect((await world.night(1)).failures).toEqual([]);
    await expectTrue(world, batched);
    expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
      'proven',
    ]);
    expect(batchesAsked(world).length).toBeGreaterThan(1);
  },
);

test.each(failing)(
  'a first load of 2 days in batches, one of which is answered %s for ever, fails with exit code 65, and no cell is loaded',
  async (_, change) => {
    const world = await openAnswering([batched], rows);
    world.rewrite({ metric: LAST }, change);
    const { failures } = await world.night(1);
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
    expect(await lastRun(world.scenario)).toEqual({ status: 'failed', exit_code: 65 });
    expect(await world.cells(batched)).toEqual([]);
  },
);

test.each(failing.slice(0, 2))(
  'a batch that is answered %s once is asked for twice, and the others once',
  async (_, change) => {
    const world = await openAnswering([batched], rows);
    world.rewrite({ metric: LAST }, change, 1);
    await world.night(1);
    expect(countAsked(world, { metric: LAST })).toBe(2);
    expect(countAsked(world, { metric: 'clicks' })).toBe(1);
  },
);

test('a batch of 1 day that is answered 204 for a whole night is asked for at most 3 times, and loaded by the next night', async () => {
  const first = { day: day('2026-05-30') };
  const oneDay: Slice = { ...batched, datePeriod: { first, last: first } };
  const world = await openAnswering(
    [oneDay],
    rows.filter((row) => row.day === '2026-05-30'),
  );
  const restore = world.rewrite({ metric: LAST }, noContent);
  expect((await world.night(1)).failures.map(({ code }) => code)).toEqual(['DATA_INCOMPLETE']);
  expect(countAsked(world, { metric: LAST })).toBeGreaterThan(1);
  expect(countAsked(world, { metric: LAST })).toBeLessThan(4);
  restore();
  expect((await world.night(2)).failures).toEqual([]);
  await expectTrue(world, oneDay);
});

test('2 days whose first of several batches is answered 204 twice are whole at the third answer', async () => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: 'clicks' }, noContent, 2);
  expect((await world.night(1)).failures).toEqual([]);
  await expectTrue(world, batched);
});

test('a batch that comes short at first, and 204 the second time, is whole at the third', async () => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: LAST, after: 1 }, noContent, 1);
  world.rewrite({ metric: LAST }, short(3, 'of the rest'), 1);
  expect((await world.night(1)).failures).toEqual([]);
  await expectTrue(world, batched);
});

test('2 days of which every batch is answered 204 are empty, named, and not failed', async () => {
  const world = await openAnswering([batched], []);
  const summary = await world.night(1);
  expect(summary).toMatchObject({
    failures: [],
    slices: [{ empty_periods: ['2026-05-30:2026-05-31'] }],
  });
});

test('of 2 days the second has no rows in any batch: it is empty, and the first one is whole', async () => {
  const world = await openAnswering(
    [batched],
    rows.filter((row) => row.day === '2026-05-30'),
  );
  const summary = await world.night(1);
  expect(summary).toMatchObject({
    failures: [],
    slices: [{ empty_periods: ['2026-05-31:2026-05-31'] }],
  });
  await expectTrue(world, batched);
});

test('of 2 days one batch lacks the second for ever, while the others have it: the second fails, and no cell is NULL in its place', async () => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: LAST, day: '2026-05-31' }, (report, asking) =>
    short(report.rows.filter(({ day: of }) => of === '2026-05-31').length, 'of the rest')(
      report,
      asking,
    ),
  );
  const { failures } = await world.night(1);
  expect(failures.map(({ code }) => code)).toContain('DATA_INCOMPLETE');
  const truth = new Set(world.truth(batched));
  for (const cell of await world.cells(batched)) expect(truth).toContain(cell);
  expect(await column(world.scenario, `select count(*) from daily where ${LAST} is null`)).toEqual([
    '0',
  ]);
});

test.each<[string, Change]>([
  ['cut in the middle', cut],
  ['answered 503', refused(503)],
])('a batch that is %s once leaves nothing behind', async (_, change) => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: LAST }, change, 1);
  expect((await world.night(1)).failures).toEqual([]);
  await expectTrue(world, batched);
});

test('2 batches of different metrics that are answered 204 once each are whole', async () => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: LAST }, noContent, 1);
  world.rewrite({ metric: 'sessions' }, noContent, 1);
  expect((await world.night(1)).failures).toEqual([]);
  await expectTrue(world, batched);
});

describe('of 2 days long settled', () => {
  const settled: Slice = {
    ...batched,
    datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
  };
  const later = gridOf(DAYS, places, metrics, 2);
  const SETTLED = 20;

  test.each(silent)(
    'a batch that is answered %s once is asked for again, and the new values are stored',
    async (_, change) => {
      const world = await openAnswering([settled], rows);
      expect((await world.night(1)).failures).toEqual([]);
      world.rows = later;
      world.rewrite({ metric: LAST }, change, 1);
      expect((await world.night(SETTLED, { request: again })).failures).toEqual([]);
      await expectTrue(world, settled);
    },
  );

  test.each(silent)(
    'a batch that is answered %s for ever fails the window with exit code 65, and every stored cell stays',
    async (_, change) => {
      const world = await openAnswering([settled], rows);
      await world.night(1);
      world.rows = later;
      world.rewrite({ metric: LAST }, change);
      const { failures } = await world.night(SETTLED, { request: again });
      expect(failures.length).toBeGreaterThan(0);
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
      expect(await world.cells(settled)).toEqual(world.truth(settled, rows));
    },
  );

  test('an answer that lost rows after 2 doubts is confirmed by one that may be doubted as often, and nothing is lost', async () => {
    const world = await openAnswering([settled], rows);
    expect((await world.night(1)).failures).toEqual([]);
    const [first = 0, ofNight] = [world.asked.at(-1)?.ordinal, batchesAsked(world).length];
    world.asked = [];
    // The first answers, that of one batch again, and those of all.
    const confirmed = first + 2 * ofNight + 1;
    world.rows = ({ ordinal }) =>
      ordinal <= confirmed ? later.filter((_, at) => at % 6 === 0) : later;
    world.rewrite({ metric: LAST }, noContent, 2);
    world.rewrite({ metric: LAST, after: 1 }, noContent, 1);
    expect((await world.night(SETTLED, { request: again })).failures).toEqual([]);
    // With the confirmation, and once more the batch that was answered 204 in it.
    expect(countAsked(world, { metric: LAST })).toBe(5);
    world.rows = later;
    await expectTrue(world, settled);
  });
});

describe('metrics added to a loaded slice of 2 batches', () => {
  const few: Slice = { ...batched, metrics: metrics.slice(0, 4) };

  test.each(silent)(
    'whose batch is answered %s once leave no hole in the history',
    async (_, change) => {
      const world = await openAnswering([few], rows);
      await world.night(10);
      world.rewrite({ metric: LAST }, change, 1);
      expect((await world.night(11, { slices: [batched] })).failures).toEqual([]);
      await expectTrue(world, batched);
    },
  );

  test.each(silent)(
    'whose batch is answered %s for ever fail with exit code 65, are no hole, and are loaded by the next night',
    async (_, change) => {
      const world = await openAnswering([few], rows);
      await world.night(10);
      const restore = world.rewrite({ metric: LAST }, change);
      const { failures } = await world.night(11, { slices: [batched] });
      expect(failures.length).toBeGreaterThan(0);
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
      expect(await world.cells(few)).toEqual(world.truth(few));
      restore();
      expect((await world.night(12, { slices: [batched] })).failures).toEqual([]);
      await expectTrue(world, batched);
    },
  );
});

describe('a cube of 6 metrics of one age, in 2 batches', () => {
  const cube = cubeMetrics(
    Object.fromEntries(
      [
        'cohort_size',
        'retained_users',
        'sessions',
        'paying_users',
        'all_revenue_total',
        'ad_revenue_total',
      ].map((key) => [key, ['d1']]),
    ),
  );
  const ids = cube.map(({ metric }) => metric);
  const curve = inBatches(
    slice({ ...daily, name: 'curve', metrics: ids, cube, refresh: 'nightly' }),
    80,
  );
  const values = gridOf(DAYS, places, ids);
  const CUBE_LAST = 'ad_revenue_total_d1';

  test.each(silent)(
    'whose second batch is answered %s once stores every value',
    async (_, change) => {
      const world = await openAnswering([curve], values);
      world.rewrite({ metric: CUBE_LAST }, change, 1);
      expect((await world.night(10)).failures).toEqual([]);
      await expectTrue(world, curve);
      expect(batchesAsked(world).length).toBeGreaterThan(1);
    },
  );

  test.each(silent)(
    'whose second batch is answered %s for ever keeps all 72 values that are stored, with exit code 65',
    async (_, change) => {
      const world = await openAnswering([curve], values);
      await world.night(10);
      const before = world.truth(curve);
      world.rows = gridOf(DAYS, places, ids, 2);
      world.rewrite({ metric: CUBE_LAST }, change);
      const { failures } = await world.night(11, { request: again });
      expect(failures.length).toBeGreaterThan(0);
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
      expect(await world.cells(curve)).toEqual(before);
      expect(before).toHaveLength(72);
    },
  );
});
