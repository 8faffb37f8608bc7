/**
 * Coverage: the days a slice answers for.
 *
 * The date period says what to begin loading, never what to forget: a period that was loaded once stays covered until it
 * is final, when a rolling date period has left it and when the configuration moved on. Pure.
 */

import { addDays, bucketOf, dayAt, type DayInterval, type WeekStart } from './calendar.ts';
import type { LoadedPeriod } from './ledger.ts';
import { bucketFor, datePeriodEnd, daysEarlier, periodsOf, resolveDatePeriod, type Period } from './period.ts';
import type { DatePeriod, Slice } from './slice.ts';

type Covering = Pick<Slice, 'datePeriod' | 'grain' | 'retainDays' | 'utcOffset'>;

/**
 * The days from the first that was ever loaded, or the start of the date period where that is earlier, to the end of the
 * date period or the last that was loaded, without days that have not begun and without what the slice lets go; null for
 * none. Without a date dimension it is the date period alone, which is one period, or the one loaded last where a rolling
 * start has passed a fixed end.
 */
export function coverageOf(
  slice: Covering,
  held: readonly Pick<LoadedPeriod, 'asked'>[],
  planAt: Date,
  weekStartsOn: WeekStart,
): DayInterval | null {
  const stated = resolveDatePeriod(slice.datePeriod, planAt, slice.utcOffset, weekStartsOn);
  if (slice.grain === null) return stated ?? held[0]?.asked ?? null;
  const intervals = [...(stated === null ? [] : [stated]), ...held.map(({ asked }) => asked)];
  const [first, ...others] = intervals;
  if (first === undefined) return null;
  const tomorrow = addDays(dayAt(planAt, slice.utcOffset), 1);
  let { start, end } = first;
  // A start that has passed the end, as `month_start:yesterday` on the first of a month, leaves the days before that end wanted.
  const statedEnd = datePeriodEnd(slice.datePeriod, planAt, slice.utcOffset, weekStartsOn);
  if (mayPass(slice.datePeriod) && statedEnd > end) end = statedEnd;
  for (const other of others) {
    if (other.start < start) start = other.start;
    if (other.end > end) end = other.end;
  }
  if (end > tomorrow) end = tomorrow;
  const kept = firstKeptDay(slice, planAt, weekStartsOn);
  if (kept !== null && kept > start) start = kept;
  return start < end ? { start, end } : null;
}

/** Whether the start of a date period passes its end on some days alone, and neither on all nor before it has begun. */
function mayPass({ first, last }: DatePeriod): boolean {
  return !('day' in first) && !('daysAgo' in first && 'daysAgo' in last);
}

/** The first day of the oldest bucket that a slice keeps at an instant; null when it keeps all. */
export function firstKeptDay(
  { grain, retainDays, utcOffset }: Covering,
  planAt: Date,
  weekStartsOn: WeekStart,
): DayInterval['start'] | null {
  if (retainDays === null || grain === null) return null;
  return bucketOf(daysEarlier(dayAt(planAt, utcOffset), retainDays), bucketFor(grain), weekStartsOn).start;
}

/** The periods of the coverage, in order; empty for none. */
export function coveredPeriods(
  slice: Covering,
  held: readonly Pick<LoadedPeriod, 'asked'>[],
  planAt: Date,
  weekStartsOn: WeekStart,
): Period[] {
  const days = coverageOf(slice, held, planAt, weekStartsOn);
  return days === null ? [] : periodsOf(days, slice.grain, weekStartsOn);
}
