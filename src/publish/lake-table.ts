/** The tables of a lake: which tables of the warehouse it gets, with which columns, and how they are divided into files. */

import * as z from 'zod';

import { catalogTables } from '../model/catalog.ts';
import { parseColumnType } from '../model/column-type.ts';
import { dateDimensions, type DateDimension } from '../model/dimension.ts';
import { columnsNow, relationsIn, type Relation } from '../warehouse/relations.ts';
import { identifier, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Tables beside the slices, by name, one file each; published if they exist. */
export const dimensionTables: readonly string[] = [
  ...catalogTables,
  'links',
  'links_history',
  'partners',
  'partners_history',
].toSorted();

/** Endings of the relations beside a slice: how it ripens, and what to expect of it. */
const besideSlice = ['_maturation', '_projected'];

/** The ledger's tables for analysts; each has a column for the slice. */
const ledgerTables = ['loads', 'periods', 'restatements', 'projection_errors'];

/** The table that says which cells are final; no slice can have this name. */
export const FINALITY = 'ripen_finality';

/** Columns left out: every load changes the first in each row and the second in each period, even if nothing else changed. */
const LOAD_ID = '_load_id';
const FETCHED_AT = 'fetched_at';

export interface LakeColumn {
  readonly name: string;
  /** The type in the files, which every engine reads. */
  readonly type: string;
  readonly comment: string | null;
}

/** The warehouse's view of a slice's cohort metrics in long form. */
export interface CohortsView {
  readonly comment: string | null;
  /** The slice's dimensions, `metric`, `age_days`, `value`, `is_final`. */
  readonly columns: readonly LakeColumn[];
  /** The slice's column of each metric and age. */
  readonly cells: readonly {
    readonly column: string;
    readonly metric: string;
    readonly ageDays: number;
  }[];
}

export interface LakeTable {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly LakeColumn[];
  /** The column that divides it into files; null if it is one file. */
  readonly grain: DateDimension | null;
  /** The key in the names of its directories, `<key>=<date>`; `day` for hours; null if it is one file. */
  readonly key: string | null;
  /** The columns of a slice whose values the final view shows only if they are final; empty for other tables. */
  readonly metrics: readonly string[];
  /** Whether the table itself is in long form, with a row for each metric and age. */
  readonly isCube: boolean;
  /** Null if the slice has no view in long form. */
  readonly cohorts: CohortsView | null;
  /** The text after `from` in a query of the rows that meet a condition on `grain`; a condition of null means all rows. */
  readonly rows: (condition: string | null) => string;
  /** The slice it is dropped with, equal to `name` if it is that slice's own table; null for other tables. */
  readonly slice: string | null;
}

/** The text after `from` for the rows of a relation that meet a condition. */
export const rowsOf =
  (relation: string): LakeTable['rows'] =>
  (condition) =>
    condition === null ? relation : `(select * from ${relation} where ${condition})`;

/** Whether a table is a slice's own, whose rows carry the id of the load that wrote them. */
export const isOfSlice = ({ name, slice }: Pick<LakeTable, 'name' | 'slice'>): boolean =>
  name === slice;

const sliceRow = z.object({ slice: z.string(), is_cube: z.boolean() });
const cellRow = z.object({
  slice: z.string(),
  metric: z.string(),
  cohort_metric: z.string(),
  age_days: z.number(),
});

/** The tables to publish as plain files: slices first, finality last. Slices no longer configured stay until dropped. */
export async function lakeTables(warehouse: Warehouse): Promise<LakeTable[]> {
  return [...(await tablesOfMain(warehouse)), await finalityTable(warehouse)];
}

/**
 * Returns the tables of `lakeTables` and what else analysts join: the relations beside each slice, and the ledger's loads,
 * periods, restatements and errors of projections. Finality is last, as `finalityTable` returns it.
 */
export async function deltaTables(warehouse: Warehouse): Promise<LakeTable[]> {
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
    if (found !== undefined)
      tables.push({ ...(await tableOf(warehouse, 'ripen', found)), name: `ripen_${name}` });
  }
  return [...tables, await finalityTable(warehouse)];
}

