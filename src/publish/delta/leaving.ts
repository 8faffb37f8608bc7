/**
 * Deletes what Delta tables no longer need.
 *
 * Surplus files, and tables that were emptied because the warehouse no longer has them, are deleted after the time for which
 * older versions are kept, by the store's clock.
 */

import { UNFINISHED } from '../replacement.ts';
import type { PublishContext, StoredTable } from './commit.ts';
import { checkpointPath, commitPath, HINT, LOG, type Action, type Add } from './log.ts';

/** The actions that remove files from a table. */
export const removalsOf = (files: readonly Add[], nowMs: number): Action[] =>
  files.map(({ path, partitionValues, size }) => ({
    remove: {
      path,
      deletionTimestamp: nowMs,
      dataChange: true,
      extendedFileMetadata: true,
      partitionValues,
      size,
    },
  }));

/** Names that publishing gives to files in a table's folders. Files of other names stay unless the log says they left. */
const OWN_FILE = new RegExp(
  `^(?:[^/]+=[^/]*/|${LOG}/)?(?:ripen-[0-9a-f-]+\\.parquet|[^/]+${UNFINISHED.replace('.', '\\.')})$`,
);

/**
 * Deletes files that were removed up to an instant, files of killed runs, and last the log before the newest checkpoint that is
 * older than the instant: every version since then can be read. An unpublished table's log is deleted once all of it is that
 * old.
 */
export async function sweep(
  { store, keptSinceMs }: PublishContext,
  { name, table, storedFiles, log }: StoredTable,
  isPublished: boolean,
): Promise<void> {
  if (table === null) return;
  const isOld = (path: string): boolean =>
    (storedFiles.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map(decodeURIComponent));
  const removedMs = new Map(
    [...table.tombstones].map(([path, { deletionTimestamp }]) => [
      decodeURIComponent(path),
      deletionTimestamp ?? 0,
    ]),
  );
  const surplus = [...storedFiles.keys()].filter((path) => {
    const atMs = removedMs.get(path);
    if (active.has(path)) return false;
    return atMs === undefined ? OWN_FILE.test(path) && isOld(path) : atMs <= keptSinceMs;
  });
  const versions = [
    ...log.commits.map((each) => ({ version: each, path: commitPath(each) })),
    ...log.checkpoints.map((each) => ({ version: each, path: checkpointPath(each) })),
  ];
  // A checkpoint dated by a clock that was behind may look old and still follow versions that are kept.
  const kept = Math.min(
    Infinity,
    ...versions.flatMap((each) => (isOld(each.path) ? [] : [each.version])),
  );
  const begin = log.checkpoints.findLast((each) => each < kept) ?? 0;
  const isLeaving = !isPublished && kept === Infinity;
  const behind = versions
    .filter((each) => isLeaving || each.version < begin)
    .map(({ path }) => path);
  // Newest first: if this is stopped midway, the older files are still a table, which is emptied again.
  const oldLog = [...(isLeaving ? [HINT] : []), ...behind.toSorted().toReversed()];
  for (const path of [...surplus, ...oldLog]) await store.remove(`${name}/${path}`);
}
