/** The places a run would write to, on disk and in object stores, looked at without writing. */

import { stat } from 'node:fs/promises';

import type { Config, PublishTarget } from '../config/config.ts';
import { asFailure } from '../errors.ts';
import { copiesOfOthers, identityOf, type Identity } from '../publish/identity.ts';
import { askBucket } from '../publish/s3-lake.ts';
import { unwritablePlaces } from '../unwritable-places.ts';
import { findingOf, type Finding } from './finding.ts';
import { withWarehouse } from './open.ts';

/** A check does not wait for a nightly run. */
const NO_WAIT_MS = 0;

/** Destinations that could not be written, are another warehouse's or do not answer, and a warehouse that could not be used. */
export async function placeFindings(config: Config, signal: AbortSignal): Promise<Finding[]> {
  const [unwritable, warehouse, ...buckets] = await Promise.all([
    unwritablePlaces(config),
    warehouseFindings(config, signal),
    ...config.publish.map(async (target) => bucketFindings(target, signal)),
  ]);
  return [...unwritable.map(findingOf), ...warehouse, ...buckets.flat()];
}

async function bucketFindings(target: PublishTarget, signal: AbortSignal): Promise<Finding[]> {
  if (target.kind !== 'parquet' || target.store === undefined) return [];
  try {
    await askBucket(target.store, signal);
    return [];
  } catch (thrown) {
    signal.throwIfAborted();
    return [findingOf(thrown)];
  }
}

async function warehouseFindings({ warehouse: path, publish }: Config, signal: AbortSignal): Promise<Finding[]> {
  const othersIn = async (own: Identity): Promise<Finding[]> =>
    (await copiesOfOthers(publish, own, signal)).map(findingOf);
  try {
    await stat(path);
  } catch {
    const isNew = note(`The warehouse ${path} did not exist yet; the first sync makes it.`);
    return [isNew, ...(await othersIn({ path, id: null }))];
  }
  try {
    const request = { mode: 'read', lockWaitMs: NO_WAIT_MS, emit: () => {} } as const;
    return await othersIn(await withWarehouse(path, request, identityOf));
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = asFailure(thrown);
    if (failure.code !== 'WAREHOUSE_LOCKED') return [findingOf(failure)];
    return [{ ...note(`${failure.message} Its version was not checked.`), severity: 'warning' }];
  }
}

function note(message: string): Finding {
  return { severity: 'note', code: null, slice: null, message, hint: null };
}
