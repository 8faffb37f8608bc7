/** What a lake should hold, what it holds, and so what has to be done. */

import type { Warehouse } from '../warehouse/warehouse.ts';
import { wantedFiles, type WantedFile } from './lake-files.ts';
import { pathsOf, type LakeStore, type SliceFiles, type StoredFile } from './lake-store.ts';
import { lakeTables, type LakeTable } from './lake-table.ts';
import type { KnownLake } from './manifest.ts';
import type { Reason } from './report.ts';

export interface Work {
  readonly tables: readonly LakeTable[];
  readonly files: readonly WantedFile[];
  readonly stored: ReadonlyMap<string, StoredFile>;
  /** The files to write, with the reason for each. */
  readonly stale: ReadonlyMap<WantedFile, Reason>;
  /** Files of periods that are gone. */
  readonly gone: readonly string[];
}

/** Compares the warehouse with a lake, which keeps no trace of what was dropped of a slice; writes nothing. */
export async function findWork(
  without: SliceFiles | undefined,
  warehouse: Warehouse,
  store: LakeStore,
  known: KnownLake,
): Promise<Work> {
  const tables = await lakeTables(warehouse);
  const files: WantedFile[] = [];
  const stored = new Map<string, StoredFile>();
  for (const table of tables) {
    files.push(...(await wantedFiles(warehouse, table, known)));
    for (const [path, file] of await store.files(table.name)) stored.set(path, file);
  }
  const stale = new Map<WantedFile, Reason>();
  for (const file of files) {
    const reason = staleBecause(file, stored.get(file.path) ?? null, known);
    if (reason !== null) stale.set(file, reason);
  }
  const wanted = new Set(files.map(({ path }) => path));
  const unwanted = (path: string): boolean => !wanted.has(path);
  const dropped = without === undefined ? [] : await pathsOf(store, without);
  const gone = [...new Set([...stored.keys(), ...dropped])].filter(unwanted);
  return { tables, files, stored, stale, gone };
}

/** Why a file has to be written, from the content it should have; null when it lies there as it was written. */
function staleBecause(
  wanted: { readonly path: string; readonly content: string },
  stored: StoredFile | null,
  known: KnownLake,
): Reason | null {
  const entry = known.entries.get(wanted.path);
  if (known.isUnfinished(wanted.path)) return 'unfinished';
  if (entry === undefined) return stored === null ? 'new' : 'unstated';
  if (stored === null) return 'missing';
  if (entry.content !== wanted.content) return 'changed';
  const isOther = entry.etag !== undefined && stored.etag !== null && entry.etag !== stored.etag;
  return isOther || entry.bytes !== stored.bytes ? 'damaged' : null;
}
