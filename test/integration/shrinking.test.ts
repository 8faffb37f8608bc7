/** The guard of what is held: the fate of each period of a window, from the rows that came and those that are held. */

import { describe, expect, test } from 'vitest';

import { emptyStretches, lossFailure, sharesOf, type Counts, type Fate, type Known } from '../../src/load/guard.ts';
import { addDays, day, parseUtcOffset, UTC, type Day, type UtcOffset } from '../../src/model/calendar.ts';
import { windowOf, type Window } from '../../src/model/window.ts';
import { slice } from '../support/slice.ts';

const FIRST = day('2026-01-10');
/** The 10th to the 13th ended 7 days before it, to the millisecond and more. */
const SETTLED = '2026-01-21T00:00:00.001Z';

/** Consecutive days from the 10th. */
function windowOfDays(days: number, attempt = 0, utcOffset: UtcOffset = UTC): Window {
  const declared = slice({ name: 'daily', dimensions: ['day'], metrics: ['installs'], utcOffset });
  const periods = Array.from({ length: days }, (_, at) => {
    const bucket = { start: addDays(FIRST, at), end: addDays(FIRST, at + 1) };
    return { period: { bucket, asked: bucket }, reason: 'maturing' as const };
  });
  return { ...windowOf(declared, 'f', periods), attempt };
}

/** Rows that came and rows that are held, by day from the 10th; null where nothing was ever loaded. */
function countsOf(come: readonly number[], held: readonly (number | null)[]): Counts {
  const known = held.flatMap((rows, at): [Day, Known][] =>
    rows === null ? [] : [[addDays(FIRST, at), { rows, emptyRuns: rows > 0 ? 0 : 1 }]],
  );
  return { come: new Map(come.map((rows, at) => [addDays(FIRST, at), rows])), known: new Map(known) };
}

/** The shares as `fate first:last`. */
function fates(window: Window, counts: Counts, at = SETTLED, acceptLoss = false): string[] {
  return sharesOf(window, counts, { fetchedAt: new Date(at), acceptLoss }).map(
    ({ fate, window: { asked } }) => `${fate} ${asked.start}:${addDays(asked.end, -1)}`,
  );
}

function fateOfDay(come: number, held: number | null, attempt = 0, at = SETTLED): Fate | undefined {
  const shares = sharesOf(windowOfDays(1, attempt), countsOf([come], [held]), {
    fetchedAt: new Date(at),
    acceptLoss: false,
  });
  return shares[0]?.fate;
}

describe('a settled day of 20 rows', () => {
  test.each<[number, Fate, Fate]>([
    [0, 'doubt', 'refuse'],
    [9, 'doubt', 'refuse'],
    [10, 'load', 'load'],
    [30, 'load', 'load'],
  ])('of which %i come is %s at first, %s the second time', (come, first, second) => {
    expect(fateOfDay(come, 20)).toBe(first);
    expect(fateOfDay(come, 20, 1)).toBe(second);
  });

  test('may lose 19 of them when it ended 7 days ago to the millisecond, not a millisecond later', () => {
    expect(fateOfDay(1, 20, 0, '2026-01-18T00:00:00.000Z')).toBe('load');
    expect(fateOfDay(1, 20, 0, '2026-01-18T00:00:00.001Z')).toBe('doubt');
  });

  test('ends where the offset of its days says so', () => {
    const offset = parseUtcOffset('-03:30') ?? UTC;
    const fateAt = (at: string): string[] => fates(windowOfDays(1, 0, offset), countsOf([1], [20]), at);
    expect(fateAt('2026-01-18T03:30:00.000Z')).toEqual(['load 2026-01-10:2026-01-10']);
    expect(fateAt('2026-01-18T03:30:00.001Z')).toEqual(['doubt 2026-01-10:2026-01-10']);
  });
});

describe('a day that came empty', () => {
  test.each<[string, number | null, Fate, Fate]>([
    ['that was never loaded', null, 'doubt', 'load'],
    ['that an earlier run found empty', 0, 'load', 'load'],
    ['of which 5 rows are held', 5, 'doubt', 'load'],
  ])('%s and is young is %s, then %s', (_, held, first, second) => {
    const young = '2026-01-11T02:30:00Z';
    expect(fateOfDay(0, held, 0, young)).toBe(first);
    expect(fateOfDay(0, held, 1, young)).toBe(second);
  });

  test('before it ended is believed at once', () => {
    expect(fateOfDay(0, 5, 0, '2026-01-10T23:59:59Z')).toBe('load');
  });
});

describe('a window of 4 settled days', () => {
  const held = [20, 20, 20, 20];

  test('is judged day by day: the 2nd and 3rd are doubted together, the others loaded', () => {
    expect(fates(windowOfDays(4), countsOf([20, 3, 0, 11], held))).toEqual([
      'load 2026-01-10:2026-01-10',
      'doubt 2026-01-11:2026-01-12',
      'load 2026-01-13:2026-01-13',
    ]);
  });

  test('one heavy day does not hide 3 that are gone', () => {
    expect(fates(windowOfDays(4), countsOf([200, 0, 0, 0], held))).toEqual([
      'load 2026-01-10:2026-01-10',
      'doubt 2026-01-11:2026-01-13',
    ]);
  });

  test('that lost all of its rows is loaded whole where the loss is accepted, as the very window', () => {
    const window = windowOfDays(4);
    const how = { fetchedAt: new Date(SETTLED), acceptLoss: true };
    expect(sharesOf(window, countsOf([0, 0, 0, 0], held), how)).toEqual([{ fate: 'load', window }]);
  });

  test('asked for once more keeps the number of its attempt in every share', () => {
    const shares = sharesOf(windowOfDays(4, 1), countsOf([20, 3, 20, 20], held), {
      fetchedAt: new Date(SETTLED),
      acceptLoss: false,
    });
    expect(shares.map(({ fate, window }) => [fate, window.attempt])).toEqual([
      ['load', 1],
      ['refuse', 1],
      ['load', 1],
    ]);
  });
});

test('the refusal of 2 days names both counts, and the backfill that accepts their loss', () => {
  const counts = countsOf([2, 1], [10, 10]);
  const failure = lossFailure(
    { fate: 'refuse', window: windowOfDays(2) },
    counts,
    'slice daily, 2026-01-10:2026-01-11',
  );
  expect(failure).toMatchObject({
    code: 'DATA_SHRUNK',
    message: 'slice daily, 2026-01-10:2026-01-11: the service answered 3 rows where 20 were loaded before.',
    facts: { rows: 3, before: 20 },
    hint: 'If that is right, run `ripen backfill --slice daily --from 2026-01-10 --to 2026-01-11 --accept-loss`.',
  });
});

test('stretches without rows are named from their first to their last day', () => {
  const { come } = countsOf([0, 0, 4, 0, 5], []);
  expect(emptyStretches(windowOfDays(6), come)).toEqual([
    '2026-01-10:2026-01-11',
    '2026-01-13:2026-01-13',
    '2026-01-15:2026-01-15',
  ]);
});
