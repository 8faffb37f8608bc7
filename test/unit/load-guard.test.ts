/** The guard of what is held: which periods of an answer are believed, asked for once more, or kept as they are. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type Judging, sharesOf, type Counts, type Share } from '../../src/load/guard.ts';
import {
  addDays,
  day,
  startOfDayAt,
  UTC,
  utcOffset,
  type Day,
  type DayInterval,
} from '../../src/model/calendar.ts';
import { daysIn } from '../support/plain-values.ts';
import { labelOf, type Window, windowOf } from '../../src/model/window.ts';
import { property } from '../support/property.ts';
import { slice } from '../support/slice.ts';

const daily = slice({ name: 'daily', dimensions: ['day', 'app'], metrics: ['installs'] });
const FIRST = day('2026-01-01');

/** A window of these days of 2026, counted from 1; days may be left out of it. */
function windowOfDays(numbers: readonly number[]): Window {
  const periods = numbers.map((number) => {
    const bucket = { start: dayNo(number), end: dayNo(number + 1) };
    return { period: { bucket, requested: bucket }, reason: 'forced' as const };
  });
  return windowOf(daily, 'f', periods);
}

const dayNo = (number: number): Day => addDays(FIRST, number - 1);
const rowsOf = (numbers: readonly number[], rows: number): [Day, number][] =>
  numbers.map((number) => [dayNo(number), rows]);

const oneDay = (start: Day): DayInterval => ({ start, end: addDays(start, 1) });

/** When what is held was fetched: before any answer that is judged. */
const FETCHED = new Date('2025-01-01T00:00:00Z');

function counts(
  answered: readonly [Day, number][],
  held: readonly [Day, number][],
  emptyRuns = 0,
): Counts {
  return {
    answered: new Map(answered),
    known: new Map(
      held.map(([start, rows]) => [
        start,
        { bucket: oneDay(start), rows, emptyRuns, fetchedAt: FETCHED },
      ]),
    ),
  };
}

/** Long after every day was settled, but for those a test counts back from. */
const at = (daysAfterFirst: number, ms = 0, attempt = 0) => ({
  fetchedAt: new Date(startOfDayAt(addDays(FIRST, daysAfterFirst), UTC).getTime() + ms),
  acceptLoss: false,
  isRepeated: attempt > 0,
});
const LATE = at(300);
/** The fate of a window of one period at the first and at the second answer. */
const atBoth = (window: Window, found: Counts, how: Judging): (string | undefined)[] =>
  [false, true].map((isRepeated) => {
    const [share, ...others] = sharesOf(window, found, { ...how, isRepeated });
    return others.length === 0 ? share?.fate : 'several';
  });
const fates = (shares: readonly Share[]): string[] =>
  shares.map(({ fate, window }) => `${fate} ${labelOf(window)}`);

describe('a period', () => {
  test.each<[string, number, number | null, number, readonly [string, string]]>([
    ['that keeps half of its 100 rows', 50, 100, 300, ['load', 'load']],
    ['that loses more than half of its 100 rows', 49, 100, 300, ['doubt', 'refuse']],
    ['that loses all of its 100 rows', 0, 100, 300, ['doubt', 'refuse']],
    ['of 8 days ago that loses most of its rows', 1, 100, 9, ['doubt', 'refuse']],
    ['of 7 days ago that loses most of its rows', 1, 100, 8, ['load', 'load']],
    ['of 7 days ago that loses all of its rows', 0, 100, 8, ['doubt', 'load']],
    ['of today that loses all of its rows', 0, 100, 0, ['load', 'load']],
    ['that was never loaded and has no rows', 0, null, 300, ['doubt', 'load']],
    ['that was never loaded and has some', 1, null, 300, ['load', 'load']],
    ['that had none before and has none', 0, 0, 300, ['load', 'load']],
  ])(
    '%s (%i of %j, fetched at day %i) is at the first and the second answer: %j',
    (_, answered, held, fetchedDay, expected) => {
      const known = held === null ? [] : rowsOf([1], held);
      const found = counts(rowsOf([1], answered), known, held === 0 ? 1 : 0);
      expect(atBoth(windowOfDays([1]), found, at(fetchedDay))).toEqual(expected);
    },
  );

  test('is settled a moment after 7 days, in the offset of its slice', () => {
    const rows = counts(rowsOf([1], 1), rowsOf([1], 100));
    const west = { ...windowOfDays([1]), slice: { ...daily, utcOffset: utcOffset('-08:00') } };
    const found = [
      sharesOf(windowOfDays([1]), rows, at(8)),
      sharesOf(windowOfDays([1]), rows, at(8, 1)),
      sharesOf(west, rows, at(8, 8 * 3_600_000)),
      sharesOf(west, rows, at(8, 8 * 3_600_000 + 1)),
    ];
    expect(found.map(([share]) => share?.fate)).toEqual(['load', 'doubt', 'load', 'doubt']);
  });
});

