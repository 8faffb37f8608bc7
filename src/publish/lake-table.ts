/** The tables of the lake: which of the warehouse's go there, with which columns, divided by what. */

import * as z from 'zod';

import { dateDimensions, type DateDimension } from '../model/dimension.ts';
import { identifier } from '../warehouse/quoting.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { tablesOf } from './contents.ts';

/** Tables beside the slices, where they exist; one file each. */
const dimensionTables = [
  'apps',
  'dimensions',
  'links',
  'links_history',
  'metrics',
  'partners',
  'partners_history',
] as const;

/** A load gives every row a new one even if nothing else changed; the lake holds what a row says, not who brought it. */
const UNPUBLISHED_COLUMN = '_load_id';

export interface LakeColumn {
  readonly name: string;
  /** The type in the files: one every engine reads. */
  readonly type: string;
  readonly comment: string | null;
}

export interface LakeTable {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly LakeColumn[];
  /** The column that divides it into files; null for one file. */
  readonly grain: DateDimension | null;
  /** The name of the files' directories, `<key>=<date>`: hours are kept by day. */
  readonly key: string | null;
  /** Columns whose exact sums the manifest states. */
  readonly summed: readonly string[];
}

const columnRow = z.object({ column_name: z.string(), data_type: z.string(), comment: z.string().nullable() });

/** The tables to publish, slices first; slices that were never loaded are left out. */
export async function lakeTables(warehouse: Warehouse, slices: readonly string[]): Promise<LakeTable[]> {
  const existing = (await tablesOf(warehouse)).filter((table) => table.schema_name === 'main');
  const tables: LakeTable[] = [];
  for (const name of new Set([...slices, ...dimensionTables])) {
    const found = existing.find((table) => table.table_name === name);
    if (found === undefined) continue;
    const columns = (await warehouse.rows(statement('publish/columns'), [name], columnRow))
      .filter((column) => column.column_name !== UNPUBLISHED_COLUMN)
      .map((column) => ({ name: column.column_name, type: plainType(column.data_type), comment: column.comment }));
    const isSlice = slices.includes(name);
    const grain = isSlice ? grainOf(columns) : null;
    tables.push({
      name,
      comment: found.comment,
      columns,
      grain,
      key: grain === 'hour' ? 'day' : grain,
      summed: isSlice ? columns.filter(({ type }) => /^(BIGINT$|DECIMAL)/.test(type)).map((column) => column.name) : [],
    });
  }
  return tables;
}

/** The live table decides, not the configuration: while a new meaning is being built it still has the old dimensions. */
function grainOf(columns: readonly LakeColumn[]): DateDimension | null {
  return dateDimensions.find((dimension) => columns.some(({ name }) => name === dimension)) ?? null;
}

/** The nearest type without nesting, 128-bit integers or extensions, in which every value stays exact. */
export function plainType(type: string): string {
  if (/^(BOOLEAN|TINYINT|SMALLINT|INTEGER|BIGINT|FLOAT|DOUBLE|DATE|TIMESTAMP|DECIMAL\(\d+,\d+\))$/.test(type))
    return type;
  if (type === 'HUGEINT') return 'DECIMAL(38,0)';
  return 'VARCHAR';
}

/**
 * The columns a file holds. The one its directory is named after is left out: pyarrow, and with it pandas and Ray,
 * refuse a data set that has it in both places ("Unable to merge: Field day has incompatible types"); DuckDB, Polars,
 * Spark and Trino take it from the path.
 */
export function fileColumns(table: LakeTable): readonly LakeColumn[] {
  return table.columns.filter(({ name }) => name !== table.key);
}

export function selectList(columns: readonly LakeColumn[]): string {
  return columns.map(({ name, type }) => `cast(${identifier(name)} as ${type}) as ${identifier(name)}`).join(',\n    ');
}
