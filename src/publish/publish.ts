/**
 * Publishing: the readable copies, brought up to the warehouse.
 *
 * A snapshot and a lake are projections, never the truth: whatever is lost, half done or out of date is made again from
 * the warehouse, and what is already right is left alone. Readers are never blocked and never block.
 */

import type { Config, PublishTarget } from '../config/config.ts';
import type { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { listTables, ownTables, type StoredTable } from './delta/commit.ts';
import { droppedFiles, releasedFiles, releasedPeriods } from './delta/leaving.ts';
import { publishDelta } from './delta/publish-delta.ts';
import type { SliceFiles } from './lake-table.ts';
import { type LakeTarget, withStore } from './open-store.ts';
import { publisherOf } from './other-database.ts';
import { asPublishFailure, refuseOccupant } from './places.ts';
import { plainFilesOfSlice, publishPlain } from './plain.ts';
import type { CopyReport } from './plan.ts';
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

/**
 * Brings every target up to the warehouse, in configured order; one that fails does not keep the others back. What became of each is
 * handed over as soon as it is done, and returned. Throws the signal's reason.
 */
export async function publish(
  { publish: targets, dropped, confirmedNow = null }: Publishing,
  warehouse: Warehouse,
  { emit, signal }: { readonly emit: Emit; readonly signal: AbortSignal },
  done: (outcome: Published | Failure) => void = () => {},
): Promise<Publication> {
  const published: Published[] = [];
  const failures: Failure[] = [];
  await warehouse.apart(async (session) => {
    for (const target of targets) {
      signal.throwIfAborted();
      const { kind, path } = target;
      const startedAt = performance.now();
      try {
        await refuseOccupant(target, await publisherOf(session), signal);
        const report =
          target.kind === 'duckdb'
            ? await publishSnapshot(session, target, signal)
            : await withStore(target, session, signal, async (store) => {
                const place = { warehouse: session, store, signal };
                return target.kind === 'parquet'
                  ? publishPlain(place, dropped)
                  : publishDelta({ ...place, target }, { dropped, confirmedNow }, emit);
              });
        const copy = { kind, path, ...report };
        published.push(copy);
        done(copy);
        const ms = Math.round(performance.now() - startedAt);
        emit({ type: 'published', kind, path, ms, filesWritten: report.files_written });
      } catch (error) {
        signal.throwIfAborted();
        const failure = asPublishFailure(target, error);
        failures.push(failure);
        done(failure);
      }
    }
  });
  return { published, failures };
}

/** How many files of a slice, or of its oldest periods, lie at a target. */
export async function filesOfSlice(
  target: PublishTarget,
  warehouse: Warehouse,
  files: SliceFiles,
  signal: AbortSignal,
): Promise<number> {
  if (target.kind === 'duckdb') return 0;
  if (target.kind === 'parquet') {
    return withStore(target, warehouse, signal, async (store) => plainFilesOfSlice(store, files));
  }
  const tables = await deltaTablesAt(target, warehouse, signal);
  return tables.reduce((sum, stored) => sum + droppedFiles(stored, files).length, 0);
}

/** What a target with `keep_released` holds of released periods; null for any other target. */
export async function releasedAt(
  target: PublishTarget,
  warehouse: Warehouse,
  signal: AbortSignal,
): Promise<{ readonly periods: number; readonly bytes: number } | null> {
  if (target.kind !== 'delta' || target.keepReleased !== true) return null;
  const released = await releasedPeriods(warehouse);
  const tables = await deltaTablesAt(target, warehouse, signal);
  const files = tables.flatMap((stored) => releasedFiles(stored, released));
  return { periods: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) };
}

/** A warehouse's own tables at a target, as they are in their newest versions. */
async function deltaTablesAt(target: LakeTarget, warehouse: Warehouse, signal: AbortSignal): Promise<StoredTable[]> {
  const { id } = await publisherOf(warehouse);
  return withStore(target, null, signal, async (store) => ownTables(store, warehouse, await listTables(store), id));
}
