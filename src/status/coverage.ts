/** The periods a slice is to have, held against those it has; pure. */

import { addDays, dayAt, lastDay, startOfDayAt, type Day, type WeekStart } from '../model/calendar.ts';
import { coveredPeriods } from '../model/coverage.ts';
import type { PeriodState as LedgerState } from '../model/maturity.ts';
import { ageOf, DEFAULT_WEEK_START } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { PeriodStatus } from './status-report.ts';

/** A period the warehouse holds. */
export interface HeldPeriod {
  readonly start_day: Day;
  readonly end_day: Day;
  readonly asked_start: Day;
  readonly asked_end: Day;
  readonly fetched_at: Date;
  readonly rows: number;
  readonly rejected: number;
  readonly state: LedgerState;
  readonly next_refresh_at: Date | null;
  /** False where the configured slice means something else, or has a metric more; null where that is not known. */
  readonly is_as_configured: boolean | null;
}

/** A period, and the first day of its calendar bucket, under which the ledger has it. */
export interface Expected {
  readonly start: Day;
  readonly status: PeriodStatus;
}

/** Every period of the slice's coverage at an instant, in order; empty when it covers no day yet. */
export function expectedPeriods(
  slice: Slice,
  held: readonly HeldPeriod[],
  weekStartsOn: WeekStart | null,
  planAt: Date,
): Expected[] {
  const byStart = new Map(held.map((period) => [period.start_day, period]));
  const loaded = held.map((period) => ({ asked: { start: period.asked_start, end: period.asked_end } }));
  return coveredPeriods(slice, loaded, planAt, weekStartsOn ?? DEFAULT_WEEK_START).map((period) => {
    const held = byStart.get(period.bucket.start);
    // Of a slice that has another date dimension, or another date period and none, what is held is not this period.
    const found = held?.end_day === period.bucket.end ? held : undefined;
    const next = found?.is_as_configured === false ? planAt : (found?.next_refresh_at ?? null);
    return {
      start: period.bucket.start,
      status: {
        first_day: period.asked.start,
        last_day: lastDay(period.asked),
        age_days: ageOf(period, planAt, slice.utcOffset),
        state: found?.state ?? 'missing',
        fetched_at: found?.fetched_at.toISOString() ?? null,
        rows: found?.rows ?? null,
        rejected: found?.rejected ?? null,
        next_refresh_at: next?.toISOString() ?? null,
      },
    };
  });
}

/**
 * From when on something is due: at once while a period is missing, or not over and not just fetched; else when the
 * first period expects something, or the date period moves on to another day. Null when nothing is expected any more.
 */
export function nextRefreshAt(slice: Slice, periods: readonly PeriodStatus[], planAt: Date): string | null {
  const now = planAt.toISOString();
  if (periods.some(({ state, fetched_at: at }) => at === null || (state === 'open' && at < now))) return now;
  const tomorrow = startOfDayAt(addDays(dayAt(planAt, slice.utcOffset), 1), slice.utcOffset);
  const moves = 'day' in slice.datePeriod.last ? [] : [tomorrow.toISOString()];
  const expected = periods.map((period) => period.next_refresh_at).filter((at) => at !== null);
  return [...expected, ...moves].toSorted().at(0) ?? null;
}
