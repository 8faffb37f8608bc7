/**
 * Where tables lie, on a disk or in an object store, behind few doors, so that both kinds of table share one order of publishing.
 *
 * Paths are relative to the target, with `/`. What is put in place appears whole: readers, a crash and the next run meet the old
 * content or the new. `placeNew` leaves what is there alone, which makes a Delta commit atomic.
 */

import { writeFile } from 'node:fs/promises';

/** A file as it lies there. */
export interface StoredFile {
  readonly bytes: number;
  /** Differs between two contents of one path; null where the store does not say. */
  readonly etag: string | null;
  /** When it was put there, in whole milliseconds since 1970, by the store's clock; infinite where that does not say. */
  readonly modifiedMs: number;
}

export interface LakeStore {
  /** Where readers find it: an absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly isOnDisk: boolean;
  /** How many files may be put in place at once. */
  readonly atOnce: number;
  /** Every file below a folder, by path; all of them for the empty text. */
  list(folder: string): Promise<ReadonlyMap<string, StoredFile>>;
  /** The text of a file; null when there is none. */
  read(path: string): Promise<string | null>;
  /** A path of this machine where DuckDB finds the content of a file. */
  fetch(path: string): Promise<string>;
  /** A path of this machine where the next content of a file is to be written. */
  draft(path: string): Promise<string>;
  /** Puts a file's draft in its place, over whatever is there. */
  place(path: string): Promise<StoredFile>;
  /** Puts a file's draft in its place; false, and changes nothing, when other content is there. */
  placeNew(path: string): Promise<boolean>;
  /** Removes a file, if it is there, and the folders above it that are empty then. */
  remove(path: string): Promise<void>;
  /** Closes connections and removes drafts that were not placed. */
  close(): Promise<void>;
}

/** Drafts a text for `place` or `placeNew`. */
export async function draftText(store: LakeStore, path: string, text: string): Promise<void> {
  await writeFile(await store.draft(path), text);
}
