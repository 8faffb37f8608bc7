/** How the periods of a table are divided into files. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { addDays, bucketOf, buckets, day, type Bucket } from '../../src/model/calendar.ts';
import { blockAt, blockUnit, MAX_BLOCK_ROWS } from '../../src/publish/blocks.ts';
import { property } from '../support/property.ts';

const grains = fc.constantFrom(...buckets);
const weekStarts = fc.constantFrom(0, 1, 3, 6);

/** Consecutive periods with as many rows each. */
function periodsOf(grain: Bucket, count: number, rows: number, weekStart: 0 | 1 | 3 | 6 = 1) {
  let { start } = bucketOf(day('2024-12-20'), grain, weekStart);
  return Array.from({ length: count }, () => {
    const period = { start, rows };
    start = bucketOf(start, grain, weekStart).end;
    return period;
  });
}

describe('the unit of files', () => {
  test.each([
    [5, 'year'],
    [50, 'year'],
    [68, 'year'],
    [69, 'month'],
    [500, 'month'],
    [830, 'month'],
    [1000, 'week'],
    [3500, 'week'],
    [5000, 'day'],
    [1_000_000, 'day'],
  ])('of a table with %i rows a day is a %s', (rows, unit) => {
    expect(blockUnit('day', periodsOf('day', 400, rows), null)).toBe(unit);
  });

  test.each([
    ['year', 500, 'year'],
    ['year', 550, 'month'],
    ['month', 6600, 'month'],
    ['month', 6700, 'day'],
    ['week', 500, 'week'],
    ['week', 440, 'month'],
    ['day', 3200, 'day'],
    ['day', 3100, 'week'],
  ] as const)(
    'of a table whose files are a %s each is, at %i rows a day, a %s',
    (current, rows, unit) => {
      expect(blockUnit('day', periodsOf('day', 100, rows), current)).toBe(unit);
    },
  );

  test('follows the densest month, not the mean of long years', () => {
    const dense = periodsOf('day', 20, 20_000);
    const sparse = periodsOf('day', 900, 1).slice(300);
    expect(blockUnit('day', [...dense, ...sparse], null)).toBe('day');
  });

  test(
    'fits, or is one period, and is chosen again',
    property(
      [grains, fc.integer({ min: 1, max: 400 }), fc.nat(60_000)],
      {},
      (grain, count, rows) => {
        const periods = periodsOf(grain, count, rows);
        const unit = blockUnit(grain, periods, null);
        expect(blockUnit(grain, periods, unit)).toBe(unit);
        const sums = new Map<string, number>();
        for (const { start } of periods) {
          const { name } = blockAt(start, unit, grain);
          sums.set(name, (sums.get(name) ?? 0) + rows);
        }
        // A month may have 31 days, and weeks reach over the end of a year.
        const most = unit === grain ? Infinity : MAX_BLOCK_ROWS * 1.1;
        expect(Math.max(...sums.values())).toBeLessThan(most);
      },
    ),
  );
});

describe('a file', () => {
  test(
    'has the days of each of its periods, no other file has any of them, and names are in the order of days',
    property([grains, grains, weekStarts], {}, (grain, unit, weekStart) => {
      fc.pre(buckets.indexOf(unit) >= buckets.indexOf(grain));
      const periods = periodsOf(grain, 60, 1, weekStart);
      const blocks = periods.map(({ start }) =>
        Object.assign({ start }, blockAt(start, unit, grain)),
      );
      for (const [index, { start, days, name }] of blocks.entries()) {
        expect(days.start <= start && start < days.end).toBe(true);
        expect(blockAt(days.start, unit, grain).name).toBe(name);
        const next = blocks[index + 1];
        if (next === undefined || next.name === name) continue;
        expect(next.name > name).toBe(true);
        expect(next.days.start >= days.end).toBe(true);
      }
    }),
  );

  test.each([
    ['year', '2026'],
    ['quarter', '2026-04'],
    ['month', '2026-05'],
    ['week', '2026-05-11'],
    ['day', '2026-05-15'],
  ] as const)('of a %s is called %s', (unit, name) => {
    expect(blockAt(day('2026-05-15'), unit, 'day').name).toBe(name);
  });

  test('of weeks that begin on Sunday begins on Sunday', () => {
    const sunday = day('2026-05-10');
    expect(blockAt(sunday, 'week', 'week').days).toEqual({
      start: sunday,
      end: addDays(sunday, 7),
    });
  });
});
