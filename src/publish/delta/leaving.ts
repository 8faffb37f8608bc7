/**
 * What leaves Delta tables: files that nobody needs any more, and tables that were dropped with their slice.
 *
 * Everything is removed once the time for which older versions are kept has passed, by the clock of whatever keeps the files.
 */

import type { Warehouse } from '../../warehouse/warehouse.ts';
import type { SliceFiles } from '../lake-table.ts';
import { publisherOf } from '../other-database.ts';
import { UNFINISHED } from '../replacement.ts';
import type { LakeStore } from '../store.ts';
import { listTables, ownerIn, readTable, type StoredTable } from './commit.ts';
import { checkpointPath, commitPath, HINT, LOG, type Action, type Add } from './log.ts';
import { SLICE } from './table.ts';

/** The tables of a warehouse among those listed. */
export async function ownTables(
  store: LakeStore,
  warehouse: Warehouse,
  listed: ReadonlyMap<string, StoredTable['lying']>,
): Promise<StoredTable[]> {
  const { id } = await publisherOf(warehouse);
  const found: StoredTable[] = [];
  for (const [name, lying] of listed) {
    if (![...lying.keys()].some((path) => path.startsWith(`${LOG}/`))) continue;
    const stored = await readTable(store, warehouse, name, lying);
    if (ownerIn(stored.table) === id) found.push(stored);
  }
  return found;
}

/** The files that a drop of a slice, or of its oldest periods, takes from a table. */
export function droppedFiles({ table }: StoredTable, dropped: SliceFiles | undefined): Add[] {
  if (table === null || dropped === undefined || table.metaData.configuration[SLICE] !== dropped.slice) return [];
  const { before } = dropped;
  const [key = ''] = table.metaData.partitionColumns;
  return [...table.files.values()].filter((add) => before === null || (add.partitionValues[key] ?? before) < before);
}

/** How many files of the newest versions a drop of a slice, or of its oldest periods, takes. */
export async function deltaFilesOfSlice(store: LakeStore, warehouse: Warehouse, dropped: SliceFiles): Promise<number> {
  const tables = await ownTables(store, warehouse, await listTables(store));
  return tables.reduce((sum, stored) => sum + droppedFiles(stored, dropped).length, 0);
}

/** The actions that take files out of a table. */
export const removalsOf = (files: readonly Add[], nowMs: number): Action[] =>
  files.map(({ path, partitionValues, size }) => ({
    remove: { path, deletionTimestamp: nowMs, dataChange: true, extendedFileMetadata: true, partitionValues, size },
  }));

/** Names publishing gives; a file of another name is left alone unless the log says that it was removed. */
const isOwnFile = (path: string): boolean => /(^|\/)ripen-[0-9a-f-]+\.parquet$/.test(path) || path.endsWith(UNFINISHED);

/**
 * Removes what left the table before an instant, what killed runs left, and last the log behind the newest checkpoint from before
 * it: every version since then can still be read. A table that tonight does not have, and that is empty in all of these, goes as a whole.
 */
export async function sweep(
  store: LakeStore,
  stored: StoredTable,
  keptSinceMs: number,
  isTonights: boolean,
): Promise<void> {
  const { name, version, table, lying, log } = stored;
  if (table === null) return;
  const isOld = (path: string): boolean => (lying.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map(decodeURIComponent));
  const removedMs = new Map(
    [...table.tombstones].map(([path, { deletionTimestamp }]) => [decodeURIComponent(path), deletionTimestamp ?? 0]),
  );
  const surplus = [...lying.keys()].filter((path) => {
    if (active.has(path) || (path.startsWith(`${LOG}/`) && !path.endsWith(UNFINISHED))) return false;
    const atMs = removedMs.get(path);
    return atMs === undefined ? isOwnFile(path) && isOld(path) : atMs <= keptSinceMs;
  });
  const versions = [
    ...log.commits.map((each) => ({ version: each, path: commitPath(each) })),
    ...log.checkpoints.map((each) => ({ version: each, path: checkpointPath(each) })),
  ];
  // A checkpoint that a clock that was behind dated follows versions that are kept.
  const kept = Math.min(Infinity, ...versions.flatMap((each) => (isOld(each.path) ? [] : [each.version])));
  const begin = log.checkpoints.findLast((each) => each < kept) ?? 0;
  const isLeaving = !isTonights && active.size === 0 && kept === Infinity && log.checkpoints.includes(version);
  // Whenever it is stopped, what is left is an empty table, as the checkpoint that alone says so goes last.
  const hint = isLeaving && lying.has(HINT) ? [HINT] : [];
  const behind = versions.filter((each) => isLeaving || each.version < begin).map(({ path }) => path);
  for (const path of [...surplus, ...hint, ...behind]) await store.remove(`${name}/${path}`);
}
