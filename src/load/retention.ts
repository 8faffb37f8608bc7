/** The periods that a slice no longer keeps. */

import type { Day } from '../model/calendar.ts';
import { coverageOf, firstKeptDay } from '../model/period.ts';
import { fingerprintOf } from '../model/slice.ts';
import { weekStartOf } from '../model/ledger.ts';
import { statement } from '../warehouse/sql.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { ledgerBounds } from './load-ledger.ts';
import type { Target } from './target.ts';
import { deleteDays } from './window-sql.ts';

interface Deleted {
  readonly periods: number;
  readonly rows: number;
  /** The first day that is kept. */
  readonly before: Day;
}

/**
 * Deletes every period of a slice's table that begins before the first day its `retain` keeps, rows and ledger in one
 * transaction; null when there is none. The newest stays while nothing that is kept could be loaded: with it the coverage
 * would be forgotten, and what was missed meanwhile. The loads that brought them stay on record. With `keeps`, copies keep the
 * periods of the live table, and the ledger what finality says of them.
 */
export async function deleteOld(
  warehouse: Warehouse,
  { slice, fingerprint, table, state }: Target,
  { planAt, keeps }: { readonly planAt: Date; readonly keeps: boolean },
): Promise<Deleted | null> {
  if (slice.retainDays === null) return null;
  const ledger = await readSliceLedger(warehouse, slice.name);
  const weekStartsOn = weekStartOf(ledger, fingerprintOf(slice));
  const kept = firstKeptDay(slice, planAt, weekStartsOn);
  const stored = [ledger.live, ledger.building].find((known) => known?.fingerprint === fingerprint);
  const starts = [...(stored?.periods.values() ?? [])].map(({ bucket }) => bucket.start).toSorted();
  const [first, newest] = [starts.at(0), starts.at(-1)];
  if (kept === null || first === undefined || newest === undefined) return null;
  const before = newest < kept && coverageOf(slice, [], planAt, weekStartsOn) !== null ? newest : kept;
  const old = starts.filter((start) => start < before);
  if (old.length === 0) return null;
  const days = { start: first, end: before };
  return warehouse.transact(async () => {
    const isKept = keeps && state === 'live';
    if (isKept) await warehouse.run(statement('load/release_periods'), [slice.name, fingerprint, first, before]);
    const rows = await warehouse.run(deleteDays(table, slice.grain, days));
    if (rows > 0) warehouse.reclaimAtClose();
    const bounds = ledgerBounds(slice.grain, days);
    await warehouse.run(statement('load/forget_periods'), [slice.name, fingerprint, ...bounds, null]);
    return { periods: old.length, rows, before };
  });
}
