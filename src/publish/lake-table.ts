/** The tables of a lake, their columns, and how they are divided into files. */

import * as z from 'zod';

import { catalogTables } from '../model/catalog.ts';
import { parseColumnType } from '../model/column-type.ts';
import { dateDimensions, type DateDimension } from '../model/dimension.ts';
import { columnsNow, relationsIn, type Relation } from '../warehouse/relations.ts';
import { identifier, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Published beside the slices if they exist, one file each. */
export const dimensionTables: readonly string[] = [
  ...catalogTables,
  'links',
  'links_history',
  'partners',
  'partners_history',
].toSorted();

/** The table that says which cells are final; no slice can have this name. */
export const FINALITY = 'ripen_finality';

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
  /** The column that divides it into files. */
  readonly grain: DateDimension | null;
  /** The key of its directories, `<key>=<date>`: `day` for hours. */
  readonly key: string | null;
  /** The columns of a slice that the final view shows only if they are final. */
  readonly metrics: readonly string[];
  /** Whether the table is in long form, with a row for each metric and age. */
  readonly isCube: boolean;
  readonly cohorts: CohortsView | null;
  /** The text after `from` for the rows that meet a condition on `grain`, or for all rows. */
  readonly rows: (condition: string | null) => string;
  /** The slice it is dropped with. */
  readonly slice: string | null;
}

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

/** Returns the tables for plain files, finality last. Slices no longer configured stay until dropped. */
export async function lakeTables(warehouse: Warehouse): Promise<LakeTable[]> {
  return [...(await tablesOfMain(warehouse)), await finalityTable(warehouse)];
}

/** Returns the tables of `lakeTables`, the relations beside each slice and the ledger's tables for analysts, finality last. */
export async function deltaTables(warehouse: Warehouse): Promise<LakeTable[]> {
  const slices = (await slicesIn(warehouse)).map(({ slice }) => slice);
  const main = await relationsIn(warehouse, 'main');
  const ripen = await relationsIn(warehouse, 'ripen');
  const tables = await tablesOfMain(warehouse);
  for (const slice of slices) {
    for (const name of [`${slice}_maturation`, `${slice}_projected`]) {
      const view = main.get(name);
      if (view === undefined || slices.includes(name)) continue;
      const table = await tableOf(warehouse, 'main', view);
      tables.push({ ...table, ...dividedBy(table.columns), slice });
    }
  }
  for (const name of ['loads', 'periods', 'restatements', 'projection_errors']) {
    const relation = ripen.get(name);
    if (relation !== undefined)
      tables.push({ ...(await tableOf(warehouse, 'ripen', relation)), name: `ripen_${name}` });
  }
  return [...tables, await finalityTable(warehouse)];
}

const slicesIn = async (warehouse: Warehouse): Promise<z.infer<typeof sliceRow>[]> =>
  warehouse.rows(statement('publish/slices'), [], sliceRow);

