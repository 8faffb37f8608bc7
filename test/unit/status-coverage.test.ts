/** Which held period stands for a period of the date period: the same days, not only the same first one. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { expectedPeriods } from '../../src/status/periods.ts';
import { slice } from '../support/slice.ts';

const NOW = new Date('2026-01-20T05:00:00Z');

const heldOver = (start: string, end: string) => ({
  start_day: day(start),
  end_day: day(end),
  asked_start: day(start),
  asked_end: day(end),
  fetched_at: '2026-01-19T05:00:00.000Z',
  rows: 7,
  rejected: 0,
  state: 'final' as const,
  is_unproven: false,
  next_refresh_at: null,
  is_as_configured: true,
});

const over = (dimensions: readonly string[], last: string) =>
  slice({
    name: 'daily',
    dimensions,
    metrics: ['installs'],
    datePeriod: { first: { day: day('2026-01-01') }, last: { day: day(last) } },
  });

const statesOf = (...given: Parameters<typeof expectedPeriods>): (string | null)[][] =>
  expectedPeriods(...given).map(({ status }) => [status.first_day, status.last_day, status.state]);

test('a month is not loaded because its first day is', () => {
  expect(statesOf(over(['month'], '2026-01-15'), [heldOver('2026-01-01', '2026-01-02')], null, NOW)).toEqual([
    ['2026-01-01', '2026-01-15', 'missing'],
  ]);
});

test('a report without a date over 15 days is not loaded because one over 5 of them is', () => {
  const five = heldOver('2026-01-01', '2026-01-06');
  expect(statesOf(over(['app_token'], '2026-01-15'), [five], null, NOW)).toEqual([
    ['2026-01-01', '2026-01-15', 'missing'],
  ]);
  expect(statesOf(over(['app_token'], '2026-01-05'), [five], null, NOW)).toEqual([
    ['2026-01-01', '2026-01-05', 'final'],
  ]);
});
