/**
 * Where Delta tables lie, behind few doors, so that a disk and an object store share one order of committing.
 *
 * Paths are relative to the target, with `/`. What is put in place appears whole; `placeNew` leaves what is there alone,
 * which is what makes a commit one.
 */

import { Failure } from '../../errors.ts';

/** A file as it lies there. */
export interface Lying {
  readonly bytes: number;
  /** When it was put there, in whole milliseconds since 1970, by the clock of whatever keeps it; infinite where that does not say. */
  readonly modifiedMs: number;
}

export interface DeltaStore {
  /** Where readers find it: an absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  /** Where `catalog.duckdb` lies on this machine; null for a target that has none. */
  readonly catalog: string | null;
  /** How many files may be put in place at once. */
  readonly atOnce: number;
  /** Every file of a table, by path; none when there is no such table. */
  list(table: string): Promise<ReadonlyMap<string, Lying>>;
  /** The text of a file; null when there is none. */
  read(path: string): Promise<string | null>;
  /** A path of this machine where DuckDB finds the content of a file. */
  fetch(path: string): Promise<string>;
  /** A path of this machine where the content of a file is to be written. */
  draft(path: string): Promise<string>;
  /** Puts a file's draft in its place, over whatever is there. */
  place(path: string): Promise<void>;
  /** Puts a file's draft in its place; false, and changes nothing, when something else is there. */
  placeNew(path: string): Promise<boolean>;
  /** Removes a file, if it is there, and its folder if it is empty then. */
  remove(path: string): Promise<void>;
  /** Removes the folders of a table in which nothing lies; its own too. */
  removeFolders(table: string): Promise<void>;
  /** Whether `placeNew` leaves what is there alone; finds out by trying, and leaves nothing. */
  isExclusive(): Promise<boolean>;
  /** Lets go of what was opened and leaves no draft behind. */
  close(): Promise<void>;
}

/**
 * The text of a commit that is listed with so many bytes; null where they are not known. One that is not given whole all the
 * same is asked for once more; without it the files it took away would count as there. Throws `STORAGE_FAILED`.
 */
export async function readCommit(store: DeltaStore, path: string, bytes: number | null): Promise<string> {
  const whole = async (): Promise<string | null> => {
    const text = await store.read(path);
    return text === null || bytes === null || Buffer.byteLength(text) === bytes ? text : null;
  };
  const text = (await whole()) ?? (await whole());
  if (text !== null) return text;
  throw new Failure('STORAGE_FAILED', `The store listed ${path} and did not have it whole in 2 tries.`, {
    facts: { target: store.root, path, bytes, tries: 2 },
    hint: 'Run `ripen publish` again once the store gives what it lists.',
  });
}
