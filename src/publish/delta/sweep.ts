/** Files nobody needs any more: removed once the time for which older versions are kept has passed. */

import type { Database } from '../other-database.ts';
import { UNFINISHED } from '../replacement.ts';
import { checkpointNewest, type Standing } from './commit.ts';
import { checkpointPath, commitPath, HINT, LOG, type Table } from './log.ts';
import type { DeltaStore } from './delta-store.ts';

/** Names publishing gives; a file of another name is left alone unless the log says that it went. */
const isOwnFile = (path: string): boolean => /(^|\/)ripen-[0-9a-f-]+\.parquet$/.test(path) || path.endsWith(UNFINISHED);

/**
 * What left the table before an instant, what killed runs left, and last the log behind the newest checkpoint from before
 * it: every version since then can still be asked for. Paths within the table.
 */
export function surplusOf({ lying, log }: Standing, table: Table, keptSinceMs: number): string[] {
  const isOld = (path: string): boolean => (lying.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map((path) => decodeURIComponent(path)));
  const wentMs = new Map(
    [...table.tombstones].map(([path, { deletionTimestamp }]) => [decodeURIComponent(path), deletionTimestamp ?? 0]),
  );
  const paths = [
    ...log.commits.map((version) => ({ version, path: commitPath(version) })),
    ...log.checkpoints.map((version) => ({ version, path: checkpointPath(version) })),
  ];
  // A checkpoint that a clock that was behind dated follows versions that are kept.
  const kept = Math.min(Infinity, ...paths.flatMap(({ version, path }) => (isOld(path) ? [] : [version])));
  const begin = log.checkpoints.findLast((version) => version < kept) ?? 0;
  const surplus = [...lying.keys()].filter((path) => {
    if (active.has(path)) return false;
    if (path.startsWith(`${LOG}/`) && !path.endsWith(UNFINISHED)) return false;
    const went = wentMs.get(path);
    if (went !== undefined) return went <= keptSinceMs;
    return isOwnFile(path) && isOld(path);
  });
  return [
    ...surplus,
    ...log.commits.filter((version) => version < begin).map(commitPath),
    ...log.checkpoints.filter((version) => version < begin).map(checkpointPath),
  ];
}

/** Removes files of a table, in order. */
export async function sweep(store: DeltaStore, name: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) await store.remove(`${name}/${path}`);
}

/**
 * Removes a table whose newest version has no files, and its folder unless somebody else's files lie there. Whenever it
 * is stopped, what is left is that version: the checkpoint that alone says it is made first and removed last.
 */
export async function removeTable(store: DeltaStore, database: Database, standing: Standing): Promise<void> {
  const { name, version, lying } = standing;
  await checkpointNewest(store, database, standing);
  const last = version < 0 ? [] : [HINT, commitPath(version), checkpointPath(version)];
  const isOwn = (path: string): boolean => path.startsWith(`${LOG}/`) || isOwnFile(path);
  await sweep(store, name, [...[...lying.keys()].filter((path) => isOwn(path) && !last.includes(path)), ...last]);
  await store.removeFolders(name);
}