/** Returns the slices that have a table already, and the dimension tables. */
async function tablesOfMain(warehouse: Warehouse): Promise<LakeTable[]> {
  const existing = await relationsIn(warehouse, 'main');
  const slices = new Map((await slicesIn(warehouse)).map((row) => [row.slice, row.is_cube]));
  const cells = await warehouse.rows(statement('publish/cohort_cells'), [], cellRow);
  const tables: LakeTable[] = [];
  for (const name of new Set([...slices.keys(), ...dimensionTables])) {
    const relation = existing.get(name);
    const isCube = slices.get(name);
    if (relation === undefined || (isCube !== undefined && !relation.isTable)) continue;
    const table = await tableOf(warehouse, 'main', relation);
    if (isCube === undefined) {
      tables.push(table);
      continue;
    }
    // Only metrics are numbers. The live table decides: the ledger already lists metrics of a meaning that is being built.
    const numbers = table.columns.filter(({ type }) => parseColumnType(type) !== null);
    const metrics = numbers.map((column) => column.name);
    const ofSlice = cells
      .filter(({ slice, metric }) => slice === name && metrics.includes(metric))
      .map((row) => ({ column: row.metric, metric: row.cohort_metric, ageDays: row.age_days }));
    const view = existing.get(`${name}_cohorts`);
    const hasCohorts = view?.isTable === false && ofSlice.length > 0;
    const cohorts = hasCohorts
      ? { ...(await tableOf(warehouse, 'main', view)), cells: ofSlice }
      : null;
    tables.push({ ...table, ...dividedBy(table.columns), metrics, isCube, cohorts, slice: name });
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

/**
 * Returns a relation as an undivided table in types that every engine reads. Leaves out the column that every load changes in
 * each row, even if nothing else changed.
 */
async function tableOf(
  warehouse: Warehouse,
  schema: 'main' | 'ripen',
  relation: Relation,
  changing = '_load_id',
): Promise<LakeTable> {
  const { name, comment } = relation;
  const columns = (await columnsNow(warehouse, schema, relation))
    .filter((column) => column.name !== changing)
    .map(({ name: column, type, comment: words }) => {
      return { name: column, type: plainType(type), comment: words };
    });
  return { ...undivided, name, comment, columns, rows: rowsOf(`${schema}.${identifier(name)}`) };
}

function dividedBy(columns: readonly LakeColumn[]): Pick<LakeTable, 'grain' | 'key'> {
  const grain = grainOf(columns);
  return { grain, key: grain === 'hour' ? 'day' : grain };
}

/** Sorted so that the cells of a slice are together. */
async function finalityTable(warehouse: Warehouse): Promise<LakeTable> {
  const finality = (await relationsIn(warehouse, 'ripen')).get('finality');
  if (finality === undefined) throw new RangeError('The warehouse has no ripen.finality.');
  const table = await tableOf(warehouse, 'ripen', finality, 'fetched_at');
  const comment = 'Per slice, period and metric: whether the stored value is final';
  const names = table.columns.map(({ name }) => identifier(name)).join(', ');
  const sorted = `(select ${names} from ripen.finality order by slice, metric, period)`;
  return { ...table, name: FINALITY, comment, rows: rowsOf(sorted) };
}

/** Returns the columns as readers see them: for hours with the day of their folder. */
export function shownColumns({
  columns,
  key,
}: Pick<LakeTable, 'columns' | 'key'>): readonly LakeColumn[] {
  if (key === null || columns.some(({ name }) => name === key)) return columns;
  const comment = `The ${key} of the folder that the rows are in.`;
  return [...columns, { name: key, type: 'DATE', comment }];
}

/**
 * Returns all columns but the one the directory is named after: pyarrow refuses a data set with it in both places ("Unable to
 * merge: Field day has incompatible types"). DuckDB, Polars, Spark and Trino take it from the path.
 */
export const fileColumns = ({ columns, key }: LakeTable): readonly LakeColumn[] =>
  columns.filter(({ name }) => name !== key);

/** Returns the finest date dimension of a table. The live table keeps its own while a new meaning is built. */
export function grainOf(columns: readonly Pick<LakeColumn, 'name'>[]): DateDimension | null {
  return dateDimensions.find((dimension) => columns.some(({ name }) => name === dimension)) ?? null;
}

/** The nearest type without nesting, 128-bit integers or extensions that keeps every value exact. */
export function plainType(type: string): string {
  if (/^(BOOLEAN|INTEGER|BIGINT|DOUBLE|DATE|TIMESTAMP|DECIMAL\(\d+,\d+\))$/.test(type)) return type;
  return type === 'HUGEINT' ? 'DECIMAL(38,0)' : 'VARCHAR';
}

/** Returns a path as SQL text. DuckDB takes some characters as wildcards, and only brackets escape them. */
export const fileText = (path: string): string => literal(path.replaceAll(/[*?[]/g, '[$&]'));
