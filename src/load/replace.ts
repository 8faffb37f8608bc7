/** Replaces windows: their rows, restatements and ledger entries, in one transaction. */

import * as z from 'zod';

import type { Day, DayInterval } from '../model/calendar.ts';
import { describeTables } from '../warehouse/tables/describing.ts';
import { alterTypes } from '../warehouse/tables/slice-table.ts';
import { tableColumns, type Target, valueType } from '../warehouse/tables/target.ts';
import { transactRows } from '../warehouse/opening.ts';
import { asScript, count, dayShape, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Answered, isBatched } from './answered.ts';
import type { Replacement } from './decide.ts';
import { joined, type Load, LoadLedger, rowsIn, type StoredCounts } from './load-ledger.ts';
import type { Loaded } from './outcome.ts';
import { columnsFor } from './read-pages.ts';
import { type Staged, typedRows } from './staged-sql.ts';
import {
  countKept,
  deleteRows,
  insertRows,
  totalStaged,
  totalTable,
  totalTables,
} from './table-sql.ts';

/** The table that a run loads into. */
export interface Destination {
  readonly warehouse: Warehouse;
  readonly target: Target;
  readonly runId: string;
  /** The ledger of a transaction in which other slices are loaded too, whose entries it writes at its end. */
  readonly ledger?: LoadLedger;
}

/** Replaces the rows of disjoint windows but those of `lost`, all or none. Returns their results, and a target with columns as wide as needed. */
export async function replaceWindows(
  replacements: readonly Replacement[],
  staged: Staged,
  { warehouse, target, runId, ledger: shared }: Destination,
  lost: string | null,
): Promise<{ readonly loaded: readonly Loaded[]; readonly target: Target }> {
  const loads = await numbered(warehouse, replacements);
  const ranges = joined(loads.map(({ window }) => window.replaced));
  const rows = loads.reduce(
    (sum, { window, answered }) => sum + rowsIn(window, answered.periodRows),
    0,
  );
  const hasCopies = loads.some(({ answered }) => answered.copies.some((copies) => copies > 0));
  // A cube stores a row per value, batches are joined, and only one of identical rows is kept: the table shows how many rows.
  const isStaged = target.columns.value === undefined && !hasCopies && !staged.isBatched;
  const isKnown = loads.some(isComparable);
  const ledger = shared ?? new LoadLedger({ warehouse, runId });
  return transactRows(warehouse, rows, async () => {
    // Before any row is written: DuckDB does not commit a table that was altered after a write.
    const wider = await widenAsNeeded(target, loads, { warehouse, runId });
    if (loads.some(({ stored }) => [...stored.values()].some((before) => before.rows > 0)))
      warehouse.reclaimAtClose();
    const isOrdered = loads.every(({ answered }) => answered.isOrdered);
    const inserted = await warehouse.run(
      asScript([
        ...(ledger.isEmpty ? totalTables : []),
        ...(isKnown ? [totalTable('before', wider, ranges, lost)] : []),
        ...ranges.map((days) => deleteRows(wider, days, lost)),
        ...(isKnown && isStaged
          ? [
              totalStaged(
                { slice: target.slice, columns: staged.columns },
                loads.map(({ answered }) => answered.windowNo),
              ),
            ]
          : []),
        ...(rows > 0
          ? [
              insertRows(wider, loads, {
                ...insertedOf(wider, loads, staged),
                hasCopies,
                isOrdered,
              }),
            ]
          : []),
        ...(isStaged ? [] : [totalTable('after', wider, ranges, lost)]),
      ]),
    );
    if (isStaged && rows > 0 && inserted !== rows) {
      throw new RangeError(`The windows got ${inserted} rows where their answers had ${rows}.`);
    }
    const loadedCounts = isStaged
      ? {
          rows: new Map(loads.flatMap(({ answered }) => [...answered.periodRows])),
          ages: new Map(),
        }
      : await countStored(warehouse, target.slice.name);
    const kept = lost === null ? new Map() : await countLost(wider, ranges, lost, warehouse);
    const counted = { ...loadedCounts, kept };
    ledger.add({ target: wider, loads, counted, isKnown });
    const loaded = loads.map((load): Loaded => {
      const { window, answered, empty, warnings } = load;
      return {
        kind: 'loaded',
        window,
        fetched:
          window === answered.spooled.window
            ? fetchedRows(answered)
            : rowsIn(window, answered.periodRows),
        rows: rowsIn(window, counted.rows),
        rejected: load.rejects.days.length,
        restated: ledger.restatedBy(load.loadId),
        empty,
        warnings,
      };
    });
    if (shared === undefined) await ledger.write();
    return { loaded, target: wider };
  });
}

