/** Which days a slice answers for, by the start of weeks and months. The law of all others is in test/property/plan.test.ts. */

import { describe, expect, test } from 'vitest';

import {
  addDays,
  day,
  lastDay,
  type DayInterval,
  type WeekStart,
} from '../../src/model/calendar.ts';
import { coveredPeriods, coverageOf, firstKeptDay } from '../../src/model/period.ts';
import type { DateBound, DatePeriod, Slice } from '../../src/model/slice.ts';
import { slice } from '../support/slice.ts';

const interval = (start: string, end: string): DayInterval => ({
  start: day(start),
  end: day(end),
});
/** Loaded periods, as `first:end`, the end exclusive, or as the one day they hold. */
const held = (...texts: string[]): { readonly requested: DayInterval }[] =>
  texts.map((text) => {
    const [start = '', end = addDays(day(start), 1)] = text.split(':');
    return { requested: interval(start, end) };
  });
const fixed = (first: string, last: string): DatePeriod => ({
  first: { day: day(first) },
  last: { day: day(last) },
});
const sinceStartOf = (bucket: 'week' | 'month'): DateBound => ({
  startOf: bucket,
  bucketsAgo: 0,
  daysBefore: 0,
});
const rolling = (first: number, last = 1): DatePeriod => ({
  first: { daysAgo: first },
  last: { daysAgo: last },
});

function declared(datePeriod: DatePeriod, change: Partial<Slice> = {}): Slice {
  return slice({
    name: 'daily',
    dimensions: ['day', 'app'],
    metrics: ['installs'],
    datePeriod,
    ...change,
  });
}

/** The days as `first:last`, both inclusive; null for none. */
function covered(
  of: Slice,
  loaded: readonly { readonly requested: DayInterval }[],
  asOf: string,
): string | null {
  const days = coverageOf(of, loaded, new Date(asOf));
  return days === null ? null : `${days.start}:${lastDay(days)}`;
}

const NOON = '2026-06-30T12:00:00Z';

describe('the coverage of a slice', () => {
  test.each<[string, DatePeriod, readonly string[], string | null]>([
    [
      'a rolling start that has passed a fixed end reaches to that end',
      { first: { daysAgo: 5 }, last: { day: day('2026-03-03') } },
      ['2026-03-01'],
      '2026-03-01:2026-03-03',
    ],
    [
      'one to come, what was loaded',
      fixed('2026-08-01', '2026-08-10'),
      ['2026-03-01'],
      '2026-03-01:2026-03-01',
    ],
    ['one to come and nothing loaded is none', fixed('2026-08-01', '2026-08-10'), [], null],
  ])('%s', (_, datePeriod, loaded, expected) => {
    expect(covered(declared(datePeriod), held(...loaded), NOON)).toBe(expected);
  });

  // 1 November 2026 is a Sunday.
  test.each<['week' | 'month', readonly string[], string, string]>([
    ['month', ['2026-10-01:2026-10-31'], '2026-10-31', '2026-10-01:2026-10-30'],
    ['month', ['2026-10-01:2026-10-31'], '2026-11-01', '2026-10-01:2026-10-31'],
    ['month', ['2026-10-01:2026-11-01'], '2026-11-02', '2026-10-01:2026-11-01'],
    ['month', ['2026-10-01:2026-10-28'], '2026-11-01', '2026-10-01:2026-10-31'],
    ['month', ['2026-10-01:2026-10-28'], '2026-11-03', '2026-10-01:2026-11-02'],
    ['month', [], '2026-11-02', '2026-11-01:2026-11-01'],
    ['week', ['2026-10-26:2026-11-01'], '2026-11-02', '2026-10-26:2026-11-01'],
    ['week', ['2026-10-26:2026-11-01'], '2026-11-03', '2026-10-26:2026-11-02'],
  ])(
    'from the start of the %s to yesterday, with %j held, on %s is %s: no day is left out',
    (bucket, loaded, on, expected) => {
      const of = declared({ first: sinceStartOf(bucket), last: { daysAgo: 1 } });
      expect(covered(of, held(...loaded), `${on}T02:30:00Z`)).toBe(expected);
    },
  );
});

describe('what a slice lets go', () => {
  // 30 days before Tuesday, 30 June 2026 lies Sunday, 31 May.
  test.each<[Slice['grain'], WeekStart, string]>([
    ['hour', 1, '2026-05-31'],
    ['day', 1, '2026-05-31'],
    ['week', 1, '2026-05-25'],
    ['week', 0, '2026-05-31'],
    ['month', 1, '2026-05-01'],
    ['quarter', 1, '2026-04-01'],
    ['year', 1, '2026-01-01'],
  ])(
    'by %s (weeks from weekday %i) begins with a whole bucket, at %s',
    (grain, weekStartsOn, expected) => {
      const of = declared(fixed('2020-01-01', '2026-06-29'), {
        grain,
        retainDays: 30,
        weekStartsOn,
      });
      expect(firstKeptDay(of, new Date(NOON))).toBe(expected);
      const [first] = coveredPeriods(of, [], new Date(NOON));
      expect([first?.requested.start, first?.bucket.start]).toEqual([expected, expected]);
    },
  );
});

describe('the first bucket', () => {
  test.each<[Slice['grain'], string, string, string]>([
    ['day', '2026-05-14:2026-05-15', '2026-05-14', '2026-05-14'],
    ['week', '2026-05-14:2026-05-18', '2026-05-14', '2026-05-11'],
    ['month', '2026-05-14:2026-06-01', '2026-05-14', '2026-05-01'],
    ['quarter', '2026-05-14:2026-07-01', '2026-05-14', '2026-04-01'],
    ['year', '2026-05-14:2026-07-01', '2026-05-14', '2026-01-01'],
  ])(
    'of a %s grain that was loaded cut (%s) stays cut when a rolling date period left it',
    (grain, loaded, requested, bucket) => {
      const of = declared(rolling(3), { grain });
      const [first] = coveredPeriods(of, held(loaded), new Date(NOON));
      expect([first?.requested.start, first?.bucket.start]).toEqual([requested, bucket]);
    },
  );
});
