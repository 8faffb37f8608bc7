/** Periods, windows and fingerprints: how a date period becomes buckets, requests and a meaning. */

import { createHash } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { day, utcOffset, type DayInterval, type WeekStart } from '../../src/model/calendar.ts';
import type { DateDimension } from '../../src/model/dimension.ts';
import { fingerprintOf, type DateBound } from '../../src/model/slice.ts';
import {
  ageOf,
  isWhole,
  type Period,
  periodsOf,
  resolveDatePeriod,
} from '../../src/model/period.ts';
import { slice } from '../support/slice.ts';

const interval = (start: string, end: string): DayInterval => ({
  start: day(start),
  end: day(end),
});

/** `01-01:02-01` for a whole bucket of 2026, `01-01:02-01(01-06:02-01)` for one of which some days are asked for. */
function written(of: Period): string {
  const text = ({ start, end }: DayInterval): string => `${start}:${end}`.replaceAll('2026-', '');
  return isWhole(of) ? text(of.bucket) : `${text(of.bucket)}(${text(of.requested)})`;
}

test.each<[DateDimension | null, WeekStart, string, string, string]>([
  ['day', 1, '2024-02-28', '2024-03-01', '2024-02-28:2024-02-29 2024-02-29:2024-03-01'],
  ['hour', 1, '2026-01-31', '2026-02-02', '01-31:02-01 02-01:02-02'],
  [
    'week',
    1,
    '2026-01-01',
    '2026-01-15',
    '2025-12-29:01-05(01-01:01-05) 01-05:01-12 01-12:01-19(01-12:01-15)',
  ],
  ['week', 0, '2026-01-04', '2026-01-19', '01-04:01-11 01-11:01-18 01-18:01-25(01-18:01-19)'],
  [
    'month',
    1,
    '2026-01-15',
    '2026-03-02',
    '01-01:02-01(01-15:02-01) 02-01:03-01 03-01:04-01(03-01:03-02)',
  ],
  ['quarter', 1, '2025-10-01', '2026-04-01', '2025-10-01:01-01 01-01:04-01'],
  ['year', 1, '2024-12-31', '2025-01-01', '2024-01-01:2025-01-01(2024-12-31:2025-01-01)'],
  [null, 1, '2026-01-06', '2026-02-07', '01-06:02-07'],
  ['day', 1, '2026-01-06', '2026-01-06', ''],
])(
  'the periods by %s (weeks from %i) of [%s, %s) are %s',
  (grain, weekStartsOn, start, end, expected) => {
    expect(periodsOf(interval(start, end), grain, weekStartsOn).map(written).join(' ')).toBe(
      expected,
    );
  },
);

describe('a date period', () => {
  const on = (text: string): DateBound => ({ day: day(text) });
  const ago = (daysAgo: number): DateBound => ({ daysAgo });
  const startOf = (
    bucket: 'week' | 'month',
    bucketsAgo: number,
    daysBefore: number,
  ): DateBound => ({
    startOf: bucket,
    bucketsAgo,
    daysBefore,
  });

  test.each<[DateBound, DateBound, string, string, readonly [string, string] | null]>([
    [on('2026-01-01'), ago(0), '2026-01-10T02:00:00Z', '+00:00', ['2026-01-01', '2026-01-11']],
    [ago(3), ago(1), '2026-03-01T00:00:00Z', '+00:00', ['2026-02-26', '2026-03-01']],
    // Half an hour before midnight in the slice's offset, and half an hour after.
    [ago(0), ago(0), '2026-02-28T18:00:00Z', '+05:30', ['2026-02-28', '2026-03-01']],
    [ago(0), ago(0), '2026-02-28T18:30:00Z', '+05:30', ['2026-03-01', '2026-03-02']],
    [ago(0), ago(0), '2026-03-01T03:00:00Z', '-03:30', ['2026-02-28', '2026-03-01']],
    // What has not begun is not asked for.
    [on('2026-01-01'), on('2026-01-01'), '2020-01-01T00:00:00Z', '+00:00', null],
    [
      on('2026-01-01'),
      on('2026-12-31'),
      '2026-03-05T02:00:00Z',
      '+00:00',
      ['2026-01-01', '2026-03-06'],
    ],
    // Starts of calendar weeks and months, and days before them.
    [
      startOf('month', 0, 0),
      ago(1),
      '2026-03-05T02:00:00Z',
      '+00:00',
      ['2026-03-01', '2026-03-05'],
    ],
    [startOf('month', 0, 0), ago(1), '2026-03-01T02:00:00Z', '+00:00', null],
    [
      startOf('month', 1, 0),
      startOf('month', 0, 1),
      '2026-03-31T02:00:00Z',
      '+00:00',
      ['2026-02-01', '2026-03-01'],
    ],
    [
      startOf('month', 1, 0),
      startOf('month', 0, 1),
      '2026-01-01T02:00:00Z',
      '+00:00',
      ['2025-12-01', '2026-01-01'],
    ],
    [
      startOf('week', 1, 0),
      startOf('week', 0, 1),
      '2026-03-05T02:00:00Z',
      '+00:00',
      ['2026-02-23', '2026-03-02'],
    ],
    [startOf('week', 0, 0), ago(0), '2026-03-02T02:00:00Z', '+00:00', ['2026-03-02', '2026-03-03']],
    // Nothing yet: the period begins after its own end.
    [on('2026-01-10'), ago(1), '2026-01-10T02:00:00Z', '+00:00', null],
    [ago(0), ago(1), '2026-01-10T02:00:00Z', '+00:00', null],
  ])('from %j to %j at %s in %s covers %j', (first, last, asOf, zone, expected) => {
    const dated = {
      datePeriod: { first, last },
      utcOffset: utcOffset(zone),
      weekStartsOn: 1,
    } as const;
    const resolved = resolveDatePeriod(dated, new Date(asOf));
    expect(resolved).toEqual(expected === null ? null : interval(...expected));
  });
});

