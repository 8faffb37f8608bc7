/** Tables in a directory: files renamed into place, made durable, never followed out of it by a link. */

import { randomUUID } from 'node:crypto';
import { chmod, link, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import {
  codeOf,
  ifThere,
  makeDirectory,
  makeDurable,
  makeInnerDirectory,
  removeIfEmpty,
  unfinishedPath,
} from './replacement.ts';
import type { LakeStore, StoredFile } from './store.ts';

/** While some files are made durable the disk takes others. */
const AT_ONCE = 4;

/** Opens tables in a directory, which is made with the first draft. */
export function openDiskStore(root: string, mode: number): LakeStore {
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
    isOnDisk: true,
    atOnce: AT_ONCE,
    list: async (folder) => filesBelow(root, folder),
    read: async (path) => ifThere(readFile(join(root, path), 'utf8')),
    fetch: async (path) => join(root, path),
    async draft(path) {
      await makeDirectory(root, mode);
      const folders = path.split('/').slice(0, -1);
      for (const [index] of folders.entries()) {
        await makeInnerDirectory(join(root, ...folders.slice(0, index + 1)), mode);
      }
      begun.add(draftOf(path));
      return draftOf(path);
    },
    async place(path) {
      await rename(await ready(path), join(root, path));
      await makeDurable(dirname(join(root, path)));
      return storedFile(join(root, path));
    },
    async placeNew(path) {
      const unfinished = await ready(path);
      const target = join(root, path);
      try {
        await link(unfinished, target);
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
        if (!(await readFile(unfinished)).equals(await readFile(target))) return false;
      }
      await rm(unfinished, { force: true });
      await makeDurable(dirname(target));
      return true;
    },
    async remove(path) {
      await rm(join(root, path), { force: true });
      for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
        if (!(await removeIfEmpty(join(root, folder)))) break;
      }
    },
    async close() {
      for (const path of begun) await rm(path, { force: true });
    },
  };
}

async function storedFile(path: string): Promise<StoredFile> {
  const { size, mtimeMs } = await stat(path);
  return { bytes: size, etag: String(mtimeMs), modifiedMs: Math.ceil(mtimeMs) };
}

async function filesBelow(root: string, folder: string): Promise<ReadonlyMap<string, StoredFile>> {
  const found = new Map<string, StoredFile>();
  const entries = await ifThere(readdir(join(root, folder), { recursive: true, withFileTypes: true }));
  for (const entry of entries ?? []) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(path.slice(join(root, '/').length), await storedFile(path));
  }
  return found;
}
