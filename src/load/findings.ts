/** What the checks find of a staged batch, by window. */

import type { Failure } from '../errors.ts';
import { weekdayOf, type Day, type WeekStart } from '../model/calendar.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  checkDays,
  checkKeys,
  checkLabels,
  outOfOrder,
  periodRowsOf,
  sumsOf,
  weekStartsOf,
  type PartSums,
} from './check.ts';
import type { Sound } from './judge-answers.ts';
import { totalTyped } from './replacing-sql.ts';
import type { Rejects, Staged } from './stage.ts';
import type { Target } from './target.ts';

/** What the checks found of one window. */
export interface Found {
  readonly weekStartsOn: WeekStart | undefined;
  readonly failure: Failure | undefined;
  readonly rejects: Rejects | undefined;
  /** Surplus copies of identical rows. */
  readonly copies: number;
  readonly sums: PartSums;
  readonly periodRows: ReadonlyMap<Day, number>;
  readonly isOrdered: boolean;
}

/** Runs every check over a staged batch at once, and fills `totals`. */
export async function findingsOf(
  sound: readonly Sound[],
  target: Target,
  staged: Staged,
  warehouse: Warehouse,
): Promise<{ readonly of: (each: Sound) => Found }> {
  const { rejects, seen } = staged;
  const { columns, slice } = target;
  const windows = new Map(sound.map(({ windowNo, spooled }) => [windowNo, spooled.window]));
  const [first] = windows.values();
  if (first === undefined) throw new RangeError('There was no window to check.');
  await warehouse.run(totalTyped(columns, slice.grain, first.replaced.start));
  // The column reader takes no label that is no date.
  const badLabels = seen === null ? await checkLabels(warehouse, target, windows) : new Map<number, Failure>();
  const badDays = await checkDays(warehouse, target, windows);
  const { conflicts, copies } = await checkKeys(warehouse, target, windows);
  const sums = await sumsOf(warehouse, target, windows, new Set(copies.keys()));
  const periodRows = await periodRowsOf(warehouse, target, windows);
  const weekStarts = await weekStartsIn(sound, target, staged, warehouse);
  const unordered = seen?.outOfOrder ?? (await outOfOrder(warehouse, target));
  return {
    of: ({ windowNo }) => ({
      weekStartsOn: weekStarts.get(windowNo),
      failure:
        rejects.get(windowNo)?.failure ?? badDays.get(windowNo) ?? badLabels.get(windowNo) ?? conflicts.get(windowNo),
      rejects: rejects.get(windowNo),
      copies: copies.get(windowNo) ?? 0,
      sums: sums.get(windowNo) ?? [],
      periodRows: periodRows.get(windowNo) ?? new Map<Day, number>(),
      isOrdered: !unordered.has(windowNo),
    }),
  };
}

/** The windows whose labels show that the service begins weeks on another day than was assumed. */
async function weekStartsIn(
  sound: readonly Sound[],
  { slice }: Target,
  { seen }: Staged,
  warehouse: Warehouse,
): Promise<ReadonlyMap<number, WeekStart>> {
  if (slice.grain !== 'week') return new Map();
  const found = new Map(seen?.weekStarts ?? (await weekStartsOf(warehouse)));
  for (const { windowNo, spooled } of sound) {
    const assumed = weekdayOf(spooled.window.replaced.start);
    if (found.get(windowNo) === assumed) found.delete(windowNo);
  }
  return found;
}
