/**
 * What leaves Delta tables: files that nobody needs any more, and tables that a night no longer has, as they were dropped with
 * their slice or taken out of the configuration.
 *
 * Everything is removed once the time for which older versions are kept has passed, by the clock of whatever keeps the files.
 */

import type { Warehouse } from '../../warehouse/warehouse.ts';
import { identityOf, ownerOf } from '../identity.ts';
import type { SliceFiles } from '../lake-table.ts';
import type { Database } from '../other-database.ts';
import { UNFINISHED } from '../replacement.ts';
import type { Store } from '../store.ts';
import { listTables, ownerIn, readTable, type Standing } from './commit.ts';
import { checkpointPath, commitPath, HINT, LOG, type Add, type Table } from './log.ts';
import { SLICE } from './table.ts';

/** A table that the night does not have, and the files that are dropped of it tonight. */
export interface Away {
  readonly standing: Standing;
  readonly dropped: readonly Add[];
  /** Whether the night commits to it: to drop files, or for the checkpoint that an empty table is removed behind. */
  readonly isCommitted: boolean;
}

/** The tables of a warehouse among those listed that a night does not have. */
export async function findAway(
  store: Store,
  database: Database,
  {
    listed,
    owner,
    dropping,
  }: {
    readonly listed: ReadonlyMap<string, Standing['lying']>;
    readonly owner: string;
    readonly dropping: SliceFiles | undefined;
  },
): Promise<Away[]> {
  const found: Away[] = [];
  for (const [name, lying] of listed) {
    if (![...lying.keys()].some((path) => path.startsWith(`${LOG}/`))) continue;
    const standing = await readTable(store, database, name, lying);
    const { table, version, log } = standing;
    if (table === null || ownerIn(table) !== owner) continue;
    const dropped = droppedOf(table, dropping);
    const isCommitted = dropped.length > 0 || (table.files.size === 0 && !log.checkpoints.includes(version));
    found.push({ standing, dropped, isCommitted });
  }
  return found;
}

/** The files that a drop of a slice, or of its oldest periods, takes from a table. */
function droppedOf({ metaData, files }: Table, dropping: SliceFiles | undefined): Add[] {
  if (dropping === undefined || metaData.configuration[SLICE] !== dropping.slice) return [];
  const { before } = dropping;
  const [key = ''] = metaData.partitionColumns;
  return [...files.values()].filter(
    ({ partitionValues }) => before === null || (partitionValues[key] ?? before) < before,
  );
}

/** How many files of the newest versions a drop of a slice, or of its oldest periods, takes. */
export async function deltaFilesOfSlice(store: Store, warehouse: Warehouse, dropping: SliceFiles): Promise<number> {
  const owner = ownerOf(await identityOf(warehouse));
  const away = await findAway(store, warehouse, { listed: await listTables(store), owner, dropping });
  return away.reduce((sum, { dropped }) => sum + dropped.length, 0);
}

/** Names publishing gives; a file of another name is left alone unless the log says that it was removed. */
const isOwnFile = (path: string): boolean => /(^|\/)ripen-[0-9a-f-]+\.parquet$/.test(path) || path.endsWith(UNFINISHED);

/**
 * Removes what left the table before an instant, what killed runs left, and last the log behind the newest checkpoint from before
 * it: every version since then can still be read.
 */
export async function sweep(store: Store, standing: Standing, table: Table, keptSinceMs: number): Promise<void> {
  const { lying, log } = standing;
  const isOld = (path: string): boolean => (lying.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map((path) => decodeURIComponent(path)));
  const removedMs = new Map(
    [...table.tombstones].map(([path, { deletionTimestamp }]) => [decodeURIComponent(path), deletionTimestamp ?? 0]),
  );
  const versions = [
    ...log.commits.map((version) => ({ version, path: commitPath(version) })),
    ...log.checkpoints.map((version) => ({ version, path: checkpointPath(version) })),
  ];
  // A checkpoint that a clock that was behind dated follows versions that are kept.
  const kept = Math.min(Infinity, ...versions.flatMap(({ version, path }) => (isOld(path) ? [] : [version])));
  const begin = log.checkpoints.findLast((version) => version < kept) ?? 0;
  const surplus = [...lying.keys()].filter((path) => {
    if (active.has(path) || (path.startsWith(`${LOG}/`) && !path.endsWith(UNFINISHED))) return false;
    const atMs = removedMs.get(path);
    return atMs === undefined ? isOwnFile(path) && isOld(path) : atMs <= keptSinceMs;
  });
  const behind = versions.filter(({ version }) => version < begin).map(({ path }) => path);
  await removeAll(store, standing.name, [...surplus, ...behind]);
}

/** Removes what nobody needs any more of tables that were away before tonight; one that is empty in every version that is kept goes as a whole. */
export async function sweepAway(store: Store, away: readonly Away[], keptSinceMs: number): Promise<void> {
  for (const { standing, isCommitted } of away) {
    const { name, version, table, lying } = standing;
    if (table === null || isCommitted) continue;
    const isOld = [...lying].every(([path, { modifiedMs }]) => !path.startsWith(LOG) || modifiedMs <= keptSinceMs);
    if (table.files.size > 0 || !isOld) {
      await sweep(store, standing, table, keptSinceMs);
      continue;
    }
    // Whenever it is stopped, what is left is an empty table, as the checkpoint that alone says so goes last.
    const last = [HINT, commitPath(version), checkpointPath(version)];
    const isOwn = (path: string): boolean => path.startsWith(`${LOG}/`) || isOwnFile(path);
    const first = [...lying.keys()].filter((path) => isOwn(path) && !last.includes(path));
    await removeAll(store, name, [...first, ...last]);
  }
}

async function removeAll(store: Store, name: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) await store.remove(`${name}/${path}`);
}
