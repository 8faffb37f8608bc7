/** FAULTS 8, 18, 37, 49, 52: one answer of several that is none, speaks of an error or of another currency, or is short where nothing adds up. */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type Aim,
  type AnsweringWorld,
  batchesAsked,
  type Change,
  gridOf,
  inBatches,
  openAnswering,
  type TrueRow,
} from '../support/answering.ts';
import { column, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import {
  bareObject,
  beside,
  noContent,
  nullRows,
  refused,
  short,
  slow,
} from '../support/odd-answers.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const metrics = ['installs', 'clicks', 'cost', 'sessions'];
const values = { app_token: ['a', 'b'], network: ['x', 'y', 'z'] };
const FIRST = '2026-05-31';
const rows = gridOf([FIRST, '2026-06-01'], values, metrics);

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics,
  datePeriod: { first: { day: day(FIRST) }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
const batched = inBatches(daily, 33);

/** A world that has loaded one day, and how one of the answers of the next night, for 2 days, is aimed at. */
const places: readonly (readonly [string, Slice, Aim, (world: AnsweringWorld) => void])[] = [
  ['one batch of 2', batched, { metric: 'sessions' }, () => {}],
  ['one part of 2', daily, { part: 'not in' }, () => {}],
  [
    'the second page of 3',
    daily,
    { page: 2 },
    (world) => {
      world.pages = { size: 5, totals: 'first' };
    },
  ],
];

async function openLoaded([name, of, , settle]: (typeof places)[number]): Promise<AnsweringWorld> {
  const world = await openAnswering([of], rows, { maxRows: name.includes('part') ? 5 : Infinity });
  expect((await world.night(1)).failures).toEqual([]);
  world.maxRows = Infinity;
  settle(world);
  return world;
}

const storedFirst = (world: AnsweringWorld, of: Slice): string[] =>
  world.truth(
    of,
    rows.filter((row) => row.day === FIRST),
  );

const words = 'query cancelled';
/** What is no answer, whatever stands in it beside. */
const none: readonly (readonly [string, Change, says: string])[] = [
  ['null rows beside its totals', nullRows, ''],
  ['{}', bareObject, ''],
  ['its rows beside an error', beside({ error: words }), words],
  ['{"rows":null}', () => json({ rows: null }), ''],
  ['its rows beside errors', beside({ errors: [{ message: words }] }), words],
  ['its rows beside an error_code', beside({ error_code: 'QUERY', error_desc: words }), 'QUERY'],
  ['its rows beside a detail', beside({ detail: [{ loc: ['query'], msg: words }] }), words],
  ['no rows beside an error', () => json({ rows: [], totals: {}, error: words }), words],
];

describe.each(places)('%s', (...place) => {
  const [name, of, aim] = place;
  const kinds = name.includes('batch') ? none : none.slice(0, 3);

  test.each(kinds)(
    'that is %s once is asked for again, and every row is loaded',
    async (_, change) => {
      const world = await openLoaded(place);
      world.rewrite(aim, change, 1);
      expect((await world.night(2)).failures).toEqual([]);
      expect(await world.cells(of)).toEqual(world.truth(of));
    },
  );

  test.each(kinds)(
    'that is %s for ever fails its window with exit code 65, in the words of the service, and what is stored stays',
    async (_, change, says) => {
      const world = await openLoaded(place);
      world.rewrite(aim, change);
      const { failures } = await world.night(2);
      expect(failures.length).toBeGreaterThan(0);
      for (const { message } of failures) expect(message).toContain(says);
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
      expect(await world.cells(of)).toEqual(storedFirst(world, of));
    },
  );
});

describe('metrics that do not add up, in a batch of their own', () => {
  const ratios = ['ecpi', 'roas_d7', 'ctr', 'ecpi_all'];
  const withSum = inBatches({ ...daily, metrics: ['installs', ...ratios] }, 30);
  const withoutSum = inBatches({ ...daily, metrics: ratios }, 24);
  const ofRatios = gridOf([FIRST, '2026-06-01'], values, ['installs', ...ratios]);
  const shortened: readonly (readonly [string, Change])[] = [
    ['1 of 12 rows short, with the totals of the others', short(1, 'of the rest')],
    ['1 of 12 rows short, with the totals of all', short(1, 'of all')],
    ['1 of 12 rows short, without totals', short(1, 'missing')],
    ['204', noContent],
  ];
  const slices: readonly (readonly [string, Slice])[] = [
    ['of a slice whose first metric adds up', withSum],
    ['of a slice of nothing else', withoutSum],
  ];
  const cases = slices.flatMap(([name, of]) =>
    shortened.map(([how, change]) => [name, how, of, change] as const),
  );

  test.each(slices)('%s are loaded whole', async (_, of) => {
    const world = await openAnswering([of], ofRatios);
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(of)).toEqual(world.truth(of));
    expect(world.asked.length).toBeGreaterThan(1);
  });

  test.each(cases)(
    '%s, which come %s once, are asked for again, and whole',
    async (_, _how, of, change) => {
      const world = await openAnswering([of], ofRatios);
      world.rewrite({ metric: 'ecpi_all' }, change, 1);
      expect((await world.night(2)).failures).toEqual([]);
      expect(await world.cells(of)).toEqual(world.truth(of));
    },
  );

  test.each(cases)(
    '%s, which come %s for ever, fail with exit code 65, and no cell is NULL in the place of a value',
    async (_, _how, of, change) => {
      const world = await openAnswering([of], ofRatios);
      world.rewrite({ metric: 'ecpi_all' }, change);
      const { failures } = await world.night(2);
      expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_INCOMPLETE']));
      expect(await lastRun(world.scenario)).toMatchObject({ exit_code: 65 });
      expect(await world.cells(of)).toEqual([]);
    },
  );
});

describe('an answer in another currency than USD, which was asked for', () => {
  const inDollars: Slice = { ...daily, parameters: { ...daily.parameters, currency: 'USD' } };

  async function wordsOf(of: Slice, aim: Aim, currencies: unknown): Promise<string> {
    const world = await openAnswering([of], rows);
    world.rewrite(aim, beside({ currencies }));
    const { failures } = await world.night(2);
    const isLoaded = failures.length === 0;
    expect(await lastRun(world.scenario)).toMatchObject({ exit_code: isLoaded ? 0 : 65 });
    expect(await world.cells(of)).toEqual(isLoaded ? world.truth(of) : []);
    return [...world.warnings(), ...failures.map(({ message }) => message)].join('\n');
  }

  test.each([[['EUR']], [[{ id: 'EUR', name: 'Euro' }]]])(
    'by its currencies %j is refused or loaded with a word of it',
    async (currencies) => {
      expect(await wordsOf(inDollars, {}, currencies)).toContain('EUR');
    },
  );

  test('in one batch of 2 is refused or loaded with a word of it', async () => {
    const of = inBatches(inDollars, 33);
    expect(await wordsOf(of, { metric: 'sessions' }, ['EUR'])).toContain('EUR');
  });

  test.each([[['USD']], [[{ id: 'USD', name: 'US Dollar' }]], [[]], [null]])(
    'is none with the currencies %j, and loaded without a word',
    async (currencies) => {
      expect(await wordsOf(inDollars, {}, currencies)).toBe('');
    },
  );

  test('on the second of its pages alone is refused', async () => {
    const world = await openAnswering([inDollars], rows, { pages: { size: 4, totals: 'every' } });
    world.rewrite({}, (report, { page }) =>
      json({ ...report, currencies: [page === 2 ? 'EUR' : 'USD'] }),
    );
    const { failures } = await world.night(2);
    expect(failures).toMatchObject([{ code: 'DATA_MALFORMED', message: textWith('EUR') }]);
    expect(await world.cells(inDollars)).toEqual([]);
  });

  test('is none where no currency was asked for', async () => {
    expect(await wordsOf(daily, {}, ['EUR'])).toBe('');
  });
});

describe('a name cut inside an emoji, of which half a surrogate is left,', () => {
  const cutName = 'Summer \uD83D';
  const named = (name: string): TrueRow[] =>
    rows.map((row) => (row['network'] === 'z' ? { ...row, network: name } : row));

  test.each<[string, Slice]>([
    ['one answer', daily],
    ['batches', batched],
  ])('is stored with U+FFFD in its place from %s', async (_, of) => {
    const world = await openAnswering([of], named(cutName));
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(of)).toEqual(world.truth(of, named('Summer \uFFFD')));
  });

  test('in a member beside the rows costs nothing', async () => {
    const world = await openAnswering([daily], rows);
    world.rewrite({}, beside({ debug: { query: cutName } }));
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(daily)).toEqual(world.truth(daily));
  });
});

