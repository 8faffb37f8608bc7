/** What becomes of a slice's tables as a whole: a second one takes the live one's place, and old periods are removed. */

import type { Day, WeekStart } from '../model/calendar.ts';
import { coverageOf, firstKeptDay } from '../model/period.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import { type SliceTable, weekStartOf } from '../model/ledger.ts';
import { learnWeekStart, readSliceLedger } from '../warehouse/ledger.ts';
import { recordSchemaChange } from '../warehouse/runs.ts';
import { identifier, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { describeSlice } from './describing.ts';
import { insideDays, ledgerBounds, liveTable, type Target } from './target.ts';

/** Where the rows of a slice are while its second table is built. */
export const buildingTable = (slice: string): string => `ripen_internal.${identifier(`building_${slice}`)}`;

/** The run makes it again at its end; until then it would name columns that the table may not have any more. */
export async function dropProjected(warehouse: Warehouse, { name }: Slice): Promise<void> {
  await warehouse.run(`drop view if exists main.${identifier(`${name}_projected`)}`);
}

/** Records a table that was made. Inside the caller's transaction. */
export async function recordTable(
  warehouse: Warehouse,
  { slice, fingerprint, table, state }: Pick<Target, 'slice' | 'fingerprint' | 'table' | 'state'>,
  weekStartsOn: WeekStart | null,
  runId: string,
): Promise<void> {
  await warehouse.run(statement('load/record_table'), [slice.name, fingerprint, table, state, weekStartsOn]);
  const change = { name: null, change: `${state} table made`, before: null, after: fingerprint };
  await recordSchemaChange(warehouse, { runId, object: slice.name, ...change });
}

/** Drops a table that was being built for a meaning that is no longer wanted, or for weeks that begin on another day again. */
export async function dropBuilding(warehouse: Warehouse, slice: Slice, { fingerprint }: SliceTable): Promise<void> {
  await warehouse.run(`drop table if exists ${buildingTable(slice.name)}`);
  await forget(warehouse, slice.name, fingerprint);
}

/** Learns the weekday that the service begins its weeks with; periods under other weeks, which had no rows, are forgotten. */
export async function turnWeeks(
  warehouse: Warehouse,
  { slice, fingerprint }: Pick<Target, 'slice' | 'fingerprint'>,
  weekStartsOn: WeekStart,
): Promise<void> {
  await warehouse.transact(async () => {
    await warehouse.run(statement('load/forget_periods'), [slice.name, fingerprint, null, null, null]);
    await learnWeekStart(warehouse, { slice: slice.name, fingerprint }, weekStartsOn);
  });
}

/** Forgets what the ledger says of a dropped table; that its totals moved compares with none of another's. */
async function forget(warehouse: Warehouse, slice: string, fingerprint: string): Promise<void> {
  await warehouse.run(statement('load/forget_restatements'), [slice, fingerprint]);
  await warehouse.run(statement('load/forget_periods'), [slice, fingerprint, null, null, null]);
  await warehouse.run(statement('load/forget_released'), [slice, fingerprint, null, null]);
  await warehouse.run(statement('load/forget_table'), [slice, fingerprint]);
}

/** Puts a complete table in the live one's place, in one transaction: no reader ever sees a mixture. */
export async function swapTables(warehouse: Warehouse, target: Target, runId: string): Promise<void> {
  const { slice, fingerprint } = target;
  const { live } = await readSliceLedger(warehouse, slice.name);
  const table = liveTable(slice.name);
  await warehouse.transact(async () => {
    await warehouse.run(`drop table ${table}`);
    await warehouse.run(`create table ${table} as from ${target.table}`);
    await warehouse.run(`drop table ${target.table}`);
    await dropProjected(warehouse, slice);
    if (live !== null) await forget(warehouse, slice.name, live.fingerprint);
    await warehouse.run(statement('load/record_swap'), [slice.name, fingerprint, table]);
    await describeSlice(warehouse, { ...target, state: 'live', table });
    const change = { name: null, change: 'table swapped', before: live?.fingerprint ?? null, after: fingerprint };
    await recordSchemaChange(warehouse, { runId, object: slice.name, ...change });
  });
}

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
  const periods = starts.filter((start) => start < before).length;
  if (periods === 0) return null;
  const days = { start: first, end: before };
  return warehouse.transact(async () => {
    const isKept = keeps && state === 'live';
    if (isKept) await warehouse.run(statement('load/release_periods'), [slice.name, fingerprint, first, before]);
    const rows = await warehouse.run(`delete from ${table} where ${insideDays(slice.grain, days)}`);
    if (rows > 0) warehouse.reclaimAtClose();
    const bounds = ledgerBounds(slice.grain, days);
    await warehouse.run(statement('load/forget_periods'), [slice.name, fingerprint, ...bounds, null]);
    return { periods, rows, before };
  });
}
