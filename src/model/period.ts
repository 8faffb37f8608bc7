/** Periods, the calendar buckets by which freshness is recorded, and coverage, which keeps what was loaded. Pure. */

import {
  bucketOf,
  day,
  dayAt,
  daysBetween,
  addDays,
  MS_PER_DAY,
  spanOf,
  startOfDayAt,
  type Bucket,
  type Day,
  type DayInterval,
  type UtcOffset,
  type WeekStart,
} from './calendar.ts';
import type { DateDimension } from './dimension.ts';
import type { DateBound, Slice } from './slice.ts';

type Dated = Pick<Slice, 'datePeriod' | 'utcOffset' | 'weekStartsOn'>;
type Covering = Dated & Pick<Slice, 'grain' | 'retainDays'>;

export interface Period {
  readonly bucket: DayInterval;
  readonly requested: DayInterval;
}

/** A bucket that the date period cuts is never final. */
export const isWhole = ({ bucket, requested }: Period): boolean =>
  requested.start === bucket.start && requested.end === bucket.end;

export const endOf = ({ bucket }: Period, offset: UtcOffset): Date =>
  startOfDayAt(bucket.end, offset);

/** 0 or less until it is over. */
export const ageOf = ({ bucket }: Period, at: Date, offset: UtcOffset): number =>
  daysBetween(bucket.end, dayAt(at, offset)) + 1;

/** Younger periods may lose rows to late rejections. */
export const SETTLED_AFTER_MS = 7 * MS_PER_DAY;
/** A guarded period keeps at least this share of its rows. */
export const MIN_SHARE = 0.5;

/** A long period that began twice as long ago has settled days, and is guarded before its end. */
export function isGuarded({ bucket, requested }: Period, at: Date, offset: UtcOffset): boolean {
  const sinceMs = (day: Day) => at.getTime() - startOfDayAt(day, offset).getTime();
  return sinceMs(bucket.end) > SETTLED_AFTER_MS || sinceMs(requested.start) > 2 * SETTLED_AFTER_MS;
}

/** Its end is written with a year of four digits. */
export const LAST_DAY = day('9999-12-30');

/** An earlier year is mistyped, and would be requested week by week. */
export const EARLIEST_DAY = day('1970-01-01');

/** `end` stays within the calendar and leaves out days that have not begun. */
function boundsAt({ datePeriod, utcOffset, weekStartsOn }: Dated, planAt: Date) {
  const today = dayAt(planAt, utcOffset);
  const first = resolveBound(datePeriod.first, today, weekStartsOn);
  const last = resolveBound(datePeriod.last, today, weekStartsOn);
  return { first, last, end: addDays(earliest(last, today, LAST_DAY), 1) };
}

export function resolveDatePeriod(slice: Dated, planAt: Date): DayInterval | null {
  const { first: start, end } = boundsAt(slice, planAt);
  return start < end ? { start, end } : null;
}

export function reversedAt(slice: Dated, planAt: Date) {
  const { first, last } = boundsAt(slice, planAt);
  return last < first ? { first, last } : null;
}

function resolveBound(bound: DateBound, today: Day, weekStartsOn: WeekStart): Day {
  if ('day' in bound) return bound.day;
  if ('daysAgo' in bound) return addDays(today, -bound.daysAgo);
  let { start } = bucketOf(today, bound.startOf, weekStartsOn);
  for (let passed = 0; passed < bound.bucketsAgo; passed += 1) {
    start = bucketOf(addDays(start, -1), bound.startOf, weekStartsOn).start;
  }
  return addDays(start, -bound.daysBefore);
}

const earliest = (...days: [Day, ...Day[]]) =>
  days.reduce((least, day) => (day < least ? day : least));

export const bucketFor = (grain: DateDimension): Bucket => (grain === 'hour' ? 'day' : grain);

export function periodsOf(
  interval: DayInterval,
  grain: DateDimension | null,
  weekStartsOn: WeekStart,
): Period[] {
  if (grain === null) return [{ bucket: interval, requested: interval }];
  const periods: Period[] = [];
  for (let start = interval.start; start < interval.end;) {
    const bucket = bucketOf(start, bucketFor(grain), weekStartsOn);
    const end = bucket.end < interval.end ? bucket.end : interval.end;
    periods.push({ bucket, requested: { start, end } });
    start = end;
  }
  return periods;
}

/**
 * From the first loaded day, or the date period's start if earlier, to the later end, without days that have not begun or that
 * `retain` deletes. Without a date dimension: the date period, or else the one last loaded.
 */
export function coverageOf(
  slice: Covering,
  stored: readonly Pick<Period, 'requested'>[],
  planAt: Date,
): DayInterval | null {
  const datePeriod = resolveDatePeriod(slice, planAt);
  if (slice.grain === null) return datePeriod ?? stored[0]?.requested ?? null;
  const loaded = stored.map(({ requested }) => requested);
  const [first, ...others] = datePeriod === null ? loaded : [datePeriod, ...loaded];
  if (first === undefined) return null;
  const { start, end } = spanOf(first, ...others);
  // `month_start:yesterday` ends before it starts on the first of a month. The days before its end stay covered.
  const { first: from, last: to } = slice.datePeriod;
  const mayPass = !('day' in from) && !('daysAgo' in from && 'daysAgo' in to);
  const ends = mayPass ? boundsAt(slice, planAt).end : end;
  const tomorrow = addDays(dayAt(planAt, slice.utcOffset), 1);
  const firstDay = firstKeptDay(slice, planAt) ?? start;
  const days = {
    start: firstDay > start ? firstDay : start,
    end: earliest(ends > end ? ends : end, tomorrow),
  };
  return days.start < days.end ? days : null;
}

export function firstKeptDay(slice: Covering, planAt: Date): Day | null {
  const { grain, retainDays, utcOffset, weekStartsOn } = slice;
  if (retainDays === null || grain === null) return null;
  const oldest = addDays(dayAt(planAt, utcOffset), -retainDays);
  return bucketOf(oldest, bucketFor(grain), weekStartsOn).start;
}

export function coveredPeriods(
  slice: Covering,
  stored: readonly Pick<Period, 'requested'>[],
  planAt: Date,
): Period[] {
  const days = coverageOf(slice, stored, planAt);
  return days === null ? [] : periodsOf(days, slice.grain, slice.weekStartsOn);
}
