/** The tables of copies in types that every engine reads. */

import * as z from 'zod';

import { catalogTables } from '../model/catalog.ts';
import { parseColumnType, publishedNumber } from '../model/column-type.ts';
import { dateDimensions, type DateDimension } from '../model/dimension.ts';
import {
  columnsNow,
  type Relation,
  type RelationColumn,
  relationsIn,
} from '../warehouse/relations.ts';
import { identifier, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export const dimensionTables: readonly string[] = [
  ...catalogTables,
  'links',
  'links_history',
  'partners',
  'partners_history',
].toSorted();

/** Says which cells are final. No slice can have this name. */
export const FINALITY = 'ripen_finality';

/** The ledger's tables for engines, with the date that divides each into files. */
const ledgerTables = [
  ['loads', 'start_day'],
  ['periods', 'start_day'],
  ['restatements', 'period'],
  ['projection_errors', null],
  ['news', null],
] as const;

/** The ledger's relations for analysts; the others are bookkeeping. */
export const ledgerRelations = [
  ...ledgerTables.map(([name]) => name),
  'finality',
  'runs',
].toSorted();

/** Tools without the warehouse's views read those of `beside` as tables. */
const beside = ['_maturation', '_projected'];
export const sliceRelations = ['', '_final', '_cohorts', '_links', ...beside];

/** The columns have the types of the files. */
export interface LakeTable extends Relation {
  readonly grain: DateDimension | null;
  /** The column whose periods divide the table into files. Null: one file. */
  readonly dividedBy: string | null;
  /** The columns of a slice that the final view shows only if they are final. */
  readonly metrics: readonly string[];
  readonly isCube: boolean;
  /** The warehouse's view `_cohorts` of a slice, with the slice's column of each metric and age. */
  readonly cohorts:
    | (Pick<Relation, 'comment' | 'columns'> & { readonly cells: z.infer<typeof cohortCell>[] })
    | null;
  /** The relation, or a query in brackets, that has its rows. */
  readonly source: string;
  /** Whether it is a slice's own, whose rows only loads write. */
  readonly isOfSlice: boolean;
}

export const undivided = {
  isTable: true,
  comment: null,
  grain: null,
  dividedBy: null,
  metrics: [],
  isCube: false,
  cohorts: null,
  isOfSlice: false,
} as const satisfies Partial<LakeTable>;

const sliceRow = z.object({ slice: z.string(), is_cube: z.boolean() });
const cohortCell = z.object({
  slice: z.string(),
  metric: z.string(),
  cohort_metric: z.string(),
  age_days: z.number(),
});

/** Returns the slices of a ledger, also those no longer configured, and whether each is a cube. */
export async function slicesIn(
  database: Pick<Warehouse, 'rows'>,
): Promise<ReadonlyMap<string, boolean>> {
  const rows = await database.rows(statement('publish/slices'), [], sliceRow);
  return new Map(rows.map((row) => [row.slice, row.is_cube]));
}

/**
 * Returns the slices that have a table, the dimension tables, news and, last, finality. With `relations` also those of `beside`
 * and the ledger's.
 */
export async function lakeTables(
  warehouse: Warehouse,
  { relations }: { readonly relations: boolean },
): Promise<LakeTable[]> {
  const slices = await slicesIn(warehouse);
  const cells = await warehouse.rows(statement('publish/cohort_cells'), [], cohortCell);
  const schemas = {
    main: await relationsIn(warehouse, 'main'),
    ripen: await relationsIn(warehouse, 'ripen'),
  };
  const tables: LakeTable[] = [];
  /** Leaves out the column that every load changes in each row. */
  const plainColumns = (columns: readonly RelationColumn[], changing = '_load_id') =>
    columns
      .filter((column) => column.name !== changing)
      .map(({ name, type, comment }) => ({ name, type: plainType(type), comment }));
  const tableOf = (schema: 'main' | 'ripen', name: string, changing?: string): LakeTable | null => {
    const relation = schemas[schema].get(name);
    if (relation === undefined) return null;
    const columns = plainColumns(relation.columns, changing);
    return { ...undivided, ...relation, columns, source: `${schema}.${identifier(name)}` };
  };
  // Loads may have widened values since the view was made. Awaited together, they are described by one statement.
  const cohortViews = new Map(
    await Promise.all(
      [...slices.keys()].map(async (slice) => {
        const view = schemas.main.get(`${slice}_cohorts`);
        if (view?.isTable !== false) return [slice, null] as const;
        const columns = plainColumns(await columnsNow(warehouse, 'main', view));
        return [slice, { ...view, columns }] as const;
      }),
    ),
  );
  for (const [slice, isCube] of slices) {
    const table = tableOf('main', slice);
    if (table?.isTable !== true) continue;
    // Only metrics are numbers. The ledger already lists metrics of a meaning that is being built.
    const numbers = table.columns.filter(({ type }) => parseColumnType(type) !== null);
    const metrics = numbers.map(({ name }) => name);
    const ofSlice = cells.filter((cell) => cell.slice === slice && metrics.includes(cell.metric));
    const view = ofSlice.length === 0 ? null : (cohortViews.get(slice) ?? null);
    const cohorts = view && { ...view, cells: ofSlice };
    const grain = grainOf(table.columns);
    tables.push({ ...table, grain, dividedBy: grain, metrics, isCube, cohorts, isOfSlice: true });
  }
  for (const name of dimensionTables) {
    const table = slices.has(name) ? null : tableOf('main', name);
    if (table !== null) tables.push(table);
  }
  for (const slice of relations ? slices.keys() : []) {
    for (const name of beside.map((ending) => slice + ending)) {
      const table = slices.has(name) ? null : tableOf('main', name);
      const grain = grainOf(table?.columns ?? []);
      if (table !== null) tables.push({ ...table, grain, dividedBy: grain });
    }
  }
  for (const [name, dividedBy] of ledgerTables) {
    const table = relations || name === 'news' ? tableOf('ripen', name) : null;
    if (table !== null) tables.push({ ...table, name: `ripen_${name}`, dividedBy });
  }
  const finality = tableOf('ripen', 'finality', 'fetched_at');
  if (finality === null) throw new RangeError('The warehouse has no ripen.finality.');
  const names = finality.columns.map(({ name }) => identifier(name)).join(', ');
  tables.push({
    ...finality,
    name: FINALITY,
    comment: 'Per slice, period and metric: whether the stored value is final',
    dividedBy: 'period',
    // The cells of a slice stand together.
    source: `(select ${names} from ripen.finality order by slice, metric, period)`,
  });
  return tables;
}

/** Returns the finest date dimension of a table. */
export function grainOf(columns: readonly Pick<RelationColumn, 'name'>[]): DateDimension | null {
  return dateDimensions.find((dimension) => columns.some(({ name }) => name === dimension)) ?? null;
}

/** Returns the nearest type without nesting, 128-bit integers or extensions that keeps every value exact. */
export function plainType(type: string): string {
  if (/^(BOOLEAN|DATE|TIMESTAMP)$/.test(type)) return type;
  return publishedNumber(type) ?? 'VARCHAR';
}

export const castCell = ({ name, type }: RelationColumn): string =>
  `cast(${identifier(name)} as ${type})`;

/** Returns a path as SQL text. Only brackets escape DuckDB's wildcards. */
export const fileText = (path: string): string => literal(path.replaceAll(/[*?[]/g, '[$&]'));
