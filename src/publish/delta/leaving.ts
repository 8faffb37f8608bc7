/**
 * What leaves Delta tables: files that nobody needs any more, and tables that a night no longer has, as they were dropped with
 * their slice or taken out of the configuration.
 *
 * `ripen_finality` lists every table, so that no other folders need be looked through. Everything is removed once the time for
 * which older versions are kept has passed, by the clock of whatever keeps the files.
 */

import * as z from 'zod';

import type { Warehouse } from '../../warehouse/warehouse.ts';
import { identityOf, ownerOf } from '../identity.ts';
import { linksOf, type SliceFiles } from '../lake-table.ts';
import type { Database } from '../other-database.ts';
import { UNFINISHED } from '../replacement.ts';
import { draftsOf, openStore, type LakeTarget } from '../open-store.ts';
import type { Store } from '../store.ts';
import { checkpointNewest, OWNER, readTable, type Standing } from './commit.ts';
import { checkpointPath, commitPath, HINT, LOG, understood, type Add, type Table } from './log.ts';
import { SLICE, TABLES } from './table.ts';

/** A table that the night does not have, and the files that are dropped of it tonight. */
export interface Away {
  readonly standing: Standing;
  readonly dropped: readonly Add[];
}

interface Leaving {
  /** The tables of the night; what is final is the last. */
  readonly standings: readonly Standing[];
  readonly dropping: SliceFiles | undefined;
  readonly owner: string;
}

/** The tables of a warehouse that a night does not have, of those listed and those of a dropped slice. Removes empty folders. */
export async function findAway(store: Store, database: Database, leaving: Leaving): Promise<Away[]> {
  const { standings, dropping, owner } = leaving;
  const names = new Set(standings.map(({ name }) => name));
  const listed = listedIn(standings.at(-1)?.table ?? null);
  const ofSlice = dropping === undefined ? [] : tablesOf(dropping);
  const found: Away[] = [];
  for (const name of new Set([...listed, ...ofSlice])) {
    if (names.has(name)) continue;
    const standing = await readTable(store, database, name);
    if (standing.table?.metaData.configuration[OWNER] !== owner) {
      if (standing.table === null) await store.removeFolders(name);
      continue;
    }
    found.push({ standing, dropped: droppedOf(standing.table, dropping) });
  }
  return found;
}

function listedIn(table: Table | null): string[] {
  const text = table?.metaData.configuration[TABLES] ?? '[]';
  return understood(`${table?.metaData.name ?? ''}/${LOG}`, () => z.array(z.string()).parse(JSON.parse(text)));
}

const tablesOf = ({ slice }: SliceFiles): string[] => [slice, linksOf(slice)];

/** The files that a drop of a slice, or of its oldest periods, takes from a table. */
function droppedOf({ metaData, files }: Table, dropping: SliceFiles | undefined): Add[] {
  if (dropping === undefined || metaData.configuration[SLICE] !== dropping.slice) return [];
  const { before } = dropping;
  const [key = ''] = metaData.partitionColumns;
  return [...files.values()].filter(
    ({ partitionValues }) => before === null || (partitionValues[key] ?? before) < before,
  );
}

/** How many files of a target's newest versions a drop of a slice, or of its oldest periods, takes. */
export async function deltaFilesOfSlice(
  target: LakeTarget,
  warehouse: Warehouse,
  files: SliceFiles,
  signal: AbortSignal,
): Promise<number> {
  const store = await openStore(target, draftsOf(warehouse), signal);
  try {
    const owner = ownerOf(await identityOf(warehouse));
    const away = await findAway(store, warehouse, { standings: [], dropping: files, owner });
    return away.reduce((sum, { dropped }) => sum + dropped.length, 0);
  } finally {
    await store.close();
  }
}

/** Names publishing gives; a file of another name is left alone unless the log says that it was removed. */
const isOwnFile = (path: string): boolean => /(^|\/)ripen-[0-9a-f-]+\.parquet$/.test(path) || path.endsWith(UNFINISHED);

/**
 * Removes what left the table before an instant, what killed runs left, and last the log behind the newest checkpoint from before
 * it: every version since then can still be read.
 */
export async function sweep(store: Store, standing: Standing, table: Table, keptSinceMs: number): Promise<void> {
  await removeAll(store, standing.name, surplusOf(standing, table, keptSinceMs));
}

function surplusOf({ lying, log }: Standing, table: Table, keptSinceMs: number): string[] {
  const isOld = (path: string): boolean => (lying.get(path)?.modifiedMs ?? Infinity) <= keptSinceMs;
  const active = new Set([...table.files.keys()].map((path) => decodeURIComponent(path)));
  const removedMs = new Map(
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
    if (active.has(path) || (path.startsWith(`${LOG}/`) && !path.endsWith(UNFINISHED))) return false;
    const atMs = removedMs.get(path);
    return atMs === undefined ? isOwnFile(path) && isOld(path) : atMs <= keptSinceMs;
  });
  return [...surplus, ...paths.filter(({ version }) => version < begin).map(({ path }) => path)];
}

/** Removes what nobody needs any more of tables that were away before tonight; one that is empty in every version that is kept goes as a whole. */
export async function sweepAway(
  store: Store,
  database: Database,
  away: readonly Away[],
  keptSinceMs: number,
): Promise<void> {
  for (const { standing, dropped } of away) {
    const { table, lying } = standing;
    if (table === null || dropped.length > 0) continue;
    const isOld = [...lying].every(([path, { modifiedMs }]) => !path.startsWith(LOG) || modifiedMs <= keptSinceMs);
    if (table.files.size === 0 && isOld) await removeTable(store, database, standing);
    else await sweep(store, standing, table, keptSinceMs);
  }
}

/**
 * Removes a table whose newest version has no files, and its folder unless somebody else's files lie there. Whenever it
 * is stopped, what is left is that version: the checkpoint that alone says it is made first and removed last.
 */
async function removeTable(store: Store, database: Database, standing: Standing): Promise<void> {
  const { name, version, lying } = standing;
  await checkpointNewest(store, database, standing);
  const last = [HINT, commitPath(version), checkpointPath(version)];
  const isOwn = (path: string): boolean => path.startsWith(`${LOG}/`) || isOwnFile(path);
  const first = [...lying.keys()].filter((path) => isOwn(path) && !last.includes(path));
  await removeAll(store, name, [...first, ...last]);
  await store.removeFolders(name);
}

async function removeAll(store: Store, name: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) await store.remove(`${name}/${path}`);
}
