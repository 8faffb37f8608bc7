/**
 * Buckets: the hours of a report's period, gathered by the date dimensions it was asked for.
 *
 * An atom keeps its UTC hour; in an offset it falls on the local hour that begins at the same instant, which under a
 * half-hour offset is labelled `:30`.
 */

import { addDays, bucketOf, type Day, day, dayAt, daysIn, startOfDayAt, type WeekStart } from '../../model/calendar.ts';
import { type DateDimension, dateDimensions, isDateDimension } from '../../model/dimension.ts';
import { hashText } from './hash.ts';
import type { ReportQuery } from './query.ts';

export interface DateText {
  /** As `format_dates=false` returns it. */
  readonly iso: string;
  /** As people in one country write it: the default. */
  readonly local: string;
}

export interface RowBucket {
  readonly texts: Readonly<Partial<Record<DateDimension, DateText>>>;
  readonly seed: number;
  /** Its place in the order of time. */
  readonly rank: number;
  /** Days of the period that fall into it. */
  days: number;
  /** The last of them. */
  lastDay: Day;
}

export interface Buckets {
  readonly all: readonly RowBucket[];
  /** Days of the whole period that have begun. */
  readonly days: number;
  /** Hours since 1970 (UTC), `[firstHour, firstHour + indexByHour.length)`. */
  readonly firstHour: number;
  /** The bucket of each hour from the first one on; -1 where a filter excludes it. */
  readonly indexByHour: Int32Array;
}

const MS_PER_HOUR = 3_600_000;
const HOURS_PER_DAY = 24;
const monthNames = 'January February March April May June July August September October November December'.split(' ');

/** The world's first day: there was no traffic before it. */
const FIRST_DAY = day('2022-01-01');

const american = (of: Day): string => `${of.slice(5, 7)}/${of.slice(8)}/${of.slice(0, 4)}`;

function textOf(dimension: DateDimension, of: Day, time: string, weekStartsOn: WeekStart): DateText {
  const year = of.slice(0, 4);
  const month = Number(of.slice(5, 7));
  if (dimension === 'hour') return { iso: `${of}T${time}:00`, local: `${american(of)} ${time}` };
  if (dimension === 'day') return { iso: of, local: american(of) };
  if (dimension === 'month') return { iso: of.slice(0, 7), local: `${monthNames[month - 1] ?? ''} ${year}` };
  if (dimension === 'year') return { iso: year, local: year };
  if (dimension === 'quarter') {
    const quarter = `Q${Math.ceil(month / 3)} ${year}`;
    return { iso: quarter, local: quarter };
  }
  const { start, end } = bucketOf(of, 'week', weekStartsOn);
  const last = addDays(end, -1);
  return { iso: `${start} - ${last}`, local: `${american(start)} - ${american(last)}` };
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** The buckets of a query's period, in order of time, without the hours that have not begun at its moment. */
export function createBuckets(query: ReportQuery): Buckets {
  const { weekStartsOn } = query;
  const wanted = dateDimensions.filter((dimension) => query.dimensions.includes(dimension));
  const filters = query.filters.dimensions.filter((filter) => isDateDimension(filter.dimension));
  const hourly = wanted.includes('hour') || filters.some((filter) => filter.dimension === 'hour');

  const today = dayAt(new Date(query.moment.nowHour * MS_PER_HOUR + MS_PER_HOUR - 1), query.utcOffset);
  const tomorrow = addDays(today, 1);
  const days = daysIn({
    start: query.days.start > FIRST_DAY ? query.days.start : FIRST_DAY,
    end: query.days.end < tomorrow ? query.days.end : tomorrow,
  });
  const [first = query.days.start] = days;
  const startOfFirst = startOfDayAt(first, query.utcOffset).getTime();
  const firstHour = Math.ceil(startOfFirst / MS_PER_HOUR);
  const minutes = Math.round((firstHour * MS_PER_HOUR - startOfFirst) / 60_000);

  const all: RowBucket[] = [];
  const indexByLabel = new Map<string, number>();
  const indexByHour = new Int32Array(days.length * HOURS_PER_DAY).fill(-1);
  const texts = (day: Day, time: string): Partial<Record<DateDimension, DateText>> =>
    Object.fromEntries(wanted.map((dimension) => [dimension, textOf(dimension, day, time, weekStartsOn)]));
  const accepted = (day: Day, time: string): boolean =>
    filters.every(
      ({ dimension, accepts }) =>
        !isDateDimension(dimension) || accepts(textOf(dimension, day, time, weekStartsOn).iso),
    );
  const bucketAt = (day: Day, time: string): number => {
    const labels = texts(day, time);
    const label = Object.values(labels)
      .map((text) => text.iso)
      .join(' ');
    const index = indexByLabel.get(label) ?? all.length;
    const bucket = all[index] ?? { texts: labels, seed: hashText(label), rank: index, days: 0, lastDay: day };
    all[index] = bucket;
    indexByLabel.set(label, index);
    if (bucket.days === 0 || bucket.lastDay < day) bucket.days += 1;
    bucket.lastDay = day;
    return index;
  };

  for (const [dayIndex, day] of days.entries()) {
    const slots = hourly ? HOURS_PER_DAY : 1;
    for (let slot = 0; slot < slots; slot += 1) {
      const time = `${twoDigits(slot)}:${twoDigits(minutes)}`;
      if (!accepted(day, time)) continue;
      const from = dayIndex * HOURS_PER_DAY + slot;
      indexByHour.fill(bucketAt(day, time), from, hourly ? from + 1 : from + HOURS_PER_DAY);
    }
  }
  return { all, days: days.length, firstHour, indexByHour };
}
