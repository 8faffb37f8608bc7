import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { coverageOf, firstKeptDay } from '../../src/model/coverage.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-06-10T02:30:00Z');
const SUNDAY = 0;
const held = (
  start: string,
  end: string,
): { asked: { start: ReturnType<typeof day>; end: ReturnType<typeof day> } } => ({
  asked: { start: day(start), end: day(end) },
});
const rolling = slice({
  name: 'daily',
  dimensions: ['day'],
  metrics: ['installs'],
  datePeriod: { first: { daysAgo: 7 }, last: { daysAgo: 1 } },
});
const covered = (of = rolling, ...periods: readonly ReturnType<typeof held>[]): unknown =>
  coverageOf(of, periods, NOW, SUNDAY);

describe('the coverage', () => {
  test('of a slice that holds nothing is its date period', () => {
    expect(covered()).toEqual({ start: '2026-06-03', end: '2026-06-10' });
  });

  test('reaches back to the first day that was ever loaded, over days that never were', () => {
    expect(covered(rolling, held('2026-01-05', '2026-01-06'), held('2026-06-03', '2026-06-04'))).toEqual({
      start: '2026-01-05',
      end: '2026-06-10',
    });
  });

  test('keeps days that a shorter date period no longer names, and never reaches beyond today', () => {
    expect(covered(rolling, held('2026-06-08', '2026-06-12'))).toEqual({ start: '2026-06-03', end: '2026-06-11' });
    const ended = { ...rolling, datePeriod: { first: { day: day('2026-05-01') }, last: { day: day('2026-05-03') } } };
    expect(covered(ended, held('2026-05-01', '2026-05-20'))).toEqual({ start: '2026-05-01', end: '2026-05-20' });
  });

  test('begins with the first day that `retain` keeps', () => {
    const kept = { ...rolling, retainDays: 30 };
    expect(covered(kept, held('2026-01-05', '2026-01-06'))).toEqual({ start: '2026-05-11', end: '2026-06-10' });
  });

  test('of a date period that lies wholly in the future is none', () => {
    const future = { ...rolling, datePeriod: { first: { day: day('2027-01-01') }, last: { day: day('2027-01-03') } } };
    expect(covered(future)).toBeNull();
  });

  test('of a report without a date is its date period alone', () => {
    const total = slice({ ...rolling, dimensions: ['network'], grain: null });
    expect(covered(total, held('2026-01-05', '2026-01-06'))).toEqual({ start: '2026-06-03', end: '2026-06-10' });
  });
});

test('the first day that is kept begins a whole week, and there is none without `retain` or without a date', () => {
  const weekly = slice({ ...rolling, dimensions: ['week'], grain: 'week', retainDays: 30 });
  expect(firstKeptDay(weekly, NOW, SUNDAY)).toBe('2026-05-10');
  expect(firstKeptDay(weekly, NOW, 1)).toBe('2026-05-11');
  expect(firstKeptDay(rolling, NOW, SUNDAY)).toBeNull();
  expect(firstKeptDay(slice({ ...rolling, dimensions: ['network'], grain: null, retainDays: 30 }), NOW, 1)).toBeNull();
});
