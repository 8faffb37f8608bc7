/** FAULTS 8, 18, 52: of several batches of a window's metrics one comes without rows, or short, once or for ever. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { cubeMetrics } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import {
  type Aim,
  type AnsweringWorld,
  atCopy,
  batchesAsked,
  type Change,
  copyOf,
  countAsked,
  gridOf,
  inBatches,
  openAnswering,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { cut, noContent, noRows, noRowsButTotals, refused, short } from '../support/odd-answers.ts';
import { textWith } from '../support/matching.ts';
import { json } from '../support/scripted-server.ts';
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

/** Of those that end in a wrong number or in NULL if they are believed, one without rows and one with some. */
const silent = failing.filter(([name]) => /^204|of 9$/.test(name));

async function expectTrue(world: AnsweringWorld, of: Slice): Promise<void> {
  const truth = world.truth(of);
  expect(truth.length).toBeGreaterThan(20);
  expect(await world.cells(of)).toEqual(truth);
}

/** Ways in which batches come short, and how often; each befalls a slice of its own. */
interface Case {
  readonly name: string;
  readonly rules: readonly (readonly [Aim, Change, times: number])[];
  readonly isLoaded: boolean;
}

const casesOf = (changes: typeof failing, metric = LAST): Case[] =>
  [1, Infinity].flatMap((times) =>
    changes.map(([name, change]) => ({
      name: `${name} ${times === 1 ? 'once' : 'for ever'}`,
      rules: [[{ metric }, change, times]],
      isLoaded: times === 1,
    })),
  );

const spoil = (world: AnsweringWorld, cases: readonly Case[]): (() => void)[] =>
  cases.flatMap(({ rules }, at) =>
    rules.map(([aim, change, times]) => world.rewrite(atCopy(at, aim), change, times)),
  );

/** Each slice failed unless its answer was odd but once, and has these cells. */
function expectEach(
  world: AnsweringWorld,
  cases: readonly Case[],
  slices: readonly Slice[],
  failures: SyncSummary['failures'],
  cellsOf: (of: Slice, isLoaded: boolean) => string[],
): Promise<void> {
  return world.reading(async () => {
    for (const [at, of] of slices.entries()) {
      const { name, isLoaded } = cases[at] ?? { name: '', isLoaded: true };
      expect(
        failures.some((failure) => failure.slice === of.name),
        name,
      ).toBe(!isLoaded);
      expect(await world.cells(of), name).toEqual(cellsOf(of, isLoaded));
    }
  });
}

test('of first loads of 2 days in batches, those with an odd answer once or twice are whole and proven, those with one for ever fail with exit code 65, and no cell of them is loaded', async () => {
  const cases: Case[] = [
    ...casesOf(failing),
    {
      name: 'the first of several 204 twice',
      rules: [[{ metric: 'clicks' }, noContent, 2]],
      isLoaded: true,
    },
    {
      name: 'short at first, and 204 the second time',
      rules: [
        [{ metric: LAST, after: 1 }, noContent, 1],
        [{ metric: LAST }, short(3, 'of the rest'), 1],
      ],
      isLoaded: true,
    },
    { name: 'cut in the middle once', rules: [[{ metric: LAST }, cut, 1]], isLoaded: true },
    { name: '503 once', rules: [[{ metric: LAST }, refused(503), 1]], isLoaded: true },
    {
      name: 'two batches 204 once each',
      rules: [
        [{ metric: LAST }, noContent, 1],
        [{ metric: 'sessions' }, noContent, 1],
      ],
      isLoaded: true,
    },
  ];
  const slices = cases.map((_, at) => copyOf(batched, at));
  const world = await openAnswering(slices, rows);
  spoil(world, cases);
  const { failures } = await world.night(1);
  expect(batchesAsked(world).length).toBeGreaterThan(1);
  expect(await lastRun(world.scenario)).toEqual({ status: 'partial', exit_code: 65 });
  await world.reading(async () => {
    for (const [at, { name, isLoaded }] of cases.entries()) {
      const of = slices[at] ?? batched;
      const codes = failures.filter((failure) => failure.slice === of.name).map(({ code }) => code);
      expect(new Set(codes), name).toEqual(new Set(isLoaded ? [] : ['DATA_INCOMPLETE']));
      expect(await world.cells(of), name).toEqual(isLoaded ? world.truth(of) : []);
      const verdicts = `select distinct verdict from ripen.periods where slice = '${of.name}'`;
      expect(await column(world.scenario, verdicts), name).toEqual(isLoaded ? ['proven'] : []);
    }
  });
  for (const at of [0, 1]) {
    expect(countAsked(world, atCopy(at, { metric: LAST }))).toBe(2);
    expect(countAsked(world, atCopy(at, { metric: 'clicks' }))).toBe(1);
  }
});

