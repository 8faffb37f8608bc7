/**
 * The only place that does date arithmetic. A `Day` has no zone, a `Date` is an instant. Nothing reads the host's time zone.
 */

// Single functions and a date class without formatting: all of date-fns would take a third of a command's start time.
import { UTCDateMini } from '@date-fns/utc/date/mini';
import { addMonths } from 'date-fns/addMonths';
import { addQuarters } from 'date-fns/addQuarters';
import { addWeeks } from 'date-fns/addWeeks';
import { addYears } from 'date-fns/addYears';
import { startOfMonth } from 'date-fns/startOfMonth';
import { startOfQuarter } from 'date-fns/startOfQuarter';
import { startOfWeek } from 'date-fns/startOfWeek';
import { startOfYear } from 'date-fns/startOfYear';

declare const dayBrand: unique symbol;
declare const offsetBrand: unique symbol;

/** A civil date, `YYYY-MM-DD`, which compares correctly as text. */
export type Day = string & { readonly [dayBrand]: true };

/** A fixed offset from UTC, `+HH:MM` or `-HH:MM`. */
export type UtcOffset = string & { readonly [offsetBrand]: true };

/** Half-open, `[start, end)`. */
export interface DayInterval {
  readonly start: Day;
  readonly end: Day;
}

export const meet = (one: DayInterval, other: DayInterval): boolean =>
  one.start < other.end && other.start < one.end;

export function spanOf(
  { start, end }: DayInterval,
  ...others: readonly DayInterval[]
): DayInterval {
  for (const other of others) {
    if (other.start < start) ({ start } = other);
    if (other.end > end) ({ end } = other);
  }
  return { start, end };
}

export const isWithin = (day: Day, { start, end }: DayInterval): boolean =>
  start <= day && day < end;

/** Joins those that meet or touch. Returns them in order. */
export function unionOf(intervals: readonly DayInterval[]): DayInterval[] {
  const ranges: DayInterval[] = [];
  for (const interval of intervals.toSorted((a, b) => (a.start < b.start ? -1 : 1))) {
    const last = ranges.at(-1);
    if (last !== undefined && interval.start <= last.end)
      ranges.splice(-1, 1, spanOf(last, interval));
    else ranges.push(interval);
  }
  return ranges;
}

export const weekdays = [0, 1, 2, 3, 4, 5, 6] as const;
export const weekdayNames = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const;

/** As in `Date.getUTCDay`. */
export type WeekStart = (typeof weekdays)[number];

export const weekdayOf = (of: Day): WeekStart => weekdays[new Date(msOf(of)).getUTCDay()] ?? 0;

export const MS_PER_DAY = 86_400_000;

export const parseDay = (text: string): Day | null => (isDay(text) ? text : null);

function isDay(text: string): text is Day {
  if (knownMs.has(text)) return true;
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  // `Date.parse` turns a day that its month lacks into one of the next month.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text) return false;
  knownMs.set(text, ms);
  return true;
}

/** A plan looks at each of its days some hundred times. */
const knownMs = new Map<string, number>();
const knownDays = new Map<number, Day>();

const msOf = (of: Day) => knownMs.get(of) ?? Date.parse(`${of}T00:00:00Z`);

/** ISO 8601 with an offset: without one it would be a different instant in every time zone. */
const INSTANT =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

export const parseInstant = (text: string): Date | null =>
  isDay(INSTANT.exec(text)?.[1] ?? '') ? new Date(text) : null;

/** For text of the program itself. Throws a RangeError. */
export function day(text: string): Day {
  if (!isDay(text)) throw new RangeError(`Not a date of the form YYYY-MM-DD: ${text}`);
  return text;
}

/** At most 14:00 either way. */
const isUtcOffset = (text: string): text is UtcOffset =>
  /^[+-](0\d|1[0-3]):[0-5]\d$|^[+-]14:00$/.test(text);

export const parseUtcOffset = (text: string): UtcOffset | null => (isUtcOffset(text) ? text : null);

export function utcOffset(text: string): UtcOffset {
  if (!isUtcOffset(text)) throw new RangeError(`Not an offset of the form +HH:MM: ${text}`);
  return text;
}

export const UTC = utcOffset('+00:00');

const offsetMs = (offset: UtcOffset) =>
  (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4))) *
  (offset.startsWith('-') ? -60_000 : 60_000);

const asDay = (of: Date) => day(of.toISOString().slice(0, 10));

export function addDays(to: Day, count: number): Day {
  const ms = msOf(to) + count * MS_PER_DAY;
  const cached = knownDays.get(ms);
  if (cached !== undefined) return cached;
  const sum = asDay(new Date(ms));
  knownDays.set(ms, sum);
  return sum;
}

export const daysBetween = (earlier: Day, later: Day): number =>
  (msOf(later) - msOf(earlier)) / MS_PER_DAY;

export const dayAt = (at: Date, offset: UtcOffset): Day =>
  asDay(new Date(at.getTime() + offsetMs(offset)));

export const startOfDayAt = (of: Day, offset: UtcOffset): Date =>
  new Date(msOf(of) - offsetMs(offset));

/** As requests state it. Throws a RangeError if the interval is empty. */
export function lastDay({ start, end }: DayInterval): Day {
  if (end <= start) throw new RangeError('An empty interval has no last day.');
  return addDays(end, -1);
}

export const buckets = ['day', 'week', 'month', 'quarter', 'year'] as const;

export type Bucket = (typeof buckets)[number];

const calendars = {
  week: [startOfWeek, addWeeks],
  month: [startOfMonth, addMonths],
  quarter: [startOfQuarter, addQuarters],
  year: [startOfYear, addYears],
} as const;

export function bucketOf(of: Day, bucket: Bucket, weekStartsOn: WeekStart): DayInterval {
  if (bucket === 'day') return { start: of, end: addDays(of, 1) };
  const [startOf, add] = calendars[bucket];
  // Its parts, and those of every date derived from it, are read in UTC.
  const start = startOf(new UTCDateMini(`${of}T00:00:00Z`), { weekStartsOn });
  return { start: asDay(start), end: asDay(add(start, 1)) };
}
