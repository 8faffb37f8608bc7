/** Values that many tests begin with: the days of an interval, a ledger of nothing. */

import { addDays, type Day, type DayInterval, daysBetween } from '../../src/model/calendar.ts';
import type { SliceLedger } from '../../src/model/ledger.ts';

/** The days of an interval in order; empty for an empty interval. */
export function daysIn(interval: DayInterval): Day[] {
  const count = Math.max(0, daysBetween(interval.start, interval.end));
  return Array.from({ length: count }, (_, index) => addDays(interval.start, index));
}

export const emptyLedger: SliceLedger = { live: null, building: null };
