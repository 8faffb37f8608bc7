/** FAULTS 19, 19a, 52: answers in several pages, which state their totals, their number and their end in many ways. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type AnsweringWorld,
  type Change,
  countAsked,
  gridOf,
  inBatches,
  openAnswering,
  type Pages,
  type Report,
  withCells,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import {
  beside,
  cut,
  noContent,
  noRows,
  nullRows,
  refused,
  short,
} from '../support/odd-answers.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost', 'sessions'];
const DAYS = ['2026-05-30', '2026-05-31'];
const values = { app_token: ['a', 'b'], network: ['x', 'y', 'z'] };
const rows = gridOf(DAYS, values, metrics);
/** The number of pages of 12 rows. */
const PAGES = 3;
const LAST_PAGE = PAGES;

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
});

const pages = (totals: Pages['totals'], form?: Pages['form']): Pages => ({
  size: 5,
  totals,
  ...(form === undefined ? {} : { form }),
});

async function expectWhole(world: AnsweringWorld, of: Slice = daily): Promise<void> {
  expect(world.truth(of)).toHaveLength(48);
  expect(await world.cells(of)).toEqual(world.truth(of));
  expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
    'proven',
  ]);
}

const places = [
  ['of all on the first page', 'first'],
  ['of all on the last page', 'last'],
  ['of all on every page', 'every'],
  ['of its rows on every page', 'of the page'],
] as const;

/** No row is lost or changed: the days are whole, or with exit code 65 as they were. */
async function expectNoLoss(
  world: AnsweringWorld,
  of: Slice,
  failures: readonly unknown[],
  before: readonly string[] = [],
): Promise<void> {
  const [cells, truth] = [await world.cells(of), world.truth(of)];
  const isWhole = failures.length === 0;
  expect(await lastRun(world.scenario)).toMatchObject({ exit_code: isWhole ? 0 : 65 });
  for (const date of DAYS) {
    const onDay = (some: readonly string[]): string[] =>
      some.filter((cell) => cell.startsWith(date));
    expect([onDay(isWhole ? truth : before), onDay(truth)]).toContainEqual(onDay(cells));
  }
}

const numbered: Pages['form'] = (page, next, count) => ({
  page,
  page_size: 5,
  total_rows: count,
  ...(next === null ? {} : { next }),
});
const ends: readonly (readonly [string, Pages['form']])[] = [
  ['next is null on the last page', undefined],
  ['next is missing on the last page', (_, next) => (next === null ? {} : { next })],
  ['the last page has no pagination', (_, next) => (next === null ? null : { next })],
  ['the last page is {"page":3,"page_size":5,"total_rows":12}', numbered],
  [
    'the last page is {"page":3,"page_size":5,"total":12}',
    (page, next, total) => ({ page, page_size: 5, total, ...(next === null ? {} : { next }) }),
  ],
  [
    'the last page is {"page":3,"total_pages":3}',
    (page, next) => ({ page, total_pages: PAGES, ...(next === null ? {} : { next }) }),
  ],
];

test.each(
  places.flatMap(([name, totals]) => ends.map(([end, form]) => [name, end, totals, form] as const)),
)(
  '12 rows in 3 pages, with totals %s, where %s, are loaded as proven',
  async (_, _end, totals, form) => {
    const world = await openAnswering([daily], rows, { pages: pages(totals, form) });
    expect((await world.night(1)).failures).toEqual([]);
    await expectWhole(world);
    expect(world.asked).toHaveLength(PAGES);
  },
);

test.each<[string, unknown]>([
  ['page 1 of 40 rows', { page: 1, page_size: 40, total_rows: 12 }],
  ['page 1 of 12 rows', { page: 1, page_size: 12, total_rows: 12 }],
  ['page 1 of 40 rows, as texts', { page: '1', page_size: '40', total_rows: '12' }],
  ['page 0 of 40 rows', { page: 0, page_size: 40, total_rows: 12 }],
  ['12 rows in all', { total_rows: 12 }],
])('12 rows in one page that says it is %s, without next, are loaded', async (_, pagination) => {
  const world = await openAnswering([daily], rows);
  world.rewrite({}, beside({ pagination }));
  expect((await world.night(1)).failures).toEqual([]);
  await expectWhole(world);
});

