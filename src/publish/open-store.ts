/** The store a target lies in, opened for as long as something is done there. */

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { PublishTarget } from '../config/config.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { openDiskStore } from './disk-store.ts';
import { openS3Store } from './s3-store.ts';
import type { LakeStore } from './store.ts';

export type LakeTarget = Exclude<PublishTarget, { kind: 'duckdb' }>;

/** A folder of this machine, beside the warehouse, for drafts; it is cleared. */
export const draftsOf = ({ path }: Pick<Warehouse, 'path'>): string => `${path}.drafts`;

/** Opens what lies at a target, for `use` alone; drafts for a bucket lie beside the warehouse, or, without one, in the temporary folder. Throws as `openS3Store` does. */
export async function withStore<T>(
  { path, mode, store }: Pick<LakeTarget, 'path' | 'mode' | 'store'>,
  warehouse: Pick<Warehouse, 'path'> | null,
  signal: AbortSignal,
  use: (store: LakeStore) => Promise<T>,
): Promise<T> {
  const drafts = warehouse === null ? join(tmpdir(), `ripen-drafts-${randomUUID()}`) : draftsOf(warehouse);
  const opened = store === undefined ? openDiskStore(path, mode) : await openS3Store(path, { store, drafts }, signal);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}
