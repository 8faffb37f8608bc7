/** A store of tables, on disk or in a bucket. Paths are relative to the target, with `/`. A placed file appears whole. */

import { writeFileSync } from 'node:fs';

export interface StoredFile {
  readonly bytes: number;
  /** Differs between two contents of one path. */
  readonly etag: string | null;
  /** By the store's clock, in whole milliseconds since 1970; Infinity if unknown. */
  readonly modifiedMs: number;
}

export interface LakeStore {
  /** Where readers find it: an absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly atOnce: number;
  /** Every file below a folder (the empty text: the root) by its path. */
  list(folder: string): Promise<ReadonlyMap<string, StoredFile>>;
  read(path: string): Promise<string | null>;
  /** A local path where DuckDB finds the content of a file. */
  fetch(path: string): Promise<string>;
  /** A local path to write the next content of a file to. */
  draft(path: string): Promise<string>;
  place(path: string): Promise<StoredFile>;
  /** Returns false and changes nothing if other content is there, which makes a Delta commit atomic. */
  placeNew(path: string): Promise<boolean>;
  /** Removes a file if it exists, and the folders above it that are then empty. */
  remove(path: string): Promise<void>;
  /** Closes connections and removes drafts that were not placed. */
  close(): Promise<void>;
}

export async function draftText(store: LakeStore, path: string, text: string): Promise<void> {
  writeFileSync(await store.draft(path), text);
}

/** Does work for as many items at once as a store allows. All that began ends before a failure is thrown. */
export async function eachAtOnce<T, R>(
  { atOnce }: Pick<LakeStore, 'atOnce'>,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += atOnce) {
    for (const outcome of await Promise.allSettled(items.slice(start, start + atOnce).map(work))) {
      if (outcome.status === 'rejected') throw outcome.reason;
      results.push(outcome.value);
    }
  }
  return results;
}