/** So many metrics that the address of a batch has room for the filters of parts. */
const many = [...metrics, 'impressions', 'uninstalls', 'reinstalls', 'reattributions'];
const roomy = inBatches({ ...daily, metrics: many }, 90);

/** Rows as many as a cap, and the totals of all. */
const capped =
  (count: number): Change =>
  (report) =>
    json({ ...report, rows: report.rows.slice(0, count) });
const onDays =
  (count: number, change: Change): Change =>
  (report, asking) =>
    new Set(report.rows.map((row) => row['day'])).size >= count
      ? change(report, asking)
      : json(report);

test.each<[string, Change, number]>([
  ['slower than the time limit once', slow(900), 1],
  ['answered 504 once', refused(504), 1],
  ['answered 504 for more than a day', onDays(2, refused(504)), Infinity],
  ['capped at 5 rows in silence', capped(5), Infinity],
  ['capped at 2 rows in silence', capped(2), Infinity],
])(
  'one batch of 2 that is %s is divided as far as it must be, and every row is loaded',
  async (_, change, times) => {
    const world = await openAnswering([roomy], gridOf([FIRST, '2026-06-01'], values, many));
    world.rewrite({ metric: 'sessions' }, change, times);
    expect((await world.night(2, { requestTimeoutMs: 600 })).failures).toEqual([]);
    expect(batchesAsked(world).length).toBeGreaterThan(1);
    expect(await world.cells(roomy)).toEqual(world.truth(roomy));
    expect(await column(world.scenario, 'select distinct verdict from ripen.periods')).toEqual([
      'proven',
    ]);
  },
);
