/** Divides the periods of a table into blocks, each a file of a copy. Few files are read fast, and small ones written fast. */

import { bucketOf, weekdayOf, type Bucket, type Day, type DayInterval } from '../model/calendar.ts';

/** Rows of a block: fewer make more files to open, more are written again for one changed day (docs/internals/benchmarks.md). */
export const MAX_BLOCK_ROWS = 25_000;

/** A table is divided anew if its blocks are this many times too large or too small. */
const MAX_TIMES_OFF = 8;

const MONDAY = 1;

const daysIn: Readonly<Record<Bucket, number>> = {
  year: 365,
  quarter: 91,
  month: 30,
  week: 7,
  day: 1,
};
const units = ['year', 'month', 'week', 'day'] as const;

export interface PeriodRows {
  readonly start: Day;
  readonly rows: number;
}

export interface Block {
  /** Also its file's, such as `2026-01` for a month. */
  readonly name: string;
  readonly days: DayInterval;
}

/**
 * Returns the longest unit whose blocks have at most `MAX_BLOCK_ROWS` rows in the densest month, or one period. Keeps the
 * current unit unless it is far off.
 */
export function blockUnit(
  grain: Bucket,
  periods: readonly PeriodRows[],
  current: Bucket | null,
): Bucket {
  const months = new Map<string, { rows: number; days: number }>();
  for (const { start, rows } of periods) {
    const month = months.get(start.slice(0, 7)) ?? { rows: 0, days: 0 };
    months.set(start.slice(0, 7), { rows: month.rows + rows, days: month.days + daysIn[grain] });
  }
  const density = Math.max(0, ...[...months.values()].map(({ rows, days }) => rows / days));
  const best =
    units.find(
      (unit) => daysIn[unit] > daysIn[grain] && daysIn[unit] * density <= MAX_BLOCK_ROWS,
    ) ?? grain;
  if (current === null || daysIn[current] < daysIn[grain]) return best;
  const timesOff = (daysIn[current] * density) / MAX_BLOCK_ROWS;
  return timesOff > MAX_TIMES_OFF || timesOff < 1 / MAX_TIMES_OFF ? best : current;
}

export function blockAt(start: Day, unit: Bucket, grain: Bucket): Block {
  // Weeks may begin on any day. Weeks of days begin on Monday, as DuckDB truncates dates.
  const days = bucketOf(start, unit, unit === grain ? weekdayOf(start) : MONDAY);
  const length = unit === 'year' ? 4 : unit === 'day' || unit === 'week' ? 10 : 7;
  return { name: days.start.slice(0, length), days };
}
