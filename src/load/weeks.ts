/**
 * Weeks whose names are not those that were expected.
 *
 * Most services name a week that the date period cuts after its own first day, some after the first of its days that was
 * requested. Both are the same week, and stored as such. A service may also begin its weeks with another day than was assumed.
 */

import { Failure } from '../errors.ts';
import { type Day, parseWeekStart, weekdayName, weekdayOf, type WeekStart } from '../model/calendar.ts';
import { subjectOf, type Window } from '../model/window.ts';
import { literal } from '../warehouse/sql.ts';
import { type Replacing, WINDOW } from './staged-sql.ts';

/** Whether the first week of a window was requested from a later day on. */
export const beginsInWeek = ({ slice, asked, replaced }: Window): boolean =>
  slice.grain === 'week' && asked.start > replaced.start;

/** Gives rows that are named after the first day requested the first day of its week; windows by their numbers in the batch. */
export function nameCutWeeks(windows: ReadonlyMap<number, Window>): Replacing {
  const cut = [...windows].filter(([, window]) => beginsInWeek(window));
  if (cut.length === 0) return new Map();
  const cases = cut.map(
    ([windowNo, { asked, replaced }]) =>
      `when ${WINDOW} = ${windowNo} and week = DATE ${literal(asked.start)} then DATE ${literal(replaced.start)}`,
  );
  return new Map([['week', `case ${cases.join(' ')} else week end`]]);
}

/**
 * The weekday that the weeks of a window begin with where it is another than was assumed: by the names of its parts' whole weeks,
 * which agree; else by the days it has rows of, but for the first, which may be named after a part of its week.
 */
export function otherWeekStart(
  { slice, replaced }: Window,
  stated: readonly (number | null)[],
  rows: ReadonlyMap<Day, number>,
): WeekStart | undefined {
  if (slice.grain !== 'week') return undefined;
  const [named, ...otherNames] = new Set(stated);
  const others = [...rows.keys()].filter((start) => start !== replaced.start);
  const [weekday, ...more] = new Set(others.map(weekdayOf));
  const seen = rows.has(replaced.start) && more.length === 0 ? weekday : undefined;
  const found = (otherNames.length === 0 ? parseWeekStart(named) : null) ?? seen;
  return found === weekdayOf(replaced.start) ? undefined : found;
}

/** Why rows of a week that begins on none of a window's weeks' first days, which belong to no period, fail the window. */
export function strayWeek(window: Window, rows: ReadonlyMap<Day, number>): Failure | undefined {
  if (window.slice.grain !== 'week') return undefined;
  const begins = weekdayOf(window.replaced.start);
  const stray = [...rows.keys()].find((start) => weekdayOf(start) !== begins);
  if (stray === undefined) return undefined;
  const names = `${weekdayName(weekdayOf(stray))}, and the others on a ${weekdayName(begins)}`;
  return new Failure('DATA_MALFORMED', `${subjectOf(window)}: a week began on ${stray}, a ${names}.`, {
    facts: { example: stray },
    hint: 'Ask the service what its weeks begin with; until they are steady, use the dimension day.',
  });
}
