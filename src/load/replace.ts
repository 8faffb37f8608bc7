/** Replaces windows: their rows, restatements and ledger entries, in one transaction. */

import * as z from 'zod';

import type { Day, DayInterval } from '../model/calendar.ts';
import { formatColumnType } from '../model/column-type.ts';
import { transactRows } from '../warehouse/opening.ts';
import { asScript, count, dayShape, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { alterColumns, widenValue } from './alter-table.ts';
import {
  joined,
  type Load,
  type Proven,
  recordLoads,
  recordPeriods,
  recordRejects,
  storedRows,
  type StoredCounts,
} from './load-ledger.ts';
import { columnsFor } from './read-answers.ts';
import { countAges, deleteCells, insertCells, totalCells } from './cube-sql.ts';
import { cubeOf, type Target, valueType } from './target.ts';
import { recordRestatements, totalAfter, totalPeriods } from './sums-sql.ts';
import { REJECTED, type Replacing, type StagedPart, stagedRows } from './staged-sql.ts';
import { deleteDays, type Inserted, insertRows, insideDays } from './window-sql.ts';

/** Windows to be replaced together. */
interface Replacement {
  /** Disjoint. */
  readonly windows: readonly Proven[];
  readonly staged: { readonly parts: readonly StagedPart[]; readonly replacing: Replacing };
  /**
   * Whether `totals` has what is inserted: whole windows, in the types of the table, no row of them twice or changed since. What
   * is not so is replaced alone, and totalled from the table. So are the windows of a cube, which stores a row for each value, but
   * together.
   */
  readonly isPlain: boolean;
  readonly runId: string;
}

/** What became of one of the windows. */
interface ReplacedWindow {
  readonly rows: number;
  readonly restatedPeriods: number;
}

interface Replaced {
  /** In their order. */
  readonly windows: readonly ReplacedWindow[];
  /** With columns as wide as the windows needed them. */
  readonly target: Target;
}

const loadIdRow = z.object({ load_id: z.string() });
const restatedRow = z.object({ load_id: z.string(), period: z.string() });
const periodRowsRow = z.object({ start_day: dayShape, rows: count });
const ageRow = periodRowsRow.extend({ age: z.string(), non_zero: count });

/** Makes the rows of windows visible, all or none. */
export async function replaceWindows(
  warehouse: Warehouse,
  target: Target,
  replacement: Replacement,
): Promise<Replaced> {
  const { windows, isPlain, runId } = replacement;
  const { slice } = target;
  const ranges = joined(windows.map(({ spooled }) => spooled.window.replaced));
  const rows = windows.reduce((sum, load) => sum + load.rows, 0);
  const loads = await numbered(warehouse, windows);
  return transactRows(warehouse, rows, async () => {
    // Before any row is touched: DuckDB commits no table that is altered after it was written to.
    const wider = await widenAsNeeded(warehouse, target, replacement);
    // Nothing of a window that was never loaded can be restated.
    const isKnown = windows.some(({ known }) => known.size > 0);
    if (windows.some(({ known }) => [...known.values()].some((before) => before.rows > 0))) warehouse.reclaimAtClose();
    const { total, remove, insert } = statementsOn(wider);
    const inserted = await warehouse.run(
      asScript([
        ...(isKnown ? [total('before', ranges)] : []),
        ...ranges.map(remove),
        ...(isKnown && isPlain
          ? [
              totalAfter(
                wider.columns,
                windows.map(({ windowNo }) => windowNo),
              ),
            ]
          : []),
        ...(rows > 0 ? [insert(insertedRows(wider, loads, replacement))] : []),
      ]),
    );
    const isCounted = slice.cube === undefined && !windows.some(({ collapse }) => collapse);
    if (rows > 0 && inserted !== rows && isCounted) {
      throw new RangeError(`The windows got ${inserted} rows where their answers had ${rows}.`);
    }
    if (!isPlain) await warehouse.run(total('after', ranges));
    const restated = isKnown ? await restate(warehouse, wider, loads) : new Map<string, number>();
    await recordRejects(
      warehouse,
      windows.flatMap(({ rejects }) => rejects.recorded),
      runId,
    );
    const counted = isPlain ? null : await countsAfter(warehouse, wider);
    const records = [recordLoads(wider, loads, counted, runId), ...recordPeriods(wider, loads, counted)];
    await warehouse.run(asScript(records));
    return {
      windows: loads.map((load) => ({
        rows: storedRows(load, counted),
        restatedPeriods: restated.get(load.loadId) ?? 0,
      })),
      target: wider,
    };
  });
}

/** How the table of a slice is totalled, cleared and filled: by rows, or in a cube by values. */
function statementsOn({ slice: { grain }, table, columns }: Target) {
  const cube = cubeOf(columns);
  return {
    total: (name: 'before' | 'after', ranges: readonly DayInterval[]) =>
      cube === null
        ? totalPeriods(name, { table, columns }, grain, ranges)
        : totalCells(name, { table, columns: cube }, grain, ranges),
    remove: (days: DayInterval) =>
      cube === null ? deleteDays(table, grain, days) : deleteCells(table, cube, grain, days),
    insert: (from: Inserted) =>
      cube === null ? insertRows(table, columns, grain, from) : insertCells(table, cube, grain, from),
  };
}

/** Draws the ids of loads: before the transaction, so that all it does to the rows is one script. */
async function numbered(warehouse: Warehouse, windows: readonly Proven[]): Promise<Load[]> {
  const ids = await warehouse.rows(
    "select nextval('ripen_internal.load_ids')::varchar as load_id from range($1::bigint)",
    [windows.length],
    loadIdRow,
  );
  return windows.map((proven, at) => ({ ...proven, loadId: ids[at]?.load_id ?? '' }));
}

/** What is inserted for all windows. */
function insertedRows(
  { slice, columns }: Target,
  loads: readonly Load[],
  { staged, isPlain }: Pick<Replacement, 'staged' | 'isPlain'>,
): Inserted {
  const filled = loads.filter(({ rows }) => rows > 0);
  const loadIds = Array.from(
    { length: Math.max(...filled.map(({ windowNo }) => windowNo)) + 1 },
    (_, windowNo) => filled.find((load) => load.windowNo === windowNo)?.loadId ?? null,
  );
  const parts = staged.parts.filter(({ windowNo }) => (loadIds[windowNo] ?? null) !== null);
  const [days] = loads.map(({ spooled }) => spooled.window.replaced);
  return {
    rows: stagedRows(columns, parts, staged.replacing),
    loadIds,
    where:
      isPlain || loads.length > 1 || days === undefined
        ? null
        : `${REJECTED} is null and ${insideDays(slice.grain, days)}`,
    collapse: filled.some(({ collapse }) => collapse),
    isOrdered: filled.every(({ isOrdered }) => isOrdered),
  };
}

/** Records the totals that moved; by load, in how many periods. */
async function restate(
  warehouse: Warehouse,
  { slice, fingerprint, columns }: Target,
  loads: readonly Load[],
): Promise<Map<string, number>> {
  const sql = recordRestatements(columns, new Set(loads.flatMap(({ notAdditive }) => notAdditive)));
  if (sql === null) return new Map();
  const items = loads.map(({ loadId, fetchedAt, spooled: { window } }) => ({
    load_id: loadId,
    seen_at: timestamp(fetchedAt),
    start_day: window.replaced.start,
    end_day: window.replaced.end,
  }));
  const moved = await warehouse.rows(sql, [slice.name, fingerprint, JSON.stringify(items)], restatedRow);
  return new Map(
    loads.map(({ loadId }) => [
      loadId,
      new Set(moved.flatMap((row) => (row.load_id === loadId ? [row.period] : []))).size,
    ]),
  );
}

/** The rows each period has now, from the totals taken after it was replaced; and of a cube its values by age. */
async function countsAfter(warehouse: Warehouse, { columns }: Target): Promise<StoredCounts> {
  const ages = new Map<string, Map<Day, number>>();
  const rows = new Map<Day, number>();
  if (columns.cube === undefined) {
    const found = await warehouse.rows(statement('load/totals_after'), [], periodRowsRow);
    for (const { start_day: start, rows: some } of found) rows.set(start, some);
    return { rows, ages };
  }
  for (const { start_day: start, age, ...found } of await warehouse.rows(countAges, [], ageRow)) {
    rows.set(start, (rows.get(start) ?? 0) + found.rows);
    ages.set(age, (ages.get(age) ?? new Map<Day, number>()).set(start, found.non_zero));
  }
  return { rows, ages };
}

/** Widens the table's columns that do not hold every value of the windows exactly. */
async function widenAsNeeded(
  warehouse: Warehouse,
  target: Target,
  { windows, staged, runId }: Replacement,
): Promise<Target> {
  const numbers = new Set(windows.map(({ windowNo }) => windowNo));
  const wider = columnsFor(
    target.columns,
    staged.parts.filter(({ windowNo }) => numbers.has(windowNo)),
  );
  const { cube, metrics } = target.columns;
  if (cube !== undefined) {
    const columns = { ...target.columns, metrics: wider?.metrics ?? metrics };
    return widenValue(warehouse, { ...target, columns }, valueType(columns.metrics, cube.value), runId);
  }
  const widened = (wider?.metrics ?? []).filter(({ type }, at) => {
    const before = target.columns.metrics[at]?.type;
    return before !== undefined && formatColumnType(before) !== formatColumnType(type);
  });
  return alterColumns(warehouse, target, new Map(widened.map(({ id, type }) => [id, type])), runId);
}
