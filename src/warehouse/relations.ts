/** The tables and views that analysts query, as the engine describes them. */

import * as z from 'zod';

import { remembering } from './remembering.ts';
import { columnTypes, identifier, statement } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

export interface RelationColumn {
  readonly name: string;
  /** As the engine writes it. */
  readonly type: string;
  readonly comment: string | null;
}

/** A table or view that lasts. */
export interface Relation {
  readonly name: string;
  readonly isTable: boolean;
  readonly comment: string | null;
  /** In its own order. */
  readonly columns: readonly RelationColumn[];
}

/** Whether a view can give some columns of a slice beside its own, as none of them has the name of one, whatever its letter case. */
export function areApart(columns: readonly string[], own: readonly (readonly [name: string, ...unknown[]])[]): boolean {
  const names = new Set(columns.map((name) => name.toLowerCase()));
  return own.every(([name]) => !names.has(name.toLowerCase()));
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

/** Those of a schema by name, in order of their names. Read once between two changes of any. */
export async function relationsIn(warehouse: Warehouse, schema: string): Promise<ReadonlyMap<string, Relation>> {
  const found = new Map<string, Relation & { readonly columns: RelationColumn[] }>();
  for (const { schema_name: of, relation, is_table: isTable, relation_comment, ...column } of await readColumns(
    warehouse,
  )) {
    if (of !== schema) continue;
    const entry = found.get(relation) ?? { name: relation, isTable, comment: relation_comment, columns: [] };
    found.set(relation, entry);
    entry.columns.push(column);
  }
  return found;
}

/** The columns of one table or view of `main`, in the types it gives now; none where it does not exist. */
export async function columnsOf(warehouse: Warehouse, relation: string): Promise<readonly RelationColumn[]> {
  const found = (await relationsIn(warehouse, 'main')).get(relation);
  return found === undefined ? [] : columnsNow(warehouse, 'main', found);
}

/** The columns of a relation in the types it gives now: the engine remembers a view with those from when it was made. */
export async function columnsNow(
  warehouse: Warehouse,
  schema: string,
  { name: relation, isTable, columns }: Relation,
): Promise<readonly RelationColumn[]> {
  if (isTable) return columns;
  const types = await columnTypes(warehouse, `${identifier(schema)}.${identifier(relation)}`);
  return columns.map((column) => ({ ...column, type: types.get(column.name) ?? column.type }));
}