/** Whether totals may have moved: the window was loaded before, and without a date dimension over the same days. */
const isComparable = ({ stored, window: { slice, replaced } }: Replacement): boolean =>
  [...stored.values()].some(
    ({ bucket: { start, end } }) =>
      slice.grain !== null || (start === replaced.start && end === replaced.end),
  );

/** A query for the rows of windows in the table's types, and which of its rows are left out. */
function insertedOf({ columns }: Target, loads: readonly Replacement[], staged: Staged) {
  const windowNos = new Set(loads.map(({ answered }) => answered.windowNo));
  const pages = staged.pages.filter(({ windowNo }) => windowNos.has(windowNo));
  return {
    rows: typedRows({ ...staged, columns, pages }),
    isWhole: loads.every(({ window, answered }) => window === answered.spooled.window),
    hasRejected: pages.some(({ hasRejected }) => hasRejected),
  };
}

/** The number of rows received; rows of batches count after they were joined. */
function fetchedRows(answered: Answered): number {
  const { answers, periodRows, rejects } = answered;
  if (!isBatched(answered)) return answers.reduce((sum, { rows }) => sum + rows, 0);
  return [...periodRows.values()].reduce((sum, rows) => sum + rows, rejects?.days.length ?? 0);
}

const loadIdRow = z.object({ load_id: z.string() });

/** Draws the ids of loads before the transaction, so that one script there does all the work on rows. */
async function numbered(warehouse: Warehouse, loads: readonly Replacement[]): Promise<Load[]> {
  const sql =
    "select nextval('ripen_internal.load_ids')::varchar as load_id from range($1::bigint)";
  const ids = await warehouse.rows(sql, [loads.length], loadIdRow);
  return loads.map((load, at) => ({ ...load, loadId: ids[at]?.load_id ?? '' }));
}

const storedRow = z.object({ start_day: dayShape, age: z.string(), rows: count, non_zero: count });

/** The rows of each period, from the totals taken after it was replaced; for a cube also its non-zero values by age. */
async function countStored(
  warehouse: Warehouse,
  slice: string,
): Promise<Omit<StoredCounts, 'kept'>> {
  const ages = new Map<string, Map<Day, number>>();
  const rows = new Map<Day, number>();
  for (const found of await warehouse.rows(statement('load/stored_counts'), [slice], storedRow)) {
    const { start_day: start, age } = found;
    rows.set(start, (rows.get(start) ?? 0) + found.rows);
    ages.set(age, (ages.get(age) ?? new Map<Day, number>()).set(start, found.non_zero));
  }
  return { rows, ages };
}

/** The rows of lost apps that stay in some days. */
async function countLost(
  target: Target,
  ranges: readonly DayInterval[],
  lost: string,
  warehouse: Warehouse,
): Promise<StoredCounts['kept']> {
  const kept = new Map<string, Map<Day, number>>();
  const sql = ranges.map((days) => countKept(target, days, lost)).join('\nunion all\n');
  for (const { start_day: start, age, rows } of await warehouse.rows(sql, [], keptRow))
    kept.set(age, (kept.get(age) ?? new Map<Day, number>()).set(start, rows));
  return kept;
}

const keptRow = storedRow.omit({ non_zero: true });

/** Widens the columns of the table that cannot hold every value of the windows exactly. */
async function widenAsNeeded(
  target: Target,
  loads: readonly Load[],
  { warehouse, runId }: Pick<Destination, 'warehouse' | 'runId'>,
): Promise<Target> {
  const pages = loads.flatMap(({ answered }) => answered.pages);
  const columns = columnsFor(target.columns, pages) ?? target.columns;
  const { metrics } = columns;
  const value = columns.value && valueType(metrics, columns.value);
  const wider = { ...target, columns: value === undefined ? columns : { ...columns, value } };
  const existing = new Map(tableColumns(target.columns).map(({ name, type }) => [name, type]));
  const isAltered = await alterTypes(warehouse, wider, existing, runId);
  // The target of a load into a cube has only the metrics of that load.
  if (isAltered && value === undefined) await describeTables(warehouse, [wider]);
  return wider;
}
