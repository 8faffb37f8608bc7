/**
 * Answers in another currency than the one requested or with metrics that were not, and one batch of two that is slow, refused
 * or cut.
 */

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import {
  type Aim,
  type Asking,
  batchesAsked,
  type Change,
  gridOf,
  inBatches,
  openAnswering,
} from '../support/answering.ts';
import { column, lastRun, query } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { beside, refused, slow } from '../support/odd-answers.ts';
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

test.each(['0', 'n/a'])(
  'a metric of another batch that the rows of a batch carry as %j is kept in _extra and told: the requested one is stored',
  async (value) => {
    const of = inBatches(daily, 33);
    const world = await openAnswering([of], rows);
    const isOther = {
      matches: ({ part, metrics: ids }: Asking) => part !== 'whole' && !ids.includes('sessions'),
    };
    world.rewrite(isOther, (report) =>
      json({ ...report, rows: report.rows.map((row) => ({ ...row, sessions: value })) }),
    );
    expect((await world.night(2)).failures).toEqual([]);
    expect(await world.cells(of)).toEqual(world.truth(of));
    expect(world.warnings()).toEqual([textWith('kept in _extra: sessions')]);
    expect(await query(world.scenario, 'select distinct _extra from daily')).toEqual([
      { _extra: `{"sessions":"${value}"}` },
    ]);
  },
);

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
