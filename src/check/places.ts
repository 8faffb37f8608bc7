/** The places a run would write to, on disk and in object stores, looked at without writing. */

import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Config, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { FINALITY } from '../publish/lake-table.ts';
import { withStore } from '../publish/open-store.ts';
import { unwritablePlaces } from '../publish/places.ts';
import { LEAST_FREE_BYTES } from '../terminal/explain.ts';
import { sizeText } from '../terminal/measure.ts';
import { finding, findingOf, type Finding } from './finding.ts';
import type { Checking } from './service.ts';
import { warehouseFindings } from './warehouse.ts';

/** A store that is there answers a list within this; a dead address keeps nobody longer. */
const BUCKET_PATIENCE_MS = 10_000;

/** Destinations that could not be written, are another warehouse's or do not answer, and a warehouse that could not be used. */
export async function placeFindings(config: Config, checking: Checking): Promise<Finding[]> {
  const [unwritable, { findings, lastRunBytes }, ...buckets] = await Promise.all([
    unwritablePlaces(config),
    warehouseFindings(config, checking),
    ...config.publish.map(async (target) => bucketFindings(target, checking.signal)),
  ]);
  const space = await spaceFinding(config.warehouse, 2 * (lastRunBytes ?? 0));
  return [...unwritable.map((failure) => findingOf(failure)), ...findings, space, ...buckets.flat()];
}

/** Whether the disk of the warehouse has room for a run; `needed` is what the last one took, twice. */
async function spaceFinding(warehouse: string, needed: number): Promise<Finding> {
  let folder = dirname(warehouse);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return finding('untried', `the free space at ${folder}, which could not be read`);
  const free = disk.bavail * disk.bsize;
  const least = Math.max(LEAST_FREE_BYTES, needed);
  if (free >= least) return finding('works', `${sizeText(free)} free`);
  const message = `The disk of ${folder} had ${sizeText(free)} free; a run needs ${sizeText(least)}`;
  return findingOf(new Failure('STORAGE_FAILED', message, { hint: `Free space on the disk of ${folder}.` }));
}

async function bucketFindings(target: PublishTarget, signal: AbortSignal): Promise<Finding[]> {
  if (target.kind === 'duckdb' || target.store === undefined) return [];
  const { path } = target;
  const patience = AbortSignal.timeout(BUCKET_PATIENCE_MS);
  try {
    const both = AbortSignal.any([signal, patience]);
    await withStore(target, null, both, async (store) => store.list(FINALITY));
    return [finding('works', `${path} answers`)];
  } catch (thrown) {
    signal.throwIfAborted();
    if (!patience.aborted) return [findingOf(thrown)];
    const message = `The object store of ${path} did not answer within ${BUCKET_PATIENCE_MS / 1000} s`;
    return [findingOf(new Failure('STORAGE_FAILED', message, { hint: 'Check the endpoint and the network.' }))];
  }
}
