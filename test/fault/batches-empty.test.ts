/** FAULTS 8, 18, 52: of several batches of a window's metrics one comes without rows, or short, once or for ever. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
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
