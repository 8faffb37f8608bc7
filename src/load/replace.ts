/** Replaces windows: their rows, restatements and ledger entries, in one transaction. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import { transactRows } from '../warehouse/opening.ts';
import { asScript, count, dayShape, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { describeSlice } from '../tables/describing.ts';
import {
  joined,
  type Load,
  recordLoads,
  recordRejects,
  type Replaceable,
  storedRows,
  type StoredCounts,
} from './load-ledger.ts';
import { columnsFor } from './read-answers.ts';
import { alterTypes } from '../tables/slice-table.ts';
import { REJECTED, type Staged, stagedRows } from './staged-sql.ts';
import { deleteRows, type Inserted, insertRows, totalStaged, totalTable } from './table-sql.ts';
import { additiveOf, insideDays, tableColumns, type Target, valueType } from '../tables/target.ts';

/** Windows to be replaced together. */
interface Replacement {
  /** Disjoint. */
  readonly loads: readonly Replaceable[];
  readonly staged: Staged;
  /** Whether what is inserted is what was staged: whole windows, no row of them twice or left out. Any other is replaced alone. */
  readonly isPlain: boolean;
  readonly runId: string;
}

interface Replaced {
  /** What became of each, in their order. */
  readonly windows: readonly { readonly rows: number; readonly restatedPeriods: number }[];
  /** With columns as wide as the windows needed them. */
  readonly target: Target;
}

/** Makes the rows of windows visible, all or none. */
export async function replaceWindows(
  warehouse: Warehouse,
  target: Target,
  replacement: Replacement,
): Promise<Replaced> {
  const { staged, runId } = replacement;
  const loads = await numbered(warehouse, replacement.loads);
  const ranges = joined(loads.map(({ window }) => window.replaced));
  const rows = loads.reduce((sum, load) => sum + load.rows, 0);
  // A cube stores a row for each value: only its table tells how many there are.
  const isStaged = replacement.isPlain && target.columns.cube === undefined;
  return transactRows(warehouse, rows, async () => {
    // Before any row is touched: DuckDB commits no table that is altered after it was written to.
    const wider = await widenAsNeeded(warehouse, target, replacement);
    // Nothing of a window that was never loaded can be restated.
    const isKnown = loads.some(({ known }) => known.size > 0);
    if (loads.some(({ known }) => [...known.values()].some((before) => before.rows > 0))) warehouse.reclaimAtClose();
    const windowNos = loads.map(({ judged }) => judged.sound.windowNo);
    const inserted = await warehouse.run(
      asScript([
        ...(isKnown ? [totalTable('before', wider, ranges)] : []),
        ...ranges.map((days) => deleteRows(wider, days)),
        ...(isKnown && isStaged ? [totalStaged(staged.columns, windowNos)] : []),
        ...(rows > 0 ? [insertRows(wider, insertedRows(wider, loads, replacement))] : []),
      ]),
    );
    const isCounted = target.columns.cube === undefined && loads.every(({ judged }) => judged.copies === 0);
    if (rows > 0 && inserted !== rows && isCounted) {
      throw new RangeError(`The windows got ${inserted} rows where their answers had ${rows}.`);
    }
    if (!isStaged) await warehouse.run(totalTable('after', wider, ranges));
    const restated = isKnown ? await restate(warehouse, wider, loads) : new Map<string, Set<string>>();
    const rejects = loads.flatMap((load) => load.rejects.recorded);
    await recordRejects(warehouse, rejects, runId);
    const counted = isStaged ? null : await countStored(warehouse);
    await warehouse.run(asScript(recordLoads(wider, loads, counted, runId)));
    const windows = loads.map((load) => {
      return { rows: storedRows(load, counted), restatedPeriods: restated.get(load.loadId)?.size ?? 0 };
    });
    return { windows, target: wider };
  });
}

const loadIdRow = z.object({ load_id: z.string() });

/** Draws the ids of loads: before the transaction, so that all it does to the rows is one script. */
async function numbered(warehouse: Warehouse, loads: readonly Replaceable[]): Promise<Load[]> {
  const sql = "select nextval('ripen_internal.load_ids')::varchar as load_id from range($1::bigint)";
  const ids = await warehouse.rows(sql, [loads.length], loadIdRow);
  return loads.map((load, at) => ({ ...load, loadId: ids[at]?.load_id ?? '' }));
}

