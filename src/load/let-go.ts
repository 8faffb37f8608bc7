/** Letting go of the periods that a slice is configured to keep no longer. */

import { firstKeptDay } from '../model/coverage.ts';
import type { Day } from '../model/calendar.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import { weekStartOf } from '../model/ledger.ts';
import { readSliceLedger } from '../warehouse/ledger.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { ledgerBounds } from './known-periods.ts';
import { deleteDays } from './replacing-sql.ts';
import type { Target } from './target.ts';
import { statement } from '../warehouse/statements.ts';

export interface LetGo {
  readonly periods: number;
  readonly rows: number;
  /** The first day that is kept. */
  readonly before: Day;
}

/**
 * Deletes every period of a slice's table that begins before the first day its `retain` keeps, rows and ledger in one
 * transaction; null when there is none. The loads that brought them stay on record.
 */
export async function letGo(
  warehouse: Warehouse,
  { slice, fingerprint, table }: Target,
  planAt: Date,
): Promise<LetGo | null> {
  const ledger = await readSliceLedger(warehouse, slice.name);
  const before = firstKeptDay(slice, planAt, weekStartOf(ledger, fingerprintOf(slice)));
  if (before === null) return null;
  const held = [ledger.live, ledger.building].find((known) => known?.fingerprint === fingerprint);
  const old = [...(held?.periods.values() ?? [])].map(({ bucket }) => bucket.start).filter((start) => start < before);
  const [first] = old.toSorted();
  if (first === undefined) return null;
  const days = { start: first, end: before };
  return warehouse.transact(async () => {
    const rows = await warehouse.run(deleteDays(table, slice.grain, days));
    if (rows > 0) warehouse.reclaimAtClose();
    const bounds = ledgerBounds(slice.grain, days);
    await warehouse.run(statement('load/forget_periods'), [slice.name, fingerprint, ...bounds]);
    return { periods: old.length, rows, before };
  });
}
