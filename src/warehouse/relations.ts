/** The tables and views that analysts query, as DuckDB describes them. */

import * as z from 'zod';

import { cachedRead } from './cached-reads.ts';
import { columnTypes, identifier, jsonOf, statement } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

/** Whether a view's column collides with a slice's, ignoring case. */
export function namesCollide(
  columns: readonly string[],
  own: readonly (readonly [name: string, ...unknown[]])[],
): boolean {
  const names = new Set(columns.map((name) => name.toLowerCase()));
  return own.some(([name]) => names.has(name.toLowerCase()));
}

const relationRow = z.object({ name: z.string(), is_table: z.boolean(), state: z.string() });

/** By name, with the schema and without quotes. Columns would take longer. */
export const readRelations = cachedRead(async (warehouse) => {
  const rows = await warehouse.rows(statement('ledger/relations'), [], relationRow);
  return new Map(rows.map((row) => [row.name, row]));
}, 'relations');

/** With the type in DuckDB's words. */
const columnShape = z.object({
  name: z.string(),
  type: z.string(),
  comment: z.string().nullable(),
});
export type RelationColumn = Readonly<z.infer<typeof columnShape>>;

const describedRow = z.object({
  schema: z.string(),
  name: z.string(),
  isTable: z.boolean(),
  comment: z.string().nullable(),
  columns: jsonOf(z.array(columnShape).readonly()),
});
export type Relation = Readonly<Omit<z.infer<typeof describedRow>, 'schema'>>;

const readDescribed = cachedRead(
  (warehouse) => warehouse.rows(statement('publish/relations'), [], describedRow),
  'relations',
);

export async function relationsIn(
  warehouse: Warehouse,
  schema: string,
): Promise<ReadonlyMap<string, Relation>> {
  const described = (await readDescribed(warehouse)).filter((row) => row.schema === schema);
  return new Map(described.map((relation) => [relation.name, relation]));
}

/** Returns columns with their current types: for a view, DuckDB keeps those from when it was made. */
export async function columnsNow(
  warehouse: Warehouse,
  schema: string,
  { name: relation, isTable, columns }: Relation,
): Promise<readonly RelationColumn[]> {
  if (isTable) return columns;
  const types = await columnTypes(warehouse, `${identifier(schema)}.${identifier(relation)}`);
  return columns.map((column) => ({ ...column, type: types.get(column.name) ?? column.type }));
}