test.each<[string, Pages['form']]>([
  ['total_rows are 12', (page, _, total) => ({ page, page_size: 5, total_rows: total })],
  ['total_pages are 3', (page) => ({ page, page_size: 5, total_pages: PAGES })],
])(
  'a first page of 5 rows whose %s, but which names no next page, is refused with exit code 65, and nothing is loaded',
  async (_, form) => {
    const world = await openAnswering([daily], rows, { pages: pages('of the page', form) });
    const { failures } = await world.night(1);
    expect(failures.length).toBeGreaterThan(0);
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
    expect(await world.cells(daily)).toEqual([]);
  },
);

/** By whether they lose rows with every total that stands on the page itself. */
const failing: readonly (readonly [string, Change])[] = [
  ['204', noContent],
  ['{"rows":[],"totals":{}}', noRows],
  ['with 1 row less, but all it says beside them', short(1, 'of all')],
  ['with 1 row less, and no totals', short(1, 'missing')],
  ['with null rows', nullRows],
  ['cut in the middle', cut],
  ['503', refused(503)],
];
const further = [2, LAST_PAGE];

describe.each(places.slice(0, 3))('of 3 pages, with totals %s,', (_place, totals) => {
  /** What only the last page states, and does not this time, nobody can miss. */
  const visible = failing
    .flatMap(([name, change]) => further.map((page) => [page, name, change] as const))
    .filter(([page, name]) => totals !== 'last' || page === 2 || !name.includes('no totals'));

  test.each(visible)('page %i that is answered %s once costs no row', async (page, _, change) => {
    const world = await openAnswering([daily], rows, { pages: pages(totals) });
    world.rewrite({ page }, change, 1);
    expect((await world.night(1)).failures).toEqual([]);
    await expectWhole(world);
  });
});

test.each(
  failing
    .slice(0, 4)
    .flatMap(([name, change]) => further.map((page) => [page, name, change] as const)),
)(
  'page %i of 3 that is answered %s for ever, with totals on the first page, costs no row: the days are whole, or fail',
  async (page, _, change) => {
    const world = await openAnswering([daily], rows, { pages: pages('first') });
    world.rewrite({ page }, change);
    const { failures } = await world.night(1);
    await expectNoLoss(world, daily, failures);
  },
);

test.each([
  ['204', noContent],
  ['without rows beside an error', () => json({ rows: [], error: 'query cancelled' })],
] as const)(
  'a further page that is answered %s once is asked for again, and the pages before it are not',
  async (_, change) => {
    const world = await openAnswering([daily], rows, { pages: pages('every') });
    world.rewrite({ page: 2 }, change, 1);
    expect((await world.night(1)).failures).toEqual([]);
    expect(countAsked(world, { page: 2 })).toBe(2);
    expect(countAsked(world, { page: 1 })).toBe(1);
  },
);

test.each(further)(
  'stored days stay as they are, or are whole, while page %i of their answer is 204 for ever',
  async (page) => {
    const world = await openAnswering([daily], rows, { pages: pages('every') });
    expect((await world.night(1)).failures).toEqual([]);
    const before = world.truth(daily);
    world.rows = gridOf(DAYS, values, metrics, 2);
    const restore = world.rewrite({ page }, noContent);
    const forced = { start: day('2026-05-30'), end: day('2026-06-01') };
    const request = { command: 'backfill', forced } as const;
    const { failures } = await world.night(20, { request });
    await expectNoLoss(world, daily, failures, before);
    restore();
    expect((await world.night(21, { request })).failures).toEqual([]);
    await expectWhole(world);
  },
);

