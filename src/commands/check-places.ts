/** The places on disk a run would write to, looked at without writing. */

import { stat } from 'node:fs/promises';

import type { Config } from '../config/config.ts';
import { asFailure } from '../errors.ts';
import { unwritablePlaces } from '../unwritable-places.ts';
import { findingOf, type Finding } from './finding.ts';
import { withWarehouse } from './open.ts';

/** A check does not wait for a nightly run. */
const NO_WAIT_MS = 0;

/** Destinations that could not be written, and a warehouse that could not be used. */
export async function placeFindings(config: Config): Promise<Finding[]> {
  const unwritable = await unwritablePlaces(config);
  return [...unwritable.map(findingOf), ...(await warehouseFindings(config.warehouse))];
}

async function warehouseFindings(path: string): Promise<Finding[]> {
  try {
    await stat(path);
  } catch {
    return [note(`The warehouse ${path} did not exist yet; the first sync makes it.`)];
  }
  try {
    await withWarehouse(path, { mode: 'read', lockWaitMs: NO_WAIT_MS, emit: () => {} }, async () => {});
    return [];
  } catch (thrown) {
    const failure = asFailure(thrown);
    if (failure.code !== 'WAREHOUSE_LOCKED') return [findingOf(failure)];
    return [{ ...note(`${failure.message} Its version was not checked.`), severity: 'warning' }];
  }
}

function note(message: string): Finding {
  return { severity: 'note', code: null, slice: null, message, hint: null };
}