test.each<[string, 'month' | null, number, number, readonly [string, string]]>([
  ['a month of 15 days so far that loses most of its rows', 'month', 15, 49, ['doubt', 'refuse']],
  ['a month of 15 days so far that keeps half of them', 'month', 15, 50, ['load', 'load']],
  ['a month of 13 days so far that loses all of them', 'month', 13, 0, ['load', 'load']],
  ['a report of 15 days without a date dimension that loses all', null, 15, 0, ['doubt', 'refuse']],
  ['a report of 15 days without a date dimension that keeps 1', null, 15, 1, ['load', 'load']],
])(
  '%s (%j, day %i, %i rows of 100) is at the first and the second answer: %j',
  (_, grain, days, answered, expected) => {
    const requested = { start: FIRST, end: addDays(FIRST, days) };
    const bucket = grain === null ? requested : { start: FIRST, end: addDays(FIRST, 31) };
    const whole = windowOf({ ...daily, grain }, 'f', [
      { period: { bucket, requested }, reason: 'forced' },
    ]);
    expect(atBoth(whole, heldFrom(bucket, answered), at(days, 1))).toEqual(expected);
  },
);

/** A period of the first days of 2026 for which so many rows came, while 100 are held of others. */
const heldFrom = (bucket: DayInterval, answered: number): Counts => ({
  answered: new Map([[FIRST, answered]]),
  known: new Map([[FIRST, { bucket, rows: 100, fetchedAt: FETCHED }]]),
});

test.each<[string, number, number, number, readonly [string, string]]>([
  ['of the night before', -1, 19, 0, ['doubt', 'refuse']],
  ['of 10 nights before, half of whose days are asked for again', -10, 10, 0, ['doubt', 'refuse']],
  ['of 11 nights before, most of whose days were left behind', -11, 9, 0, ['doubt', 'load']],
  ['of 40 nights before', -40, -20, 0, ['doubt', 'load']],
  ['of the night before, of which 1 row is left', -1, 19, 1, ['load', 'load']],
  ['of a start that has stayed', 0, 19, 0, ['doubt', 'refuse']],
  ['that began earlier, before the configuration moved on', -300, 19, 0, ['doubt', 'load']],
])(
  'a report of 20 days without a date dimension, with 100 rows held %s (days %i to %i) and %i now, is at both answers: %j',
  (_, first, end, answered, expected) => {
    const requested = { start: FIRST, end: addDays(FIRST, 20) };
    const whole = windowOf({ ...daily, grain: null }, 'f', [
      { period: { bucket: requested, requested }, reason: 'forced' },
    ]);
    const held = heldFrom({ start: addDays(FIRST, first), end: addDays(FIRST, end) }, answered);
    for (const night of [at(20, 1), LATE]) expect(atBoth(whole, held, night)).toEqual(expected);
  },
);

const days = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 25 });
const rows = fc.array(fc.constantFrom(0, 1, 49, 50, 100), { minLength: 40, maxLength: 40 });
const perDay = (values: readonly number[]): [Day, number][] =>
  values.map((value, index) => [dayNo(index + 1), value]);

test(
  'the shares of any window are its periods in order, neighbours of one fate together, and replace no other day',
  property(
    [days, rows, rows, fc.nat(2), fc.nat(60)],
    { numRuns: 300 },
    (numbers, answered, held, attempt, fetchedDay) => {
      const window = windowOfDays(numbers.toSorted((a, b) => a - b));
      const [found, how] = [counts(perDay(answered), perDay(held)), at(fetchedDay, 0, attempt)];
      const shares = sharesOf(window, found, how);
      const isRefused = shares.some(({ fate }) => fate === 'refuse');
      const isEmptied = (start: Day): boolean =>
        found.answered.get(start) === 0 && (found.known.get(start)?.rows ?? 0) > 0;
      expect(shares.flatMap((share) => share.window.periods)).toEqual(window.periods);
      for (const share of shares) {
        const starts = share.window.periods.map(({ period }) => period.bucket.start);
        expect(daysIn(share.window.replaced)).toEqual(starts);
        expect(share.window.parts).toEqual(window.parts);
        const alone = share.window.periods.map((due) =>
          sharesOf(windowOf(daily, 'f', [due]), found, how),
        );
        // A young period is emptied by no answer that is refused for another.
        const fates = alone.flatMap((each) => each.map(({ fate }) => fate));
        expect(
          fates.map((fate, index) =>
            isRefused && isEmptied(starts[index] ?? dayNo(1)) ? 'refuse' : fate,
          ),
        ).toEqual(starts.map(() => share.fate));
      }
      expect(
        shares.filter(
          (share, index) =>
            share.fate === shares[index + 1]?.fate &&
            share.window.requested.end === shares[index + 1]?.window.requested.start,
        ),
      ).toEqual([]);
    },
  ),
);

test('of 4 days the 2 that are held from a later fetch are neither loaded nor doubted, whatever came and is accepted', () => {
  const known = new Map(
    [0, 1, 1].map((ms, index) => {
      const start = dayNo(index + 2);
      return [
        start,
        { bucket: oneDay(start), rows: 100, fetchedAt: new Date(LATE.fetchedAt.getTime() + ms) },
      ];
    }),
  );
  const held = { answered: new Map(rowsOf([1, 2, 4], 100)), known };
  for (const acceptLoss of [false, true]) {
    expect(fates(sharesOf(windowOfDays([1, 2, 3, 4]), held, { ...LATE, acceptLoss }))).toEqual([
      'load 2026-01-01:2026-01-02',
      'newer 2026-01-03:2026-01-04',
    ]);
  }
});