const slicesIn = async (warehouse: Warehouse): Promise<z.infer<typeof sliceRow>[]> =>
  warehouse.rows(statement('publish/slices'), [], sliceRow);

/** The slices that have a table already, and the dimension tables. */
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
    // Only metrics are numbers. The live table decides: the ledger already lists metrics of a meaning that is being built.
    const metrics = columns
      .filter(({ type }) => parseColumnType(type) !== null)
      .map((column) => column.name);
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

/** Fields of an undivided table that belongs to no slice. */
export const undivided = {
  comment: null,
  grain: null,
  key: null,
  metrics: [],
  isCube: false,
  cohorts: null,
  slice: null,
} as const satisfies Partial<LakeTable>;

/** A relation without one column, as an undivided table in types that every engine reads. */
async function tableOf(
  warehouse: Warehouse,
  schema: 'main' | 'ripen',
  relation: Relation,
  leftOut = LOAD_ID,
): Promise<LakeTable> {
  const { name, comment } = relation;
  const columns = (await columnsNow(warehouse, schema, relation))
    .filter((column) => column.name !== leftOut)
    .map(({ name: column, type, comment: words }) => ({
      name: column,
      type: plainType(type),
      comment: words,
    }));
  return { ...undivided, name, comment, columns, rows: rowsOf(`${schema}.${identifier(name)}`) };
}

function dividedBy(columns: readonly LakeColumn[]): Pick<LakeTable, 'grain' | 'key'> {
  const grain = grainOf(columns);
  return { grain, key: grain === 'hour' ? 'day' : grain };
}

/** Which cells are final, sorted so that a slice's are together. */
async function finalityTable(warehouse: Warehouse): Promise<LakeTable> {
  const finality = (await relationsIn(warehouse, 'ripen')).get('finality');
  if (finality === undefined) throw new RangeError('The warehouse has no ripen.finality.');
  const comment = 'Per slice, period and metric: whether the stored value is final';
  const table = {
    ...(await tableOf(warehouse, 'ripen', finality, FETCHED_AT)),
    name: FINALITY,
    comment,
  };
  const names = table.columns.map(({ name }) => identifier(name)).join(', ');
  const sorted = `(select ${names} from ripen.finality order by slice, metric, period)`;
  return { ...table, rows: rowsOf(sorted) };
}

/** The columns as readers see them: the table's own, and for hours the day they are filed under. */
export function shownColumns({
  columns,
  key,
}: Pick<LakeTable, 'columns' | 'key'>): readonly LakeColumn[] {
  if (key === null || columns.some(({ name }) => name === key)) return columns;
  return [
    ...columns,
    { name: key, type: 'DATE', comment: `The ${key} of the folder that the rows are in.` },
  ];
}

/**
 * The columns of a file: all but the one its directory is named after. pyarrow, with pandas and Ray, refuses a data set with it
 * in both places ("Unable to merge: Field day has incompatible types"); DuckDB, Polars, Spark and Trino take it from the path.
 */
export const fileColumns = ({ columns, key }: LakeTable): readonly LakeColumn[] =>
  columns.filter(({ name }) => name !== key);

/** The finest date dimension among columns; null if none. The live table keeps its own while a new meaning is being built. */
export function grainOf(columns: readonly Pick<LakeColumn, 'name'>[]): DateDimension | null {
  return dateDimensions.find((dimension) => columns.some(({ name }) => name === dimension)) ?? null;
}

/** The nearest type without nesting, 128-bit integers or extensions that keeps every value exact. */
export function plainType(type: string): string {
  if (/^(BOOLEAN|INTEGER|BIGINT|DOUBLE|DATE|TIMESTAMP|DECIMAL\(\d+,\d+\))$/.test(type)) return type;
  return type === 'HUGEINT' ? 'DECIMAL(38,0)' : 'VARCHAR';
}

/** A path as SQL text; DuckDB takes some characters as wildcards and has no escape but brackets. */
export const fileText = (path: string): string => literal(path.replaceAll(/[*?[]/g, '[$&]'));
