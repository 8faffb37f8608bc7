/** Opens the store of a target. In a directory, files are renamed into place. */

import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Failure } from '../../errors.ts';
import { makeDurable } from '../../warehouse/directories.ts';
import type { TargetOf } from '../copy.ts';
import {
  codeOf,
  ifThere,
  makeDirectory,
  makeReady,
  putInPlace,
  UNFINISHED,
} from './replacement.ts';
import { openS3Store } from './s3.ts';
import type { LakeStore, StoredFile } from './store.ts';

/** A bucket's files are drafted beside `warehouse`. Throws as `openS3Store` does. */
export async function withStore<T>(
  { path, mode, store }: Pick<TargetOf<'parquet'>, 'path' | 'mode' | 'store'>,
  warehouse: { readonly path: string } | null,
  signal: AbortSignal,
  use: (store: LakeStore) => Promise<T>,
): Promise<T> {
  const beside = warehouse?.path ?? join(tmpdir(), `ripen-${randomUUID()}`);
  const opened =
    store === undefined
      ? openDiskStore(path, mode)
      : await openS3Store(path, { store, drafts: `${beside}.drafts` }, signal);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** The disk writes some files while it makes others durable. */
const AT_ONCE = 4;

function openDiskStore(root: string, mode: number): LakeStore {
  const begun = new Set<string>();
  // Another process may publish to the same path.
  const publisherId = randomUUID();
  const draftOf = (path: string) => join(root, `${path}.${publisherId}${UNFINISHED}`);
  const storedFile = (path: string): StoredFile => {
    const { size, mtimeMs } = statSync(path);
    return { bytes: size, etag: String(mtimeMs), modifiedMs: Math.ceil(mtimeMs) };
  };
  return {
    root,
    atOnce: AT_ONCE,
    async list(folder) {
      const files = new Map<string, StoredFile>();
      const folders = [folder];
      // Not `recursive`, which follows links from Node 22 on. With thousands of small files, awaited calls would take ten times
      // the processor time (measured).
      for (const parent of folders) {
        const entries = ifThere(() => readdirSync(join(root, parent), { withFileTypes: true }));
        for (const entry of entries ?? []) {
          const path = join(parent, entry.name);
          if (entry.isDirectory()) folders.push(path);
          else if (entry.isFile()) files.set(path, storedFile(join(root, path)));
        }
      }
      return files;
    },
    read: async (path) => ifThere(() => readFileSync(join(root, path), 'utf8')),
    fetch: async (path) => join(root, path),
    async draft(path) {
      let folder = root;
      await makeDirectory(root, mode);
      for (const step of path.split('/').slice(0, -1)) {
        folder = join(folder, step);
        await makeDirectory(folder, mode);
        if (lstatSync(folder).isSymbolicLink()) {
          const message = `${folder} is a symbolic link, which ripen does not follow.`;
          throw new Failure('STORAGE_FAILED', message, { hint: 'Replace it with a directory.' });
        }
      }
      begun.add(draftOf(path));
      return draftOf(path);
    },
    async place(path) {
      await putInPlace(join(root, path), mode, draftOf(path));
      return storedFile(join(root, path));
    },
    async placeNew(path) {
      const target = join(root, path);
      await makeReady(draftOf(path), mode);
      try {
        linkSync(draftOf(path), target);
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false;
        throw error;
      }
      rmSync(draftOf(path));
      await makeDurable(dirname(target));
      return true;
    },
    async remove(path) {
      await rm(join(root, path), { force: true });
      for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
        try {
          await rmdir(join(root, folder));
        } catch {
          // A folder that is not empty stays.
          break;
        }
      }
    },
    async close() {
      for (const path of begun) await rm(path, { force: true });
    },
  };
}
