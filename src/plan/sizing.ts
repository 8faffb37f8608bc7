/** How many days one request asks for: what earlier loads of the slice taught, else a cautious guess. */

import { daysBetween } from '../model/calendar.ts';
import type { SliceTable } from '../model/ledger.ts';
import type { Slice } from '../model/slice.ts';

/** About 30 MB of JSON: large enough to be worth a request, small enough to parse in little memory. */
const ROWS_PER_WINDOW = 50_000;

/** First windows of a slice nothing is known of. */
const FIRST_DAYS = { hour: 7, other: 31 } as const;

/** No request asks for more, however sparse the slice is: one failure would then cost too much. */
const MOST_DAYS = 366;

/** Rows a day of the slice had in its loaded periods, on average over those that had any; null before the first. */
export function rowsPerDay(table: SliceTable | null): number | null {
  const periods = [...(table?.periods.values() ?? [])].filter((period) => period.rows > 0);
  const days = periods.reduce((sum, { asked }) => sum + daysBetween(asked.start, asked.end), 0);
  return days === 0 ? null : periods.reduce((sum, period) => sum + period.rows, 0) / days;
}

/** Most days a window of the slice may ask for, at least 1; a single period may still be longer. */
export function windowDays(slice: Slice, table: SliceTable | null): number {
  const rows = rowsPerDay(table);
  const wanted =
    rows === null ? FIRST_DAYS[slice.grain === 'hour' ? 'hour' : 'other'] : Math.floor(ROWS_PER_WINDOW / rows);
  return Math.max(1, Math.min(wanted, table?.maxDays ?? MOST_DAYS, MOST_DAYS));
}
