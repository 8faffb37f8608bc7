/** Replaces windows in one transaction: rows, restatements, ledger entries. */

import * as z from 'zod';

import { type Day, isWithin, unionOf } from '../model/calendar.ts';
import { sumOf } from '../model/measure.ts';
import { describeTables } from '../warehouse/tables/slice-declarations.ts';
import { alterTypes } from '../warehouse/tables/slice-table.ts';
import { tableColumns, type Target } from '../warehouse/tables/target.ts';
import { transactRows } from '../warehouse/opening.ts';
import { asScript, count, dayShape, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Load, type Loaded, pagesOf, type Replacement } from './answered.ts';
import { cellKey, type Recording, recordLoads, rowsIn, type SliceLoads } from './load-ledger.ts';
import { columnsFor } from './read-pages.ts';
import type { Staged } from './staged-sql.ts';
import { countKept, type Replaced, replaceRows, totalTables } from './table-sql.ts';

export interface TableReplacements {
  readonly target: Target;
  readonly staged: Staged;
  readonly replacements: readonly Replacement[];
  /** A condition for rows that stay in any case. */
  readonly lost: string | null;
}

const loadIdRow = z.object({ load_id: z.string() });
const storedRow = z.object({
  slice: z.string(),
  start_day: dayShape,
  age: z.string(),
  rows: count,
  values: count,
});
const cellRow = storedRow.omit({ slice: true, rows: true });
const keptRow = cellRow.extend({ app: z.string() });

/** Replaces the rows of windows, all or none. Returns per table the results, and the target with columns as wide as needed. */
export async function replaceWindows(
  tables: readonly TableReplacements[],
  { warehouse, runId }: Recording,
): Promise<{ readonly loaded: readonly Loaded[]; readonly target: Target }[]> {
  const all = tables.flatMap(({ replacements }) => replacements);
  if (all.length === 0) return [];
  // Before the transaction, so that one script there does all the work on rows.
  const ids = await warehouse.rows(
    "select nextval('ripen_internal.load_ids')::varchar as load_id from range($1::bigint)",
    [all.length],
    loadIdRow,
  );
  const rowsOf = (replacements: readonly Replacement[]) =>
    sumOf(replacements.map(({ window, answered }) => rowsIn(window, answered.periodRows)));
  return transactRows(warehouse, rowsOf(all), async () => {
    const replaced: Replaced[] = [];
    for (const { target, staged, replacements, lost } of tables) {
      const loads = replacements.map((replacement): Load =>
        Object.assign({ loadId: ids.shift()?.load_id ?? '' }, replacement),
      );
      // Before any row is written: DuckDB does not commit a table that was altered after a write.
      const wider = await widenAsNeeded(target, loads, warehouse, runId);
      const windowNos = new Set(loads.map(({ answered }) => answered.windowNo));
      const hasCopies = loads.some(({ answered }) => answered.copies.some((copies) => copies > 0));
      replaced.push({
        target: wider,
        loads,
        lost,
        staged: {
          ...staged,
          pages: staged.pages.filter(({ windowNo }) => windowNos.has(windowNo)),
        },
        ranges: unionOf(
          loads.flatMap(({ window, isUnserved }) => (isUnserved ? [] : [window.replaced])),
        ),
        rows: rowsOf(replacements),
        hasCopies,
        // Pages are only known to be in order in themselves.
        isOrdered: loads.every(({ answered }) => {
          const pages = pagesOf(answered);
          const isOneFile = pages.every(({ file }) => file === pages[0]?.file);
          return !staged.isBatched && isOneFile && pages.every(({ isOrdered }) => isOrdered);
        }),
        // Otherwise only the table shows how many rows are stored.
        isCounted: target.columns.value === undefined && !hasCopies && !staged.isBatched,
        // A window was loaded before, and without a date dimension over the same days.
        isKnown: loads.some(({ stored, window: { slice, replaced: days } }) =>
          [...stored.values()].some(
            ({ bucket: { start, end } }) =>
              slice.grain !== null || (start === days.start && end === days.end),
          ),
        ),
      });
    }
    if (all.some(({ stored }) => [...stored.values()].some(({ rows }) => rows > 0)))
      warehouse.reclaimAtClose();
    await warehouse.run(asScript([...totalTables, ...replaced.flatMap(replaceRows)]));
    const stored = replaced.every(({ isCounted }) => isCounted)
      ? []
      : await warehouse.rows(statement('load/stored_counts'), [], storedRow);
    const slices: (SliceLoads & { keptRows: z.infer<typeof keptRow>[] })[] = [];
    for (const { target, loads, lost, ranges, isCounted, isKnown } of replaced) {
      const { slice } = target;
      const kept = lost === null ? [] : ranges.map((days) => countKept(target, days, lost));
      const keptRows =
        kept.length === 0 ? [] : await warehouse.rows(kept.join('\nunion all\n'), [], keptRow);
      const counts: z.infer<typeof cellRow>[] = [...keptRows];
      const keptDays = new Set(counts.map(({ start_day: start }) => start));
      const rows = new Map<Day, number>(
        isCounted ? loads.flatMap(({ answered }) => [...answered.periodRows]) : [],
      );
      for (const [start_day, values] of rows) counts.push({ age: '', start_day, values });
      for (const { start_day: start, age, ...count } of isCounted ? [] : stored) {
        if (count.slice !== slice.name) continue;
        rows.set(start, (rows.get(start) ?? 0) + count.rows);
        const values = slice.cube === undefined ? count.rows : count.values;
        counts.push({ age, start_day: start, values });
      }
      const cells = new Map<string, number>();
      for (const { age, start_day: start, values } of counts)
        cells.set(cellKey(age, start), (cells.get(cellKey(age, start)) ?? 0) + values);
      slices.push({ target, loads, isKnown, rows, cells, keptDays, keptRows });
    }
    const restated = await recordLoads(slices, { warehouse, runId });
    return slices.map(({ target, loads, rows, keptRows }) => {
      const loaded = loads.map((load): Loaded => {
        const { loadId, window, answered, rejects, empty, warnings, isUnserved } = load;
        const rejected = rejects.days.length;
        return {
          kind: 'loaded',
          window,
          // Rows of batches count after they were joined.
          fetched: rowsIn(window, answered.periodRows) + rejected,
          rows: rowsIn(window, rows),
          rejected,
          restated: [...(restated.get(loadId) ?? [])],
          empty,
          warnings,
          isUnserved,
          kept: keptRows
            .filter(({ start_day: start }) => isWithin(start, window.replaced))
            .map(({ app, start_day: start }) => ({ app, start })),
        };
      });
      return { target, loaded };
    });
  });
}

async function widenAsNeeded(
  target: Target,
  loads: readonly Load[],
  warehouse: Warehouse,
  runId: string,
): Promise<Target> {
  const pages = loads.flatMap(({ answered }) => pagesOf(answered));
  const columns = columnsFor(target.columns, pages) ?? target.columns;
  const wider = { ...target, columns };
  const existing = new Map(tableColumns(target.columns).map(({ name, type }) => [name, type]));
  const isAltered = await alterTypes(warehouse, wider, existing, runId);
  // The target of a load into a cube has only the metrics of that load.
  if (isAltered && columns.value === undefined) await describeTables(warehouse, [wider]);
  return wider;
}
