/** The tables of the lake: which of the warehouse's go there, with which columns, divided by what. */

import * as z from 'zod';

import { catalogTables } from '../model/catalog.ts';
import { parseColumnType } from '../model/column-type.ts';
import { dateDimensions, type DateDimension } from '../model/dimension.ts';
import { columnsNow, relationsIn, type Relation } from '../warehouse/relations.ts';
import { identifier, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Tables beside the slices, where they exist; one file each, sorted. */
export const dimensionTables: readonly string[] = [
  ...catalogTables,
  'links',
  'links_history',
  'partners',
  'partners_history',
].toSorted();

/** What stands beside a slice under its name: how it ripens, what to expect of it. */
const besideSlice = ['_maturation', '_projected'];

/** What the ledger says that a reader of numbers asks for; each has the slice it speaks of. */
const ledgerTables = ['loads', 'periods', 'restatements', 'projection_errors'];

/** What the ledger says of cells; no slice can have the name. */
export const FINALITY = 'ripen_finality';

/** Every load gives each row a new one, and each period, even if nothing else changed. */
const LOAD_ID = '_load_id';
const FETCHED_AT = 'fetched_at';

export interface LakeColumn {
  readonly name: string;
  /** The type in the files: one every engine reads. */
  readonly type: string;
  readonly comment: string | null;
}

/** The view of a slice's cohort metrics in long form, as the warehouse has it. */
export interface CohortsView {
  readonly comment: string | null;
  /** The slice's dimensions, `metric`, `age_days`, `value`, `is_final`. */
  readonly columns: readonly LakeColumn[];
  /** The slice's column of each metric and age. */
  readonly cells: readonly { readonly column: string; readonly metric: string; readonly ageDays: number }[];
}

export interface LakeTable {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly LakeColumn[];
  /** The column that divides it into files; null for one file. */
  readonly grain: DateDimension | null;
  /** The name of the files' directories, `<key>=<date>`: hours are kept by day. */
  readonly key: string | null;
  /** The columns of a slice that its final view shows only where they are final; empty for other tables. */
  readonly metrics: readonly string[];
  /** Whether it is in long form itself, with a row for each metric and age. */
  readonly isCube: boolean;
  /** The slice's view in long form; null for none. */
  readonly cohorts: CohortsView | null;
  /** What stands after `from` in a query of the rows for which a condition on `grain` holds; null for all. */
  readonly rows: (condition: string | null) => string;
  /** The slice with which it is dropped, its own name where it holds the rows of loads; null for other tables. */
  readonly slice: string | null;
}

/** The rows of a relation of the warehouse for which a condition holds. */
export const rowsOf =
  (relation: string): LakeTable['rows'] =>
  (condition) =>
    condition === null ? relation : `(select * from ${relation} where ${condition})`;

/** Whether a table is that of a slice, whose rows carry the id of the load that brought them. */
export const isOfSlice = ({ name, slice }: Pick<LakeTable, 'name' | 'slice'>): boolean => name === slice;

const sliceRow = z.object({ slice: z.string(), is_cube: z.boolean() });
const cellRow = z.object({ slice: z.string(), metric: z.string(), cohort_metric: z.string(), age_days: z.number() });

/**
 * The tables to publish, slices first, what they say of final cells last. The slices are those that the warehouse holds:
 * one that is no longer configured stays in its copies until it is dropped.
 */
export async function lakeTables(warehouse: Warehouse): Promise<LakeTable[]> {
  return [...(await tablesOfMain(warehouse)), await finalityTable(warehouse)];
}

/**
 * Those, and what else analysts join: what stands beside each slice, and of the ledger what was asked, what moved, how
 * fresh each period is and how well projections did. Finality is last, as `finalityTable` gives it.
 */
export async function deltaTables(warehouse: Warehouse, keepsReleased = false): Promise<LakeTable[]> {
  const slices = (await slicesIn(warehouse)).map(({ slice }) => slice);
  const main = await relationsIn(warehouse, 'main');
  const ripen = await relationsIn(warehouse, 'ripen');
  const tables = await tablesOfMain(warehouse);
  for (const slice of slices) {
    for (const ending of besideSlice) {
      const found = main.get(`${slice}${ending}`);
      if (found === undefined || slices.includes(found.name)) continue;
      const table = await tableOf(warehouse, 'main', found);
      tables.push({ ...table, ...dividedBy(table.columns), slice });
    }
  }
  for (const name of ledgerTables) {
    const found = ripen.get(name);
    if (found !== undefined) tables.push({ ...(await tableOf(warehouse, 'ripen', found)), name: `ripen_${name}` });
  }
  return [...tables, await finalityTable(warehouse, keepsReleased)];
}

const slicesIn = async (warehouse: Warehouse): Promise<z.infer<typeof sliceRow>[]> =>
  warehouse.rows(statement('publish/slices'), [], sliceRow);

/** The slices and the dimension tables; slices that have no table yet are left out. */
async function tablesOfMain(warehouse: Warehouse): Promise<LakeTable[]> {
  const existing = await relationsIn(warehouse, 'main');
  const isCube = new Map((await slicesIn(warehouse)).map((each) => [each.slice, each.is_cube]));
  const cells = await warehouse.rows(statement('publish/cohort_cells'), [], cellRow);
  const tables: LakeTable[] = [];
  for (const name of new Set([...isCube.keys(), ...dimensionTables])) {
    const found = existing.get(name);
    if (found === undefined || (isCube.has(name) && !found.isTable)) continue;
    const table = await tableOf(warehouse, 'main', found);
    const { columns } = table;
    if (!isCube.has(name)) {
      tables.push(table);
      continue;
    }
    // Metrics alone are numbers. The live table decides: the ledger already lists those of a new meaning that is being built.
    const metrics = columns.filter(({ type }) => parseColumnType(type) !== null).map((column) => column.name);
    const view = existing.get(`${name}_cohorts`);
    const ofSlice = cells
      .filter(({ slice, metric }) => slice === name && metrics.includes(metric))
      .map((row) => ({ column: row.metric, metric: row.cohort_metric, ageDays: row.age_days }));
    tables.push({
      ...table,
      ...dividedBy(columns),
      metrics,
      isCube: isCube.get(name) === true,
      cohorts:
        view?.isTable === false && ofSlice.length > 0
          ? { ...(await tableOf(warehouse, 'main', view)), cells: ofSlice }
          : null,
      slice: name,
    });
  }
  return tables;
}

/** A table that is no slice's and is not divided. */
export const undivided = {
  comment: null,
  grain: null,
  key: null,
  metrics: [],
  isCube: false,
  cohorts: null,
  slice: null,
} as const satisfies Partial<LakeTable>;

/** A relation, but one column, as a table that is not divided, in types that every engine reads. */
async function tableOf(
  warehouse: Warehouse,
  schema: 'main' | 'ripen',
  relation: Relation,
  leftOut = LOAD_ID,
): Promise<LakeTable> {
  const { name, comment } = relation;
  const columns = (await columnsNow(warehouse, schema, relation))
    .filter((column) => column.name !== leftOut)
    .map(({ name: column, type, comment: words }) => ({ name: column, type: plainType(type), comment: words }));
  return { ...undivided, name, comment, columns, rows: rowsOf(`${schema}.${identifier(name)}`) };
}

function dividedBy(columns: readonly LakeColumn[]): Pick<LakeTable, 'grain' | 'key'> {
  const grain = grainOf(columns);
  return { grain, key: grain === 'hour' ? 'day' : grain };
}

/**
 * Which cells are final; sorted, so that an engine finds those of one slice together. For a copy that keeps released periods also
 * those, and a column that tells them apart.
 */
async function finalityTable(warehouse: Warehouse, keepsReleased = false): Promise<LakeTable> {
  const finality = (await relationsIn(warehouse, 'ripen')).get('finality');
  if (finality === undefined) throw new RangeError('The warehouse has no ripen.finality.');
  const comment = 'Per slice, period and metric: whether the stored value is final';
  const table = { ...(await tableOf(warehouse, 'ripen', finality, FETCHED_AT)), name: FINALITY, comment };
  const names = table.columns.map(({ name }) => identifier(name)).join(', ');
  const order = 'order by slice, metric, period';
  if (!keepsReleased) return { ...table, rows: rowsOf(`(select ${names} from ripen.finality ${order})`) };
  const kept = `select ${names}, true as released from ripen.released`;
  const words = 'Whether the period left the warehouse by `retain` and is kept in copies alone';
  return {
    ...table,
    columns: [...table.columns, { name: 'released', type: 'BOOLEAN', comment: words }],
    rows: rowsOf(`(select ${names}, false as released from ripen.finality union all ${kept} ${order})`),
  };
}

/** The columns as readers see them: the table's own, and the day that hours are filed under. */
export function shownColumns({ columns, key }: Pick<LakeTable, 'columns' | 'key'>): readonly LakeColumn[] {
  if (key === null || columns.some(({ name }) => name === key)) return columns;
  return [...columns, { name: key, type: 'DATE', comment: `The ${key} the rows are filed under.` }];
}

/**
 * The columns a file holds. The one its directory is named after is left out: pyarrow, and with it pandas and Ray,
 * refuse a data set that has it in both places ("Unable to merge: Field day has incompatible types"); DuckDB, Polars,
 * Spark and Trino take it from the path.
 */
export const fileColumns = ({ columns, key }: LakeTable): readonly LakeColumn[] =>
  columns.filter(({ name }) => name !== key);

/** The finest date dimension among columns; null for none. The live table decides: while a new meaning is built it still has the old dimensions. */
export function grainOf(columns: readonly Pick<LakeColumn, 'name'>[]): DateDimension | null {
  return dateDimensions.find((dimension) => columns.some(({ name }) => name === dimension)) ?? null;
}

/** The nearest type without nesting, 128-bit integers or extensions, in which every value stays exact. */
export function plainType(type: string): string {
  if (/^(BOOLEAN|INTEGER|BIGINT|DOUBLE|DATE|TIMESTAMP|DECIMAL\(\d+,\d+\))$/.test(type)) return type;
  return type === 'HUGEINT' ? 'DECIMAL(38,0)' : 'VARCHAR';
}

/** A path as DuckDB reads it: it takes some characters for wildcards, with no escape but brackets. */
export const fileText = (path: string): string => literal(path.replaceAll(/[*?[]/g, '[$&]'));
