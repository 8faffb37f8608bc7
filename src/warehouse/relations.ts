/** The tables and views that analysts query, as DuckDB describes them. */

import * as z from 'zod';

import { remembering } from './remembering.ts';
import { columnTypes, identifier, statement } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

export interface RelationColumn {
  readonly name: string;
  /** As DuckDB writes it. */
  readonly type: string;
  readonly comment: string | null;
}

/** A permanent table or view. */
export interface Relation {
  readonly name: string;
  readonly isTable: boolean;
  readonly comment: string | null;
  /** In the relation's own order. */
  readonly columns: readonly RelationColumn[];
}

/** Whether one of a view's columns has the name of a slice's column, ignoring case. */
export function namesCollide(
  columns: readonly string[],
  own: readonly (readonly [name: string, ...unknown[]])[],
): boolean {
  const names = new Set(columns.map((name) => name.toLowerCase()));
  return own.some(([name]) => names.has(name.toLowerCase()));
}

const columnRow = z.object({
  schema_name: z.string(),
  relation: z.string(),
  is_table: z.boolean(),
  relation_comment: z.string().nullable(),
  name: z.string(),
  type: z.string(),
  comment: z.string().nullable(),
});

const readColumns = remembering(
  (warehouse) => warehouse.rows(statement('publish/relations'), [], columnRow),
  'relations',
);

/** The tables and views of a schema, by name and in order of names. Read once between two changes of any of them. */
export async function relationsIn(
  warehouse: Warehouse,
  schema: string,
): Promise<ReadonlyMap<string, Relation>> {
  const found = new Map<string, Relation & { readonly columns: RelationColumn[] }>();
  for (const {
    schema_name: of,
    relation,
    is_table: isTable,
    relation_comment,
    ...column
  } of await readColumns(warehouse)) {
    if (of !== schema) continue;
    const entry = found.get(relation) ?? {
      name: relation,
      isTable,
      comment: relation_comment,
      columns: [],
    };
    found.set(relation, entry);
    entry.columns.push(column);
  }
  return found;
}

/** The columns of a table or view of `main`, with their current types; empty if it does not exist. */
export async function columnsOf(
  warehouse: Warehouse,
  relation: string,
): Promise<readonly RelationColumn[]> {
  const found = (await relationsIn(warehouse, 'main')).get(relation);
  return found === undefined ? [] : columnsNow(warehouse, 'main', found);
}

/** The columns of a relation with their current types: for a view, DuckDB keeps the types from when it was made. */
export async function columnsNow(
  warehouse: Warehouse,
  schema: string,
  { name: relation, isTable, columns }: Relation,
): Promise<readonly RelationColumn[]> {
  if (isTable) return columns;
  const types = await columnTypes(warehouse, `${identifier(schema)}.${identifier(relation)}`);
  return columns.map((column) => ({ ...column, type: types.get(column.name) ?? column.type }));
}
