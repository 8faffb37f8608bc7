/** Delta tables on a disk, and which of the two kinds of place a target is. */

import { randomUUID } from 'node:crypto';
import { chmod, link, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { PublishTarget } from '../../config/config.ts';
import { CATALOG } from './catalog-file.ts';
import {
  codeOf,
  ifThere,
  makeDirectory,
  makeInnerDirectory,
  removeIfEmpty,
  makeDurable,
  syncDirectory,
  unfinishedPath,
} from '../replacement.ts';
import type { DeltaStore, Lying } from './delta-store.ts';
import { openS3Tables } from './s3-store.ts';

export type DeltaTarget = Extract<PublishTarget, { kind: 'delta' }>;

/** Opens what lies at a target; for a bucket, drafts are made in a folder of this machine, which is cleared. */
export async function openTables(
  { path, mode, store }: DeltaTarget,
  drafts: string,
  signal: AbortSignal,
): Promise<DeltaStore> {
  return store === undefined ? onDisk(path, mode) : openS3Tables(path, store, drafts, signal);
}

/** Tables in a directory, which is made with the first draft. */
function onDisk(root: string, mode: number): DeltaStore {
  const begun = new Set<string>();
  // Another publisher may be at the same path.
  const own = randomUUID();
  const draftOf = (path: string): string => unfinishedPath(join(root, `${path}.${own}`));
  const ready = async (path: string): Promise<string> => {
    const unfinished = draftOf(path);
    await chmod(unfinished, mode);
    await makeDurable(unfinished);
    return unfinished;
  };
  return {
    root,
    catalog: join(root, CATALOG),
    atOnce: 1,
    list: async (table) => filesBelow(root, table),
    read: async (path) => ifThere(readFile(join(root, path), 'utf8')),
    fetch: async (path) => join(root, path),
    async draft(path) {
      await makeDirectory(root, mode);
      const steps = dirname(path).split('/');
      for (const [index] of steps.entries()) await makeInnerDirectory(join(root, ...steps.slice(0, index + 1)), mode);
      begun.add(draftOf(path));
      return draftOf(path);
    },
    async place(path) {
      await rename(await ready(path), join(root, path));
      await syncDirectory(dirname(join(root, path)));
    },
    async placeNew(path) {
      const unfinished = await ready(path);
      const target = join(root, path);
      try {
        await link(unfinished, target);
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
        const [mine, other] = [await readFile(unfinished), await readFile(target)];
        if (!mine.equals(other)) return false;
      }
      await rm(unfinished, { force: true });
      await syncDirectory(dirname(target));
      return true;
    },
    async remove(path) {
      await rm(join(root, path), { force: true });
      await removeIfEmpty(dirname(join(root, path)));
    },
    removeFolders: async (table) => removeEmptyFolders(join(root, table)),
    // A hard link is made where nothing is, or not at all.
    isExclusive: async () => Promise.resolve(true),
    async close() {
      for (const path of begun) await rm(path, { force: true });
    },
  };
}

async function removeEmptyFolders(folder: string): Promise<void> {
  const entries = await ifThere(readdir(folder, { withFileTypes: true }));
  for (const entry of entries ?? []) if (entry.isDirectory()) await removeEmptyFolders(join(folder, entry.name));
  await removeIfEmpty(folder);
}

async function filesBelow(root: string, table: string): Promise<ReadonlyMap<string, Lying>> {
  const found = new Map<string, Lying>();
  const entries = await ifThere(readdir(join(root, table), { recursive: true, withFileTypes: true }));
  for (const entry of entries ?? []) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { size, mtimeMs } = await stat(path);
    found.set(path.slice(root.length + 1), { bytes: size, modifiedMs: Math.ceil(mtimeMs) });
  }
  return found;
}
