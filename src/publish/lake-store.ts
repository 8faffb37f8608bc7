/**
 * Where a lake lies, behind few doors, so that a local disk and an object store share one order of publishing.
 *
 * Paths are relative to the lake, with `/`. Whatever is put in place appears whole: readers, a crash and the next run
 * only ever meet the old content or the new.
 */

import type { Day } from '../model/calendar.ts';
import { dateDimensions } from '../model/dimension.ts';

/** A file as it lies there. */
export interface StoredFile {
  readonly bytes: number;
  /** What the store tells two contents apart by; null where it says nothing. */
  readonly etag: string | null;
}

export interface LakeStore {
  /** Where readers find it: an absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  /** How many files may be put in place at once. */
  readonly atOnce: number;
  /** The files of a table under names the lake gives, by path; none when there is no such table. */
  files(table: string): Promise<ReadonlyMap<string, StoredFile>>;
  /** A small text; null when there is none. */
  read(path: string): Promise<string | null>;
  replaceText(path: string, text: string): Promise<void>;
  /** Puts a small text where none is; leaves what is there alone. */
  placeNewText(path: string, text: string): Promise<void>;
  /** Makes a table's place and clears what killed runs left unfinished there. */
  prepare(table: string): Promise<void>;
  /** A path of this machine where the next content of a file is to be written. */
  draft(path: string): Promise<string>;
  /** Puts a file's draft in its place. */
  place(path: string): Promise<StoredFile>;
  /** Forgets a file's draft, if there is one. */
  discard(path: string): Promise<void>;
  /** Removes a file, if it is there. */
  remove(path: string): Promise<void>;
  /** Returns once what was placed in and removed from a folder, the lake's own or a table's, outlasts a power cut. */
  settle(folder: string): Promise<void>;
  /** Lets go of what was opened and leaves no draft behind. */
  close(): Promise<void>;
}

const FILE = 'data.parquet';

/** A period's folder, of the present grain or of one the slice had before. */
const PERIOD_FOLDER = new RegExp(`^(?:${dateDimensions.join('|')})=\\d{4}-\\d{2}-\\d{2}$`);

/** Where a table's file lies: `<table>/data.parquet`, or `<table>/<period folder>/data.parquet`. */
export function filePath(table: string, periodFolder: string | null): string {
  return [table, ...(periodFolder === null ? [] : [periodFolder]), FILE].join('/');
}

export function isPeriodFolder(name: string): boolean {
  return PERIOD_FOLDER.test(name);
}

/** Files of a slice: all, or those of periods that begin before a day. */
export interface SliceFiles {
  readonly slice: string;
  readonly before: Day | null;
}

/** Those that lie in a lake, under names the lake gives. */
export async function pathsOf(store: LakeStore, { slice, before }: SliceFiles): Promise<string[]> {
  const paths = [...(await store.files(slice)).keys()];
  if (before === null) return paths;
  return paths.filter((path) => (/=([-\d]+)\/[^/]+$/.exec(path)?.[1] ?? before) < before);
}

/** Whether a lake gives such a path to a file of the table; nothing else there is ever touched. */
export function isFilePath(path: string, table: string): boolean {
  const [first, ...rest] = path.split('/');
  if (first !== table || rest.at(-1) !== FILE) return false;
  return rest.length === 1 || (rest.length === 2 && isPeriodFolder(rest[0] ?? ''));
}
