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

/** A total that moves every night costs one fetch in so many days. */
const RESTLESS_MS = 7 * MS_PER_DAY;

/** Returns the periods, by age, whose totals moved since they were loaded; of final cells, a restless metric counts once a week. */
export function movedCells(
  control: ControlEvidence | null,
  table: SliceTable | null,
  planAt: Date,
): Map<string, 'maturing' | 'final'> {
  const cells = new Map<string, 'maturing' | 'final'>();
  for (const { age, start, metric, isFinal } of control?.moved ?? []) {
    const cell = `${age} ${start}`;
    if (!isFinal) cells.set(cell, 'maturing');
    const fetchedAt = storedAt(table, age, start)?.fetchedAt ?? planAt;
    const isRested =
      control?.restless.has(metric) !== true ||
      planAt.getTime() - fetchedAt.getTime() >= RESTLESS_MS;
    if (isFinal && isRested && !cells.has(cell)) cells.set(cell, 'final');
  }
  return cells;
}

/**
 * Adds periods whose final totals moved, newest first, as long as they have at most as many rows as the rest of the plan: a
 * service that changes its history every night must not be asked for all of it every night. Returns how many are left.
 */
export function addFinals(
  due: ReadonlyMap<Period, Map<string, DueReason>>,
  moved: ReadonlyMap<string, 'maturing' | 'final'>,
  allAges: readonly string[],
  table: SliceTable | null,
): number {
  const perDay = rowsPerDay(table) ?? 0;
  const rowsOf = ({ bucket, requested }: Period, ages: Iterable<string>): number =>
    [...ages].reduce((sum, age) => {
      const average = perDay * daysBetween(requested.start, requested.end);
      return sum + (storedAt(table, age, bucket.start)?.rows ?? average);
    }, 0);
  const allowed = [...due].reduce((sum, [period, ages]) => sum + rowsOf(period, ages.keys()), 0);
  let [rows, added, waiting] = [0, 0, 0];
  for (const [period, ages] of [...due].toReversed()) {
    const finals = allAges.filter(
      (age) => moved.get(cellOf(age, period)) === 'final' && !ages.has(age),
    );
    if (finals.length === 0) continue;
    rows += rowsOf(period, finals);
    if (added > 0 && rows > allowed) {
      waiting += 1;
      continue;
    }
    added += 1;
    for (const age of finals) ages.set(age, 'moved');
  }
  return waiting;
}
