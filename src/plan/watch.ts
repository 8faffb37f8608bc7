/** Which periods are due because control totals moved. Pure. */

import { type Day, daysBetween, MS_PER_DAY } from '../model/calendar.ts';
import type { ControlEvidence } from '../model/control.ts';
import { rowsPerDay, storedAt, type SliceTable } from '../model/ledger.ts';
import { sumOf } from '../model/measure.ts';
import type { Period } from '../model/period.ts';
import type { DueReason } from '../model/window.ts';

/** A final period is loaded again because of a restless metric once in so many days. */
const RESTLESS_DAYS = 7;

/** In the order in which they count, if several totals of an age of a period moved. */
const movements = ['maturing', 'final', 'restless'] as const;

/** By first day of the period, and age. */
type Moved = ReadonlyMap<Day, ReadonlyMap<string, (typeof movements)[number]>>;

export function movedTotals(
  control: ControlEvidence | null,
  table: SliceTable | null,
  planAt: Date,
): Moved {
  const moved = new Map<Day, Map<string, (typeof movements)[number]>>();
  for (const { age, start, metric, isFinal } of control?.moved ?? []) {
    const isRestless = control?.restless.has(metric) === true;
    const fetchedAt = storedAt(table, age, start)?.fetchedAt ?? planAt;
    const isRested = planAt.getTime() - fetchedAt.getTime() >= RESTLESS_DAYS * MS_PER_DAY;
    if (isRestless && !(isFinal && isRested)) continue;
    const movement = isRestless ? 'restless' : isFinal ? 'final' : 'maturing';
    const ages = moved.get(start) ?? new Map<string, typeof movement>();
    const earlier = ages.get(age) ?? movement;
    ages.set(age, movements.find((each) => each === movement || each === earlier) ?? movement);
    moved.set(start, ages);
  }
  return moved;
}

export function failuresSinceLoad(
  { bucket, requested }: Period,
  control: ControlEvidence | null,
  table: SliceTable | null,
): ControlEvidence['failed'] {
  const loadedMs = table?.periods.get(bucket.start)?.fetchedAt.getTime() ?? 0;
  return (control?.failed ?? []).filter(
    ({ first, last, at }) =>
      first <= requested.start && requested.start <= last && at.getTime() > loadedMs,
  );
}

/**
 * Adds periods whose final totals moved, at least one, with at most as many rows as the rest of the plan, of restless metrics
 * a seventh of that. The newest come first, those that failed since their load last. Returns how many are left.
 */
export function addFinals(
  due: ReadonlyMap<Period, Map<string, DueReason>>,
  moved: Moved,
  control: ControlEvidence | null,
  table: SliceTable | null,
): number {
  const perDay = rowsPerDay(table) ?? 0;
  const rowsOf = ({ bucket, requested }: Period, ages: Iterable<string>): number => {
    const average = perDay * daysBetween(requested.start, requested.end);
    return sumOf([...ages].map((age) => storedAt(table, age, bucket.start)?.rows ?? average));
  };
  const rest = sumOf([...due].map(([period, ages]) => rowsOf(period, ages.keys())));
  const candidates = [...due].toReversed().flatMap(([period, ages]) => {
    const movedAges = moved.get(period.bucket.start);
    if (movedAges === undefined) return [];
    const failures = failuresSinceLoad(period, control, table);
    const failedMs = Math.max(0, ...failures.map(({ at }) => at.getTime()));
    return [{ period, ages, movedAges, failedMs }];
  });
  candidates.sort((one, other) => one.failedMs - other.failedMs);
  let waiting = 0;
  for (const [movement, allowed] of [
    ['final', rest],
    ['restless', rest / RESTLESS_DAYS],
  ] as const) {
    let rows = 0;
    for (const { period, ages, movedAges } of candidates) {
      const added = [...movedAges.keys()].filter(
        (age) => movedAges.get(age) === movement && !ages.has(age),
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
