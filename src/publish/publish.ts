/**
 * Publishing: the readable copies, brought up to the warehouse.
 *
 * A snapshot and a lake are projections, never the truth: whatever is lost, half done or out of date is made again from
 * the warehouse, and what is already right is left alone. Readers are never blocked and never block.
 */

import type { Config, PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { deltaFilesOfSlice } from './delta/leaving.ts';
import { publishDelta } from './delta/publish-delta.ts';
import type { SliceFiles } from './lake-table.ts';
import { refuseOccupant, visitorOf } from './occupants.ts';
import { withStore } from './open-store.ts';
import { plainFilesOfSlice, publishPlain } from './plain.ts';
import { asPublishFailure, type CopyReport } from './report.ts';
import { publishSnapshot } from './snapshot.ts';

/** A copy that is up to the warehouse now, and what that took. */
export interface Published extends CopyReport {
  readonly kind: PublishTarget['kind'];
  readonly path: string;
}

export interface Publication {
  readonly published: readonly Published[];
  /** One per target that stayed as it was: `WAREHOUSE_FOREIGN`, `STORAGE_FAILED`, `USAGE_INVALID`, or `BUG` for what nobody foresaw. */
  readonly failures: readonly Failure[];
}

/** What is published, and where. */
export interface Publishing extends Pick<Config, 'publish'> {
  /** What lakes are to keep no trace of. */
  readonly dropped?: SliceFiles;
  /** Now, where answers of the service agree with this machine's clock; without it nothing is removed for its age. */
  readonly confirmedNow?: Date | null;
}

/** Brings every target up to the warehouse, as `publishEach` does, and returns what became of them. */
export async function publish(
  publishing: Publishing,
  warehouse: Warehouse,
  emit: Emit,
  signal: AbortSignal,
): Promise<Publication> {
  const published: Published[] = [];
  const failures: Failure[] = [];
  await publishEach(publishing, warehouse, { emit, signal }, (outcome) => {
    if (outcome instanceof Failure) failures.push(outcome);
    else published.push(outcome);
  });
  return { published, failures };
}

/**
 * Brings every target up to the warehouse, in configured order, and hands over what became of each as soon as it is done; one that
 * fails does not keep the others back. Throws the signal's reason.
 */
export async function publishEach(
  { publish: targets, ...publishing }: Publishing,
  warehouse: Warehouse,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
  done: (outcome: Published | Failure) => void,
): Promise<void> {
  await warehouse.apart(async (session) => {
    for (const target of targets) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      try {
        await refuseOccupant(target, await visitorOf(session, signal));
        const report = await publishTarget(target, session, { ...publishing, emit, signal });
        const { kind, path } = target;
        const ms = Math.round(performance.now() - startedAt);
        done({ kind, path, ...report });
        emit({ type: 'published', kind, path, ms, filesWritten: report.files_written });
      } catch (error) {
        signal.throwIfAborted();
        done(asPublishFailure(target, error));
      }
    }
  });
}

async function publishTarget(
  target: PublishTarget,
  warehouse: Warehouse,
  night: Omit<Publishing, 'publish'> & { readonly emit: Emit; readonly signal: AbortSignal },
): Promise<CopyReport> {
  const { dropped, confirmedNow = null, emit, signal } = night;
  if (target.kind === 'duckdb') return publishSnapshot(warehouse, target, signal);
  return withStore(target, warehouse, signal, async (store) =>
    target.kind === 'parquet'
      ? publishPlain(warehouse, store, { dropped, signal })
      : publishDelta({ warehouse, store, target, signal }, { dropped, confirmedNow }, emit),
  );
}

/** How many files of a slice, or of its oldest periods, lie at a target. */
export async function filesOfSlice(
  target: PublishTarget,
  warehouse: Warehouse,
  files: SliceFiles,
  signal: AbortSignal,
): Promise<number> {
  if (target.kind === 'duckdb') return 0;
  return withStore(target, warehouse, signal, async (store) =>
    target.kind === 'delta' ? deltaFilesOfSlice(store, warehouse, files) : plainFilesOfSlice(store, files),
  );
}