test('rows whose attr_dependency is empty, null or left out, from batch to batch, are one row each', async () => {
  const world = await openAnswering([batched], rows);
  for (const [metric, dependency] of [
    ['clicks', { attr_dependency: null }],
    [LAST, { attr_dependency: undefined }],
  ] as const)
    world.rewrite({ metric }, (report) => ({
      status: 200,
      body: JSON.stringify({
        ...report,
        rows: report.rows.map((row) => ({ ...row, ...dependency })),
      }),
    }));
  expect((await world.night(1)).failures).toEqual([]);
  await expectTrue(world, batched);
  expect(await column(world.scenario, 'select count(*) from daily')).toEqual([String(rows.length)]);
});

test('rows of every batch that differ in an empty or no attr_dependency alone are not merged into one, but fail with exit code 65', async () => {
  const [world, uncounted] = [
    await openAnswering([batched], rows),
    await openAnswering([inBatches({ ...daily, metrics: ['ecpi', 'ctr'] }, 10)], []),
  ];
  const pairs: Change = (report) =>
    json({
      ...report,
      rows: report.rows.flatMap((row) => [
        { ...row, attr_dependency: null },
        { ...row, attr_dependency: {} },
      ]),
      totals: Object.fromEntries(
        Object.entries(report.totals).map(([name, total]) => [name, 2 * Number(total)]),
      ),
    });
  uncounted.rows = gridOf(DAYS, places, ['ecpi', 'ctr']);
  for (const each of [world, uncounted]) {
    each.rewrite({}, pairs);
    expect((await each.night(1)).failures.map(({ code }) => code)).toEqual(['DATA_INCOMPLETE']);
    expect(await column(each.scenario, 'select count(*) from daily')).toEqual(['0']);
    await each.scenario.close();
  }
});

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

describe('of 2 days long settled', () => {
  const settled: Slice = {
    ...batched,
    datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
  };
  const later = gridOf(DAYS, places, metrics, 2);
  const SETTLED = 20;

  test('a batch that is odd once is asked for again, and the new values are stored; for ever, it fails the window with exit code 65, and every stored cell stays', async () => {
    const cases = casesOf(silent);
    const slices = cases.map((_, at) => copyOf(settled, at));
    const world = await openAnswering(slices, rows);
    expect((await world.night(1)).failures).toEqual([]);
    world.rows = later;
    spoil(world, cases);
    const { failures } = await world.night(SETTLED, { request: again });
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    await expectEach(world, cases, slices, failures, (of, isLoaded) =>
      world.truth(of, isLoaded ? later : rows),
    );
  });

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

  test('leave no hole in the history if their batch is odd once; for ever, they fail with exit code 65, and are loaded by the next night', async () => {
    const cases = casesOf(silent);
    const of = (full: Slice): Slice[] => cases.map((_, at) => copyOf(full, at));
    const world = await openAnswering(of(few), rows);
    await world.night(10);
    const restore = spoil(world, cases);
    const { failures } = await world.night(11, { slices: of(batched) });
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    await expectEach(world, cases, of(few), failures, (each) => world.truth(each));
    for (const each of restore) each();
    expect((await world.night(12, { slices: of(batched) })).failures).toEqual([]);
    for (const each of of(batched)) await expectTrue(world, each);
  });
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

  test('whose second batch is odd once stores every value; for ever, it keeps all 72 values that are stored, with exit code 65', async () => {
    const cases = casesOf(silent, CUBE_LAST);
    const slices = cases.map((_, at) => copyOf(curve, at));
    const world = await openAnswering(slices, values);
    spoil(world, cases.slice(0, silent.length));
    expect((await world.night(10)).failures).toEqual([]);
    for (const of of slices) await expectTrue(world, of);
    expect(batchesAsked(world).length).toBeGreaterThan(1);
    const newer = gridOf(DAYS, places, ids, 2);
    world.rows = newer;
    spoil(world, cases);
    const { failures } = await world.night(11, { request: again });
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    await expectEach(world, cases, slices, failures, (of, isLoaded) =>
      world.truth(of, isLoaded ? newer : values),
    );
    expect(world.truth(curve, values)).toHaveLength(72);
  });
});

test('a batch whose keys have another attr_dependency than those of the others fails with exit code 65, and no cell is loaded', async () => {
  const world = await openAnswering([batched], rows);
  world.rewrite({ metric: LAST }, (report) =>
    json({
      ...report,
      rows: report.rows.map((row) => ({ ...row, attr_dependency: { campaign_id_network: '1' } })),
    }),
  );
  const { failures } = await world.night(1);
  expect(failures.map(({ message }) => message)).toEqual([
    textWith('did not have the same attr_dependency'),
  ]);
  expect(await lastRun(world.scenario)).toEqual({ status: 'failed', exit_code: 65 });
  expect(await world.cells(batched)).toEqual([]);
});
