/**
 * Weeks that the date period cuts: most services name such a week after its own first day, some after the first of its days
 * that was asked for. Both are the same week, and stored as such.
 */

import { addDays, type Day, weekdayOf, type WeekStart } from '../model/calendar.ts';
import type { Window } from '../model/window.ts';
import { literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Sound } from './answers.ts';
import { staging, WINDOW } from './window-sql.ts';

const DAYS_OF_WEEK = 7;

/** Whether the first week of a window was asked for from a later day on. */
export const beginsInWeek = ({ slice, asked, replaced }: Window): boolean =>
  slice.grain === 'week' && asked.start > replaced.start;

/**
 * Gives rows in `typed`, a table, that are named after the first day asked for the first day of its week. Where more than that
 * week was asked for and no other came, the name may be that of a whole week of another weekday, and stays.
 */
export async function nameCutWeeks(warehouse: Warehouse, sound: readonly Sound[]): Promise<void> {
  for (const { windowNo, spooled } of sound) {
    const { asked, replaced } = spooled.window;
    if (!beginsInWeek(spooled.window)) continue;
    const isAlone = addDays(replaced.start, DAYS_OF_WEEK) >= asked.end;
    const hasOther = `exists (select 1 from ${staging.typed} where ${WINDOW} = ${windowNo} and week > DATE ${literal(asked.start)})`;
    await warehouse.run(
      `update ${staging.typed} set week = DATE ${literal(replaced.start)}
       where ${WINDOW} = ${windowNo} and week = DATE ${literal(asked.start)} and (${isAlone} or ${hasOther})`,
    );
  }
}

/**
 * The weekday that the weeks of a window begin with by the days it has rows of, where no name says it: that of all but the
 * first, which may be named after a part of it. Undefined where there is no first, no other, or the others disagree.
 */
export function weekdayWithin({ replaced }: Window, rows: ReadonlyMap<Day, number>): WeekStart | undefined {
  const others = [...rows.keys()].filter((start) => start !== replaced.start);
  const [weekday, ...more] = new Set(others.map(weekdayOf));
  return rows.has(replaced.start) && more.length === 0 ? weekday : undefined;
}
