/** Periods: the calendar buckets in which freshness is accounted. */

import {
  bucketOf,
  dayAt,
  daysBetween,
  addDays,
  startOfDayAt,
  type Bucket,
  type Day,
  type DayInterval,
  type UtcOffset,
  type WeekStart,
} from './calendar.ts';
import type { DateDimension } from './dimension.ts';
import type { DateBound, DatePeriod } from './slice.ts';

export interface Period {
  /** The whole calendar bucket; what a load replaces. */
  readonly bucket: DayInterval;
  /** The days of it inside the date period; what is asked for. */
  readonly asked: DayInterval;
}

/** Whether the whole bucket is asked for; a bucket the date period cuts is never final. */
export function isWhole(period: Period): boolean {
  return period.asked.start === period.bucket.start && period.asked.end === period.bucket.end;
}

/** The instant a period is over, in an offset. */
export function endOf(period: Period, offset: UtcOffset): Date {
  return startOfDayAt(period.bucket.end, offset);
}

/** Days from a period's last day to the day of an instant; negative or 0 while it is not over. */
export function ageOf(period: Period, at: Date, offset: UtcOffset): number {
  return daysBetween(period.bucket.end, dayAt(at, offset)) + 1;
}

/** The days a date period covers at an instant, or null when it covers none yet. */
export function resolveDatePeriod(period: DatePeriod, asOf: Date, offset: UtcOffset): DayInterval | null {
  const today = dayAt(asOf, offset);
  const resolve = (bound: DateBound): Day => ('day' in bound ? bound.day : addDays(today, -bound.daysAgo));
  const interval = { start: resolve(period.first), end: addDays(resolve(period.last), 1) };
  return interval.start < interval.end ? interval : null;
}

function bucketFor(grain: DateDimension): Bucket {
  return grain === 'hour' ? 'day' : grain;
}

/** The periods of a grain that touch an interval, in order; one for a report without a date dimension. */
export function periodsOf(interval: DayInterval, grain: DateDimension | null, weekStartsOn: WeekStart): Period[] {
  if (grain === null) return [{ bucket: interval, asked: interval }];
  const periods: Period[] = [];
  for (let start = interval.start; start < interval.end;) {
    const bucket = bucketOf(start, bucketFor(grain), weekStartsOn);
    const end = bucket.end < interval.end ? bucket.end : interval.end;
    periods.push({ bucket, asked: { start, end } });
    start = end;
  }
  return periods;
}
