/** Files nobody needs any more: removed once the time for which older versions are kept has passed. */

import type { Standing } from './commit.ts';
import { checkpointPath, commitPath, LOG, type Table } from './log.ts';
import type { DeltaStore } from './store.ts';

/** Names publishing gives; a file of another name is left alone unless the log says that it went. */
const OWN_FILE = /(^|\/)ripen-[0-9a-f-]+\.parquet$|\.ripen-unfinished$/;

/**
 * Removes what left the table before an instant, what killed runs left, and the log behind the newest checkpoint from
 * before it: every version since then can still be asked for.
 */
export async function sweepTable(
  store: DeltaStore,
  { name, lying, log }: Standing,
  table: Table,
  keptSinceMs: number,
): Promise<number> {
  const isOld = (path: string): boolean => (lying.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map((path) => decodeURIComponent(path)));
  const wentMs = new Map(
    [...table.tombstones].map(([path, { deletionTimestamp }]) => [decodeURIComponent(path), deletionTimestamp ?? 0]),
  );
  const begin = log.checkpoints.findLast((version) => isOld(checkpointPath(version))) ?? 0;
  const surplus = [...lying.keys()].filter((path) => {
    if (active.has(path)) return false;
    if (path.startsWith(`${LOG}/`) && !path.endsWith(UNFINISHED)) return false;
    const went = wentMs.get(path);
    if (went !== undefined) return went <= keptSinceMs;
    return OWN_FILE.test(path) && isOld(path);
  });
  const behind = [
    ...log.commits.filter((version) => version < begin).map(commitPath),
    ...log.checkpoints.filter((version) => version < begin).map(checkpointPath),
  ];
  for (const path of [...surplus, ...behind]) await store.remove(`${name}/${path}`);
  return surplus.length;
}

const UNFINISHED = '.ripen-unfinished';
