/** A lake in a bucket: files are written beside the warehouse first, then each put in its key's place by one PUT. */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { ObjectStore } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { isFilePath, type LakeStore, type StoredFile } from './lake-store.ts';
import { MANIFEST } from './manifest.ts';
import { openBucket } from './s3-bucket.ts';

/** What a store answers that knows no conditions. */
const NOT_IMPLEMENTED = 501;

/** Enough to hide the store's latency; each holds one file open and one small buffer. */
export const UPLOADS_AT_ONCE = 8;

/**
 * Resolves when a bucket answers to the credentials of the environment; writes nothing, so that rights to write stay
 * unknown. Throws as `openBucket` does, and `STORAGE_FAILED`.
 */
export async function askBucket(store: ObjectStore, signal: AbortSignal): Promise<void> {
  const bucket = await openBucket(store, signal);
  try {
    await bucket.list(keyIn(store, MANIFEST));
  } finally {
    bucket.close();
  }
}

/** A small text of a lake, without opening the lake; null when there is none. Throws as `openBucket` does. */
export async function textInBucket(store: ObjectStore, path: string, signal: AbortSignal): Promise<string | null> {
  const bucket = await openBucket(store, signal);
  try {
    return await bucket.read(keyIn(store, path));
  } finally {
    bucket.close();
  }
}

/** Whether objects lie below a store's prefix whose paths begin so. Throws as `openBucket` does, and `STORAGE_FAILED`. */
export async function isPrefixInUse(store: ObjectStore, path: string, signal: AbortSignal): Promise<boolean> {
  const bucket = await openBucket(store, signal);
  try {
    return (await bucket.list(keyIn(store, path))).size > 0;
  } finally {
    bucket.close();
  }
}

/** The key of a path below a store's prefix. */
export function keyIn({ prefix }: ObjectStore, path: string): string {
  return prefix === '' ? path : `${prefix}/${path}`;
}

/** Opens a lake in a bucket. Throws as `openBucket` does; asks the store nothing. */
export async function openS3Lake(
  root: string,
  store: ObjectStore,
  warehousePath: string,
  signal: AbortSignal,
): Promise<LakeStore> {
  const bucket = await openBucket(store, signal);
  const drafts = `${warehousePath}.drafts`;
  const clear = async (): Promise<void> => rm(drafts, { recursive: true, force: true });
  // What a killed run left there was never put in place.
  await clear();
  await mkdir(drafts, { recursive: true, mode: 0o700 });
  const keyOf = (path: string): string => keyIn(store, path);
  const draftOf = (path: string): string => join(drafts, path.replaceAll('/', '.'));
  return {
    root,
    atOnce: UPLOADS_AT_ONCE,
    async files(table) {
      const found = new Map<string, StoredFile>();
      const start = keyOf('').length;
      for (const [key, file] of await bucket.list(keyOf(`${table}/`))) {
        const path = key.slice(start);
        if (isFilePath(path, table)) found.set(path, file);
      }
      return found;
    },
    read: async (path) => bucket.read(keyOf(path)),
    async replaceText(path, text) {
      await bucket.put(keyOf(path), { text });
    },
    async placeNewText(path, text) {
      await bucket.putNew(keyOf(path), { text }).catch(async (error: unknown) => {
        if (!(error instanceof Failure) || error.facts['status'] !== NOT_IMPLEMENTED) throw error;
        if ((await bucket.read(keyOf(path))) === null) await bucket.put(keyOf(path), { text });
      });
    },
    async prepare() {},
    draft: async (path) => draftOf(path),
    async place(path) {
      const placed = await bucket.put(keyOf(path), { file: draftOf(path) });
      await rm(draftOf(path), { force: true });
      return placed;
    },
    discard: async (path) => rm(draftOf(path), { force: true }),
    remove: async (path) => bucket.remove(keyOf(path)),
    // A store answers a PUT or a DELETE once it lasts.
    async settle() {},
    async close() {
      bucket.close();
      await clear();
    },
  };
}
