/** Delta tables in a bucket: files are written beside the warehouse first, then each put in its key's place by one PUT. */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { ObjectStore } from '../../config/config.ts';
import { openBucket } from '../s3-bucket.ts';
import { keyIn, UPLOADS_AT_ONCE } from '../s3-lake.ts';
import type { DeltaStore } from './delta-store.ts';

/** Opens tables in a bucket; `drafts` is a folder of this machine that is cleared. Throws as `openBucket` does. */
export async function openS3Tables(
  root: string,
  store: ObjectStore,
  drafts: string,
  signal: AbortSignal,
): Promise<DeltaStore> {
  const bucket = await openBucket(store, signal);
  const clear = async (): Promise<void> => rm(drafts, { recursive: true, force: true });
  // What a killed run left there was never put in place.
  await clear();
  const keyOf = (path: string): string => keyIn(store, path);
  const draftOf = (path: string): string => join(drafts, path.replaceAll('/', '.'));
  const draft = async (path: string): Promise<string> => {
    await mkdir(drafts, { recursive: true, mode: 0o700 });
    return draftOf(path);
  };
  return {
    root,
    catalog: null,
    atOnce: UPLOADS_AT_ONCE,
    async list(table) {
      const start = keyOf('').length;
      const found = await bucket.list(keyOf(`${table}/`));
      return new Map([...found].map(([key, file]) => [key.slice(start), file]));
    },
    read: async (path) => bucket.read(keyOf(path)),
    async fetch(path) {
      const file = await draft(path);
      await bucket.download(keyOf(path), file);
      return file;
    },
    draft,
    async place(path) {
      await bucket.put(keyOf(path), { file: draftOf(path) });
      await rm(draftOf(path), { force: true });
    },
    async placeNew(path) {
      const isPlaced = await bucket.putNew(keyOf(path), { file: draftOf(path) });
      await rm(draftOf(path), { force: true });
      return isPlaced;
    },
    remove: async (path) => bucket.remove(keyOf(path)),
    // A store knows no folders.
    async removeFolders() {},
    async isExclusive() {
      const key = keyOf(PROBE);
      await bucket.remove(key);
      await bucket.put(key, { text: 'first' });
      const isTaken = await bucket.putNew(key, { text: 'second' });
      await bucket.remove(key);
      return !isTaken;
    },
    async close() {
      bucket.close();
      await clear();
    },
  };
}

const PROBE = '_ripen_probe';