test.each([
  ['+00:00', '2026-01-31T23:59:59Z', 0],
  ['+00:00', '2026-02-01T00:00:00Z', 1],
  ['+05:30', '2026-01-31T18:30:00Z', 1],
  ['-03:30', '2026-02-01T03:29:59Z', 0],
])('January at %s on %s is %i days old, counted from its last day', (zone, at, age) => {
  const january = interval('2026-01-01', '2026-02-01');
  expect(ageOf({ bucket: january, requested: january }, new Date(at), utcOffset(zone))).toBe(age);
});

const daily = slice({
  name: 'daily',
  dimensions: ['week', 'app_token', 'os_name'],
  metrics: ['installs', 'cost'],
  parameters: { attribution_type: 'all', os_name__in: 'ios,android' },
});

describe('the fingerprint of a slice', () => {
  const own = fingerprintOf(daily);

  test('is 16 hexadecimal digits, and known: a change of it would rebuild every table', () => {
    expect(own).toMatch(/^[0-9a-f]{16}$/);
    expect(
      fingerprintOf({ dimensions: ['day'], parameters: { utc_offset: '+00:00' }, headers: {} }),
    ).toBe('6e027f498e872c76');
  });

  test('does not change with metrics, dates, refresh or types, nor with the order of names', () => {
    const { dimensions, parameters } = daily;
    const same = slice({
      ...daily,
      metrics: ['clicks'],
      dimensions: dimensions.toReversed(),
      parameters: Object.fromEntries(Object.entries(parameters).toReversed()),
      refresh: 'nightly',
      types: { clicks: 'DOUBLE' },
      maxRejects: 5,
      weekStartsOn: 0,
      settleMs: 0,
      datePeriod: { first: { daysAgo: 9 }, last: { daysAgo: 2 } },
    });
    expect(fingerprintOf(same)).toBe(own);
  });

  test.each([
    ['os_name__in', 'android,ios', 'ios,android'],
    ['index', 'app,day', 'day,app'],
  ])(
    'does not change with the order of %s, %s or %s, and is the released one of the ordered list',
    (name, one, other) => {
      const ordered = fingerprintOf({
        dimensions: ['day'],
        parameters: { [name]: one },
        headers: {},
      });
      const written = JSON.stringify([['day'], [[name, one]]]);
      expect(ordered).toBe(createHash('sha256').update(written).digest('hex').slice(0, 16));
      expect(
        fingerprintOf({ dimensions: ['day'], parameters: { [name]: other }, headers: {} }),
      ).toBe(ordered);
      expect(
        fingerprintOf({ dimensions: ['day'], parameters: { [name]: `${one},c` }, headers: {} }),
      ).not.toBe(ordered);
    },
  );

  test.each([
    ['a dimension more', { dimensions: [...daily.dimensions, 'network'] }],
    ['a parameter changed', { parameters: { ...daily.parameters, attribution_type: 'click' } }],
    ['a filter changed', { parameters: { ...daily.parameters, os_name__in: 'ios' } }],
    ['another offset', { parameters: { ...daily.parameters, utc_offset: '+05:30' } }],
    ['a value that moved to another name', { dimensions: ['a,b'], parameters: {} }],
    ['a header', { headers: { 'x-account-id': '7' } }],
  ])('changes with %s', (_, change) => {
    expect(fingerprintOf({ ...daily, ...change })).not.toBe(own);
  });
});
