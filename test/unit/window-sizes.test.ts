/** How large the next window of a slice may be, by what a run has seen of it: bytes a day, growth, what was too heavy. */

import { expect, test } from 'vitest';

import { addDays, day } from '../../src/model/calendar.ts';
import { type Window, windowOf } from '../../src/model/window.ts';
import { WindowSizes } from '../../src/run/window-sizes.ts';
import { slice } from '../support/slice.ts';

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app'],
  metrics: ['installs'],
  datePeriod: { first: { day: day('2026-01-01') }, last: { daysAgo: 1 } },
});

function windowOfDays(count: number): Window {
  const days = { start: day('2026-01-01'), end: addDays(day('2026-01-01'), count) };
  return windowOf(daily, 'f', [{ period: { bucket: days, asked: days }, reason: 'new' }]);
}

const MB = 1_000_000;

test.each<[string, number, (sizes: WindowSizes) => void]>([
  ['7 days of 35 MB, by its 5 MB a day', 6, (sizes) => sizes.answered(windowOfDays(7), 35 * MB)],
  ['7 days of 70 kB, by growth', 56, (sizes) => sizes.answered(windowOfDays(7), 70_000)],
  ['7 days of nothing, by growth', 56, (sizes) => sizes.answered(windowOfDays(7), 0)],
  ['1 day of 90 MB', 1, (sizes) => sizes.answered(windowOfDays(1), 90 * MB)],
  ['7 days of 140 MB that were too large to read', 1, (sizes) => sizes.tooHeavy(windowOfDays(7), 140 * MB)],
  [
    '7 days of 504 and 3 that were answered',
    3,
    (sizes) => {
      sizes.tooHeavy(windowOfDays(7), null);
      sizes.answered(windowOfDays(3), 3000);
    },
  ],
])('after %s the next window has %i days at most', (_, days, see) => {
  const sizes = new WindowSizes();
  see(sizes);
  expect(sizes.nextDays('daily')).toBe(days);
  expect(sizes.nextDays('other')).toBeNull();
});

test('a window that was never answered says nothing of the next one', () => {
  const sizes = new WindowSizes();
  expect(sizes.nextDays('daily')).toBeNull();
  sizes.tooHeavy(windowOfDays(7), null);
  expect(sizes.nextDays('daily')).toBeNull();
});

test.each<[string, number, number | null]>([
  ['500 bytes, as usual', 70_000, null],
  ['10 kB', 3500, 6],
])(
  'rows of %s in 7 days of 35 MB bound the windows of later nights, where that is less than their number would',
  (_, rows, days) => {
    const sizes = new WindowSizes();
    sizes.answered(windowOfDays(7), 35 * MB);
    expect(sizes.wideDays('daily')).toBeNull();
    sizes.loaded(windowOfDays(7), rows);
    expect(sizes.wideDays('daily')).toBe(days);
    expect(sizes.lightDays('daily')).toBe(7);
  },
);