/** What is inserted for all windows. */
function insertedRows(
  { slice, columns }: Target,
  loads: readonly Load[],
  { staged, isPlain }: Pick<Replacement, 'staged' | 'isPlain'>,
): Inserted {
  const filled = loads.filter(({ rows }) => rows > 0);
  const idOf = new Map(filled.map(({ judged, loadId }) => [judged.sound.windowNo, loadId]));
  const loadIds = Array.from({ length: Math.max(...idOf.keys()) + 1 }, (_, windowNo) => idOf.get(windowNo) ?? null);
  const parts = staged.parts.filter(({ windowNo }) => idOf.has(windowNo));
  const [alone] = isPlain ? [] : loads;
  return {
    rows: stagedRows(columns, parts, staged.replacing),
    loadIds,
    where: alone === undefined ? null : `${REJECTED} is null and ${insideDays(slice.grain, alone.window.replaced)}`,
    collapse: filled.some(({ judged }) => judged.copies > 0),
    isOrdered: filled.every(({ judged }) => judged.isOrdered),
  };
}

const restatedRow = z.object({ load_id: z.string(), period: z.string() });

/** Records the totals that moved; by load, in which periods. */
async function restate(
  warehouse: Warehouse,
  { slice, fingerprint, columns }: Target,
  loads: readonly Load[],
): Promise<Map<string, Set<string>>> {
  const except = new Set(loads.flatMap(({ judged }) => judged.notAdditive));
  const { cube } = columns;
  const metrics = additiveOf(columns).flatMap(({ id, type }) =>
    except.has(id) ? [] : [{ metric: id, is_double: (cube?.value ?? type).kind === 'DOUBLE' }],
  );
  const items = loads.map(({ loadId, fetchedAt, window: { replaced } }) => {
    return { load_id: loadId, seen_at: timestamp(fetchedAt), start_day: replaced.start, end_day: replaced.end };
  });
  const of = [slice.name, fingerprint, JSON.stringify(items), JSON.stringify(metrics)];
  const restated = new Map<string, Set<string>>();
  if (metrics.length === 0) return restated;
  for (const moved of await warehouse.rows(statement('load/record_restatements'), of, restatedRow)) {
    restated.set(moved.load_id, (restated.get(moved.load_id) ?? new Set()).add(moved.period));
  }
  return restated;
}

const storedRow = z.object({ start_day: dayShape, age: z.string(), rows: count, non_zero: count });

/** The rows each period has now, from the totals taken after it was replaced; and of a cube its values by age. */
async function countStored(warehouse: Warehouse): Promise<StoredCounts> {
  const ages = new Map<string, Map<Day, number>>();
  const rows = new Map<Day, number>();
  for (const found of await warehouse.rows(statement('load/stored_counts'), [], storedRow)) {
    const { start_day: start, age } = found;
    rows.set(start, (rows.get(start) ?? 0) + found.rows);
    ages.set(age, (ages.get(age) ?? new Map<Day, number>()).set(start, found.non_zero));
  }
  return { rows, ages };
}

/** Widens the table's columns that do not hold every value of the windows exactly. */
async function widenAsNeeded(
  warehouse: Warehouse,
  target: Target,
  { loads, staged, runId }: Replacement,
): Promise<Target> {
  const numbers = new Set(loads.map(({ judged }) => judged.sound.windowNo));
  const parts = staged.parts.filter(({ windowNo }) => numbers.has(windowNo));
  const columns = columnsFor(target.columns, parts) ?? target.columns;
  const { cube, metrics } = columns;
  const value = cube === undefined ? {} : { cube: { ...cube, value: valueType(metrics, cube.value) } };
  const wider = { ...target, columns: { ...columns, ...value } };
  const existing = new Map(tableColumns(target.columns).map(({ name, type }) => [name, type]));
  const isAltered = await alterTypes(warehouse, wider, existing, runId);
  // The target of a cube's load has the metrics of the load alone.
  if (isAltered && cube === undefined) await describeSlice(warehouse, wider);
  return wider;
}
