/** Tables in a bucket: files are written beside the warehouse first, then each put in its key's place by one PUT. */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { ObjectStore } from '../config/config.ts';
import { openBucket } from './s3-bucket.ts';
import type { Store } from './store.ts';

/** Enough to hide the store's latency; each holds one file open and one small buffer. */
const UPLOADS_AT_ONCE = 8;

const PROBE = '_ripen_probe';

/** Opens tables in a bucket; `drafts` is a folder of this machine that is cleared. Throws as `openBucket` does; requests nothing. */
export async function openS3Store(
  root: string,
  { store, drafts }: { readonly store: ObjectStore; readonly drafts: string },
  signal: AbortSignal,
): Promise<Store> {
  const bucket = await openBucket(store, signal);
  const clear = async (): Promise<void> => rm(drafts, { recursive: true, force: true });
  // What a killed run left there was never put in place.
  await clear();
  const keyOf = (path: string): string => (store.prefix === '' ? path : `${store.prefix}/${path}`);
  const draftOf = (path: string): string => join(drafts, path.replaceAll('/', '.'));
  const draft = async (path: string): Promise<string> => {
    await mkdir(drafts, { recursive: true, mode: 0o700 });
    return draftOf(path);
  };
  return {
    root,
    isOnDisk: false,
    atOnce: UPLOADS_AT_ONCE,
    async list(folder) {
      const start = keyOf('').length;
      const found = await bucket.list(keyOf(folder === '' ? '' : `${folder}/`));
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
      const placed = await bucket.put(keyOf(path), { file: draftOf(path) });
      await rm(draftOf(path), { force: true });
      return placed;
    },
    async placeNew(path) {
      const isPlaced = await bucket.putNew(keyOf(path), { file: draftOf(path) });
      await rm(draftOf(path), { force: true });
      return isPlaced;
    },
    remove: async (path) => bucket.remove(keyOf(path)),
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
