/** A lake on a local disk: files renamed into place, made durable, never followed out of their root by a link. */

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { filePath, isPeriodFolder, type LakeStore, type StoredFile } from './lake-store.ts';
import {
  ifThere,
  makeDirectory,
  makeInnerDirectory,
  placeNewText,
  putInPlace,
  removeIfEmpty,
  removeUnfinished,
  replaceText,
  syncDirectory,
  unfinishedPath,
} from './replacement.ts';

/** Opens a lake in a directory, which is made when it is not there. */
export async function openLocalLake(root: string, mode: number): Promise<LakeStore> {
  await makeDirectory(root, mode);
  return {
    root,
    // The next file is written while one is being made durable, which halves the time; a third gains nothing.
    atOnce: 1,
    async files(table) {
      const found = new Map<string, StoredFile>();
      for (const folder of [null, ...(await periodFolders(join(root, table)))]) {
        const path = filePath(table, folder);
        const file = await storedFile(join(root, path));
        if (file !== null) found.set(path, file);
      }
      return found;
    },
    read: async (path) => localText(root, path),
    replaceText: async (path, text) => replaceText(join(root, path), text, mode),
    placeNewText: async (path, text) => placeNewText(join(root, path), text, mode),
    async prepare(table) {
      await makeInnerDirectory(join(root, table), mode);
      await removeUnfinished(join(root, filePath(table, null)));
      for (const folder of await periodFolders(join(root, table))) {
        await removeUnfinished(join(root, filePath(table, folder)));
        await removeIfEmpty(join(root, table, folder));
      }
    },
    async draft(path) {
      await makeInnerDirectory(dirname(join(root, path)), mode);
      return unfinishedPath(join(root, path));
    },
    async place(path) {
      const target = join(root, path);
      await putInPlace(target, mode);
      await syncDirectory(dirname(target));
      return { bytes: (await stat(target)).size, etag: null };
    },
    discard: async (path) => removeUnfinished(join(root, path)),
    async remove(path) {
      await rm(join(root, path), { force: true });
      if (path.split('/').length > 2) await removeIfEmpty(dirname(join(root, path)));
    },
    settle: async (folder) => syncDirectory(join(root, folder)),
    async close() {},
  };
}

/** A small text of a lake, without opening the lake; null when there is none. */
export async function localText(root: string, path: string): Promise<string | null> {
  return ifThere(readFile(join(root, path), 'utf8'));
}

/** A file of this machine as it lies there; null when there is none. */
async function storedFile(path: string): Promise<StoredFile | null> {
  const found = await ifThere(stat(path));
  return found === null ? null : { bytes: found.size, etag: null };
}

async function periodFolders(folder: string): Promise<string[]> {
  const entries = (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
  return entries.filter((entry) => entry.isDirectory() && isPeriodFolder(entry.name)).map(({ name }) => name);
}
