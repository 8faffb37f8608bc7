/** The periods a slice is to have, held against those it has; pure. */

import { lastDay, type Day, type WeekStart } from '../model/calendar.ts';
import { ageOf, periodsOf, resolveDatePeriod } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import type { PeriodStatus } from './status-report.ts';

/** A period the warehouse holds. */
export interface HeldPeriod {
  readonly start_day: Day;
  readonly end_day: Day;
  readonly fetched_at: Date;
  readonly rows: number;
  readonly rejected: number;
  readonly state: 'open' | 'maturing' | 'final';
  readonly next_refresh_at: Date | null;
}

/** Weeks begin on Monday until the service's labels say otherwise. */
const DEFAULT_WEEK_START: WeekStart = 1;

/** Every period of the slice's date period at an instant, in order; empty when the date period covers no day yet. */
export function periodStatuses(
  slice: Slice,
  held: readonly HeldPeriod[],
  weekStartsOn: WeekStart | null,
  asOf: Date,
): PeriodStatus[] {
  const interval = resolveDatePeriod(slice.datePeriod, asOf, slice.utcOffset);
  if (interval === null) return [];
  const byStart = new Map(held.map((period) => [period.start_day, period]));
  return periodsOf(interval, slice.grain, weekStartsOn ?? DEFAULT_WEEK_START).map((period) => {
    const found = byStart.get(period.bucket.start);
    return {
      first_day: period.asked.start,
      last_day: lastDay(period.asked),
      age_days: ageOf(period, asOf, slice.utcOffset),
      state: found?.state ?? 'missing',
      fetched_at: found?.fetched_at.toISOString() ?? null,
      rows: found?.rows ?? null,
      rejected: found?.rejected ?? null,
      next_refresh_at: found?.next_refresh_at?.toISOString() ?? null,
    };
  });
}
