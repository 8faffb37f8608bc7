/**
 * Whose copy a copy is. Every warehouse has an id that its copies state, so that none takes the place of another's; a
 * copy from before there were ids belongs to whoever publishes there next.
 */

import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as z from 'zod';

import type { PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { isUnknownToEngine, type Warehouse } from '../warehouse/warehouse.ts';
import { committedBy } from './delta/delta-table.ts';
import { openTables, type DeltaTarget } from './delta/store.ts';
import { FINALITY } from './lake-table.ts';
import { localText } from './local-lake.ts';
import { MANIFEST, statedWarehouse } from './manifest.ts';
import { askOccupant, type Looking } from './occupant.ts';
import type { Database } from './other-database.ts';
import { otherKindAt } from './other-kind.ts';
import { textInBucket } from './s3-lake.ts';

/** A warehouse as its copies know it; the id is null where there is none yet. */
export interface Identity {
  readonly path: string;
  readonly id: string | null;
}

const idRow = z.object({ id: z.string() });

/** The id a warehouse, or a snapshot of one, states; null where it states none. */
export async function statedIdOf(database: Database): Promise<string | null> {
  const asked = database.rows('select id::varchar as id from ripen.warehouse_identity', [], idRow);
  const [found] = await asked.catch((error: unknown) => {
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

/**
 * The targets that are other warehouses or copies of them, or in a bucket hold copies of another kind, a failure each. What cannot
 * be read, or is no copy at all, is for publishing to tell.
 */
export async function copiesOfOthers(
  targets: readonly PublishTarget[],
  own: Identity,
  looking: Looking,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const target of targets) {
    const stated = await statedThere(target, looking).catch(() => null);
    const isInBucket = target.kind !== 'duckdb' && target.store !== undefined;
    const otherKind = isInBucket ? await otherKindAt(target, looking.signal).catch(() => null) : null;
    if (otherKind !== null) failures.push(otherKind);
    looking.signal.throwIfAborted();
    try {
      refuseOthers(target.path, stated, own);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failures.push(error);
    }
  }
  return failures;
}

async function statedThere(target: PublishTarget, looking: Looking): Promise<string | null> {
  const { path } = target;
  if (target.kind === 'delta') return statedInTables(target, looking.signal);
  if (target.kind === 'duckdb') {
    const found = await stat(path);
    return found.isFile() && found.size > 0 ? askOccupant(path, statedIdOf, looking) : null;
  }
  const { store } = target;
  return statedWarehouse(
    await (store === undefined ? localText(path, MANIFEST) : textInBucket(store, MANIFEST, looking.signal)),
  );
}

async function statedInTables(target: DeltaTarget, signal: AbortSignal): Promise<string | null> {
  // Nothing is drafted to ask.
  const store = await openTables(target, join(tmpdir(), `ripen-asking-${randomUUID()}`), signal);
  try {
    return await committedBy(store, FINALITY);
  } finally {
    await store.close();
  }
}