test('a page whose rows have no value of a metric, and lack its key, is loaded with a warning', async () => {
  const few = rows.map((row, at) => (at < 10 ? row : withCells(row, { sessions: null })));
  const world = await openAnswering([daily], few, { pages: pages('every') });
  world.rewrite({ page: LAST_PAGE }, (report) =>
    json({ ...report, rows: report.rows.map((row) => ({ ...row, sessions: undefined })) }),
  );
  expect((await world.night(1)).failures).toEqual([]);
  expect(await world.cells(daily)).toEqual(world.truth(daily));
  expect(world.warnings().map((text) => text.split(' ')[0])).toEqual(['MISSING_KEYS']);
});

describe('pages of batches', () => {
  const batched = inBatches(daily, 33);
  const LAST = 'sessions';

  test.each(places)('with totals %s are loaded as proven', async (_, totals) => {
    const world = await openAnswering([batched], rows, { pages: pages(totals) });
    expect((await world.night(1)).failures).toEqual([]);
    await expectWhole(world, batched);
  });

  test.each(failing.slice(0, 4))(
    'of which page 2 of the last batch is answered %s once lose no row',
    async (_, change) => {
      const world = await openAnswering([batched], rows, { pages: pages('first') });
      world.rewrite({ page: 2, metric: LAST }, change, 1);
      expect((await world.night(1)).failures).toEqual([]);
      await expectWhole(world, batched);
    },
  );

  test.each(failing.slice(0, 4))(
    'of which page 2 of the last batch is answered %s for ever load no row with NULL, and lose none',
    async (_, change) => {
      const world = await openAnswering([batched], rows, { pages: pages('first') });
      world.rewrite({ page: 2, metric: LAST }, change);
      const { failures } = await world.night(1);
      await expectNoLoss(world, batched, failures);
    },
  );
});

describe('pages of 2 learned parts', () => {
  const nightly: Slice = {
    ...daily,
    refresh: 'nightly',
    datePeriod: { first: { day: day('2026-05-31') }, last: { daysAgo: 1 } },
  };
  const two = gridOf(['2026-05-31', '2026-06-01'], values, metrics);

  async function openDivided(totals: Pages['totals']): Promise<AnsweringWorld> {
    const world = await openAnswering([nightly], two, { maxRows: 4 });
    expect((await world.night(1)).failures).toEqual([]);
    return Object.assign(world, {
      maxRows: Infinity,
      asked: [],
      pages: { ...pages(totals), size: 2 },
    });
  }

  test.each(places)('with totals %s are loaded as proven, 2 days at once', async (_, totals) => {
    const world = await openDivided(totals);
    expect((await world.night(2)).failures).toEqual([]);
    expect(new Set(world.asked.map(({ part }) => part))).toEqual(
      new Set(['in', 'not in', 'whole']),
    );
    expect(Math.max(...world.asked.map(({ page }) => page))).toBe(3);
    await expectWhole(world, nightly);
  });

  test.each(failing.slice(0, 4))(
    'of which page 2 of one is answered %s once lose no row',
    async (_, change) => {
      const world = await openDivided('first');
      world.rewrite({ page: 2, part: 'not in' }, change, 1);
      expect((await world.night(2)).failures).toEqual([]);
      await expectWhole(world, nightly);
    },
  );
});

test('12 rows in 3 pages, the first of which rounds money to cents and the last states six digits, are loaded as proven', async () => {
  const exact = rows.map((row, at) => withCells(row, { cost: `${at}.404404` }));
  const world = await openAnswering([daily], exact, { pages: pages('every') });
  const cents = (report: Report): Report['rows'] =>
    report.rows.map((row) => Object.assign({}, row, { cost: Number(row['cost']).toFixed(2) }));
  world.rewrite({ page: 1 }, (report) => json({ ...report, rows: cents(report) }));
  expect((await world.night(1)).failures).toEqual([]);
  expect(world.asked).toHaveLength(PAGES);
  expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
    'proven',
  ]);
});
