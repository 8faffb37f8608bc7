/** Which store a target lies in, and where its drafts are made. */

import type { PublishTarget } from '../config/config.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { openDiskStore } from './disk-store.ts';
import { openS3Store } from './s3-store.ts';
import type { Store } from './store.ts';

export type LakeTarget = Exclude<PublishTarget, { kind: 'duckdb' }>;

/** A folder of this machine, beside the warehouse, for what is made on the way; it is cleared. */
export const draftsOf = ({ path }: Pick<Warehouse, 'path'>): string => `${path}.drafts`;

/** Opens what lies at a target; for a bucket, drafts are made in a folder of this machine. Throws as `openBucket` does. */
export async function openStore(
  { path, mode, store }: LakeTarget,
  drafts: string,
  signal: AbortSignal,
): Promise<Store> {
  return store === undefined ? openDiskStore(path, mode) : openS3Store(path, { store, drafts }, signal);
}
