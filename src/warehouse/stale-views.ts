/**
 * Views whose columns had other types when they were made than they have now: the engine gives right values, but tools read the
 * types that the file keeps, and so does whoever reads a copy of it.
 *
 * A run makes the views of its slices again when it widens a column; older versions did not, and nobody else does.
 */

import * as z from 'zod';

import { commentOn } from './declaring.ts';
import { asScript, identifier, statement } from './sql.ts';
import type { Warehouse } from './warehouse.ts';

const viewRow = z.object({
  schema_name: z.string(),
  view_name: z.string(),
  text: z.string(),
  said: z.string().nullable(),
  columns: z.array(z.object({ name: z.string(), type: z.string(), comment: z.string().nullable() })),
});

const boundRow = z.object({ column_type: z.string() });

/**
 * Makes such views again, with the text and the comments they have, in one transaction. A view that cannot be read stays as it is. To
 * be called before the session reads a view: one that was read no longer shows what the file keeps.
 */
export async function renewStaleViews(warehouse: Warehouse): Promise<void> {
  const statements: string[] = [];
  for (const view of await warehouse.rows(statement('publish/views'), [], viewRow)) {
    const now = await warehouse.rows(`describe ${nameOf(view)}`, [], boundRow).catch(() => null);
    const isStale = now?.some(({ column_type: type }, place) => view.columns[place]?.type !== type) ?? false;
    if (isStale) statements.push(...remade(view));
  }
  if (statements.length > 0) await warehouse.transact(async () => warehouse.run(asScript(statements)));
}

type View = z.infer<typeof viewRow>;

const nameOf = ({ schema_name: schema, view_name: view }: View): string => `${identifier(schema)}.${identifier(view)}`;

/** A view that is replaced loses its comments. */
function remade(view: View): string[] {
  const comments = view.columns.flatMap(({ name, comment }) => (comment === null ? [] : [[name, comment] as const]));
  const [ofView, ...ofColumns] = commentOn('view', nameOf(view), view.said ?? '', comments);
  return [
    view.text.replace(/^create view/i, 'create or replace view').replace(/;\s*$/, ''),
    ...(view.said === null ? ofColumns : [ofView ?? '', ...ofColumns]),
  ];
}
