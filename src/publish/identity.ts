/** Whose copy a copy is: every warehouse has an id that its copies state, so that none takes the place of another's. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { isUnknownToEngine, type Warehouse } from '../warehouse/warehouse.ts';
import type { Database } from './other-database.ts';

/** A warehouse as its copies know it; the id is null where there is none yet. */
export interface Identity {
  readonly path: string;
  readonly id: string | null;
}

const idRow = z.object({ id: z.string() });

/** The id a warehouse, or a snapshot of one, states; null where it states none. */
export async function statedIdOf(database: Database): Promise<string | null> {
  const rows = database.rows('select id::varchar as id from ripen.warehouse_identity', [], idRow);
  const [found] = await rows.catch((error: unknown) => {
    if (isUnknownToEngine(error)) return [];
    throw error;
  });
  return found?.id ?? null;
}

/** Who an open warehouse is. */
export async function identityOf(warehouse: Warehouse): Promise<Identity> {
  return { path: warehouse.path, id: await statedIdOf(warehouse) };
}

/** What copies state of a warehouse. */
export const ownerOf = ({ id, path }: Identity): string => id ?? path;

/** Throws `WAREHOUSE_FOREIGN` where a copy states another id than the warehouse has. */
export function refuseOthers(copy: string, stated: string | null, own: Identity): void {
  if (stated === null || stated === own.id) return;
  throw new Failure(
    'WAREHOUSE_FOREIGN',
    `The publish target ${copy} was a copy of the warehouse ${stated}, not of ${own.path}, which is ${own.id ?? 'new'}.`,
    {
      facts: { target: copy, found: stated, expected: own.id },
      hint: 'Publish to a path of its own. If its warehouse was lost, copy the published snapshot to its place, or move the copy away to begin anew.',
    },
  );
}
