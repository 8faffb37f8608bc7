/**
 * The watch over loaded totals: which periods are due because the service states other totals now, and how many of them a night
 * may ask for. Pure.
 */

import { daysBetween, MS_PER_DAY } from '../model/calendar.ts';
import type { ControlEvidence } from '../model/control.ts';
import { rowsPerDay, storedAt, type SliceTable } from '../model/ledger.ts';
import type { Period } from '../model/period.ts';
import type { DueReason } from '../model/window.ts';

/** Identifies the values of one age in a period. */
export const cellOf = (age: string, { bucket }: Period): string => `${age} ${bucket.start}`;

/** A final period is loaded again because of a restless metric once in so many days. */
const RESTLESS_DAYS = 7;

/** In the order in which they count, if several totals of a cell of period and age moved. */
type Movement = 'maturing' | 'final' | 'restless';

/**
 * Returns how the totals of periods moved since they were loaded, by age. A restless metric moves every night, so that only its
 * final totals count, once a week: the others are loaded by the schedule.
 */
export function movedCells(
  control: ControlEvidence | null,
  table: SliceTable | null,
  planAt: Date,
): Map<string, Movement> {
  const cells = new Map<string, Movement>();
  const order: readonly Movement[] = ['maturing', 'final', 'restless'];
  for (const { age, start, metric, isFinal } of control?.moved ?? []) {
    const cell = `${age} ${start}`;
    const isRestless = control?.restless.has(metric) === true;
    const fetchedAt = storedAt(table, age, start)?.fetchedAt ?? planAt;
    const isRested = planAt.getTime() - fetchedAt.getTime() >= RESTLESS_DAYS * MS_PER_DAY;
    if (isRestless && !(isFinal && isRested)) continue;
    const movement = isRestless ? 'restless' : isFinal ? 'final' : 'maturing';
    const earlier = cells.get(cell);
    if (earlier === undefined || order.indexOf(movement) < order.indexOf(earlier))
      cells.set(cell, movement);
  }
  return cells;
}

/**
 * Adds periods whose final totals moved, newest first, as long as they have at most as many rows as the rest of the plan, of
 * restless metrics a seventh of that: a service that changes its history every night must not be asked for all of it every
 * night. At least one is added. Returns how many periods are left.
 */
export function addFinals(
  due: ReadonlyMap<Period, Map<string, DueReason>>,
  moved: ReadonlyMap<string, Movement>,
  allAges: readonly string[],
  table: SliceTable | null,
): number {
  const perDay = rowsPerDay(table) ?? 0;
  const rowsOf = ({ bucket, requested }: Period, ages: Iterable<string>): number =>
    [...ages].reduce((sum, age) => {
      const average = perDay * daysBetween(requested.start, requested.end);
      return sum + (storedAt(table, age, bucket.start)?.rows ?? average);
    }, 0);
  const rest = [...due].reduce((sum, [period, ages]) => sum + rowsOf(period, ages.keys()), 0);
  let waiting = 0;
  for (const [movement, allowed] of [
    ['final', rest],
    ['restless', rest / RESTLESS_DAYS],
  ] as const) {
    let rows = 0;
    for (const [period, ages] of [...due].toReversed()) {
      const added = allAges.filter(
        (age) => moved.get(cellOf(age, period)) === movement && !ages.has(age),
      );
      if (added.length === 0) continue;
      const more = rowsOf(period, added);
      if (rows > 0 && rows + more > allowed) waiting += movement === 'final' ? 1 : 0;
      else {
        rows += Math.max(more, 1);
        for (const age of added) ages.set(age, 'moved');
      }
    }
  }
  return waiting;
}
