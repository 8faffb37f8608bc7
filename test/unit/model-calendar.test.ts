import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import {
  addDays,
  bucketOf,
  day,
  dayAt,
  daysBetween,
  lastDay,
  parseDay,
  parseUtcOffset,
  startOfDayAt,
  utcOffset,
  type Bucket,
  type WeekStart,
} from '../../src/model/calendar.ts';
import { daysIn } from '../support/plain-values.ts';

const interval = (start: string, end: string): { start: string; end: string } => ({ start, end });

/** Zones that broke others, and their noon of 2018-11-04: Apia skipped 2011-12-30, São Paulo's summer began at midnight. */
const hosts = [
  ['UTC', '2018-11-04T12:00:00.000Z'],
  ['Pacific/Apia', '2018-11-03T22:00:00.000Z'],
  ['America/Sao_Paulo', '2018-11-04T14:00:00.000Z'],
] as const;

describe.each(hosts)('the calendar on a host in %s', (zone, noon) => {
  const before = process.env['TZ'];

  beforeAll(() => {
    process.env['TZ'] = zone;
  });

  afterAll(() => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  });

  test('the host is really there', () => {
    expect(new Date(2018, 10, 4, 12).toISOString()).toBe(noon);
  });

  test.each([
    ['2026-02-14', '2026-02-14'],
    ['2024-02-29', '2024-02-29'],
    ['9999-12-31', '9999-12-31'],
    // Not on the host's calendar in Apia, and a midnight that did not exist in São Paulo.
    ['2011-12-30', '2011-12-30'],
    ['2018-11-04', '2018-11-04'],
    ['2026-02-29', null],
    ['1900-02-29', null],
    ['2026-13-01', null],
    ['2026-1-1', null],
    ['2026-01-01T00:00:00', null],
    ['', null],
  ])('the text %j reads as the day %j', (text, expected) => {
    expect(parseDay(text)).toBe(expected);
  });

  test.each([
    ['+00:00', true],
    ['+05:30', true],
    ['-03:30', true],
    ['+14:00', true],
    ['+14:01', false],
    ['05:30', false],
    ['', false],
  ])('the text %j is an offset: %j', (text, isOffset) => {
    expect(parseUtcOffset(text)).toBe(isOffset ? text : null);
  });

  test.each([
    ['2026-02-28', 1, '2026-03-01'],
    ['2024-02-29', 365, '2025-02-28'],
    ['2026-03-01', -1, '2026-02-28'],
    ['2011-12-29', 1, '2011-12-30'],
    ['2018-11-03', 1, '2018-11-04'],
    ['1900-02-28', 1, '1900-03-01'],
  ])('%s and %i days is %s, and the way back is as long', (from, count, to) => {
    expect(addDays(day(from), count)).toBe(to);
    expect(daysBetween(day(from), day(to))).toBe(count);
    expect(daysBetween(day(to), day(from)) + count).toBe(0);
  });

  test.each([
    ['2026-02-14T00:00:00.000Z', '+00:00', '2026-02-14'],
    ['2026-02-13T18:29:59.999Z', '+05:30', '2026-02-13'],
    ['2026-02-13T18:30:00.000Z', '+05:30', '2026-02-14'],
    ['2026-02-13T10:00:00.000Z', '+14:00', '2026-02-14'],
    ['2026-02-14T14:00:00.000Z', '-14:00', '2026-02-14'],
    ['2011-12-30T12:00:00.000Z', '+00:00', '2011-12-30'],
    ['2026-01-01T00:00:00.000Z', '-00:30', '2025-12-31'],
  ])('the instant %s at %s falls on %s', (at, zoneText, expected) => {
    expect(dayAt(new Date(at), utcOffset(zoneText))).toBe(expected);
  });

  test.each([
    ['2026-02-14', '+00:00', '2026-02-14T00:00:00.000Z'],
    ['2026-02-14', '+05:30', '2026-02-13T18:30:00.000Z'],
    ['2026-02-14', '-03:30', '2026-02-14T03:30:00.000Z'],
    ['2026-02-14', '-14:00', '2026-02-14T14:00:00.000Z'],
    ['2018-11-04', '-03:00', '2018-11-04T03:00:00.000Z'],
    ['2026-01-01', '-00:00', '2026-01-01T00:00:00.000Z'],
  ])('%s at %s begins at %s', (of, zoneText, expected) => {
    expect(startOfDayAt(day(of), utcOffset(zoneText)).toISOString()).toBe(expected);
  });

  test('the days of an interval run from its start to the day before its end; an empty or reversed one has none', () => {
    const leap = { start: day('2024-02-27'), end: day('2024-03-02') };
    expect(daysIn(leap)).toEqual(['2024-02-27', '2024-02-28', '2024-02-29', '2024-03-01']);
    expect(lastDay(leap)).toBe('2024-03-01');
    const year = { start: day('2011-12-29'), end: day('2012-01-01') };
    expect(daysIn(year)).toEqual(['2011-12-29', '2011-12-30', '2011-12-31']);
    expect(daysIn({ start: day('2026-02-14'), end: day('2026-02-14') })).toEqual([]);
    expect(daysIn({ start: day('2026-02-14'), end: day('2026-02-10') })).toEqual([]);
    expect(() => lastDay({ start: day('2026-02-14'), end: day('2026-02-14') })).toThrow(RangeError);
  });

  const buckets: readonly [string, Bucket, WeekStart, string, string][] = [
    ['2026-02-14', 'day', 1, '2026-02-14', '2026-02-15'],
    // 2026-02-14 is a Saturday.
    ['2026-02-14', 'week', 1, '2026-02-09', '2026-02-16'],
    ['2026-02-14', 'week', 0, '2026-02-08', '2026-02-15'],
    ['2026-02-15', 'week', 1, '2026-02-09', '2026-02-16'],
    ['2026-01-01', 'week', 1, '2025-12-29', '2026-01-05'],
    ['2011-12-30', 'week', 1, '2011-12-26', '2012-01-02'],
    ['2018-11-04', 'week', 0, '2018-11-04', '2018-11-11'],
    ['2026-02-14', 'month', 1, '2026-02-01', '2026-03-01'],
    ['2024-02-29', 'month', 1, '2024-02-01', '2024-03-01'],
    ['2011-12-30', 'month', 1, '2011-12-01', '2012-01-01'],
    ['2026-01-31', 'quarter', 1, '2026-01-01', '2026-04-01'],
    ['2025-12-31', 'quarter', 1, '2025-10-01', '2026-01-01'],
    ['2024-12-31', 'year', 1, '2024-01-01', '2025-01-01'],
  ];

  test.each(buckets)(
    '%s lies in the %s (weeks from %i) [%s, %s)',
    (of, bucket, weekStartsOn, start, end) => {
      expect(bucketOf(day(of), bucket, weekStartsOn)).toEqual(interval(start, end));
    },
  );
});
