/**
 * Files put in the place of others so that readers, a crash and the next run only ever meet whole ones.
 *
 * Everything is built under an unfinished name beside its target, made durable, then renamed. Unfinished names derive
 * from the target alone: whatever a killed run left there is known, and removed, by the next one. Only a file that a user
 * names, at which several processes may be, is built under a name of its own.
 */

import { randomUUID } from 'node:crypto';
import { chmod, lstat, open, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { Failure } from '../errors.ts';
import { makeDirectories } from '../warehouse/directories.ts';

/** Must not end in `.parquet`: engines match such names, hidden ones too (measured). */
export const UNFINISHED = '.ripen-unfinished';

/** Where a target is built until it is whole. */
export function unfinishedPath(target: string): string {
  return `${target}${UNFINISHED}`;
}

/** Makes an unfinished file durable and readable as configured, and puts it in its target's place. */
export async function putInPlace(target: string, mode: number, unfinished = unfinishedPath(target)): Promise<void> {
  await chmod(unfinished, mode);
  await makeDurable(unfinished);
  await rename(unfinished, target);
}

/**
 * Has a file built at the path that is handed over, and puts it in its target's place; others may do the same to that target at the
 * same time, and the last one to be done wins.
 */
export async function replaceShared<T>(
  target: string,
  mode: number,
  build: (unfinished: string) => Promise<T>,
): Promise<T> {
  const own = `${target}.${randomUUID().slice(0, 8)}`;
  try {
    const built = await build(unfinishedPath(own));
    await putInPlace(target, mode, unfinishedPath(own));
    await makeDurable(dirname(target));
    return built;
  } finally {
    await removeUnfinished(own);
  }
}

/** The code of an error of the file system, such as `ENOENT`; null for any other. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** What is being looked at; null when it is not there. */
export async function ifThere<T>(looking: Promise<T>): Promise<T | null> {
  return looking.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
}

/** Removes a directory unless something is in it, which is somebody else's; says whether none is there now. */
export async function removeIfEmpty(directory: string): Promise<boolean> {
  try {
    await rmdir(directory);
  } catch (error) {
    if (codeOf(error) === 'ENOTEMPTY') return false;
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  return true;
}

/** Makes the content of a file, or the entries of a directory, durable. */
export async function makeDurable(path: string): Promise<void> {
  const opened = await open(path, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** Removes an unfinished file and what DuckDB may have put beside it. */
export async function removeUnfinished(target: string): Promise<void> {
  const unfinished = unfinishedPath(target);
  for (const path of [unfinished, `${unfinished}.wal`, `${unfinished}.tmp`]) {
    await rm(path, { recursive: true, force: true });
  }
}

/** Makes a directory, and those above it that are missing, so that whoever may read files of this mode may enter them. */
export async function makeDirectory(path: string, fileMode: number): Promise<void> {
  const first = makeDirectories(path);
  if (first === null) return;
  for (let made = resolve(path); made.length >= first.length; made = dirname(made)) {
    await chmod(made, directoryMode(fileMode));
  }
}

/** Makes a directory inside a lake; throws `STORAGE_FAILED` for a symbolic link, which could lead out of it. */
export async function makeInnerDirectory(path: string, fileMode: number): Promise<void> {
  await makeDirectory(path, fileMode);
  if (!(await lstat(path)).isSymbolicLink()) return;
  throw new Failure('STORAGE_FAILED', `The directory ${path} was a symbolic link.`, {
    hint: 'Put a directory in its place; links inside a lake are not followed.',
  });
}

/** Read permission on a file is worth nothing without search permission on its directory; the owner needs all. */
const directoryMode = (fileMode: number): number => 0o700 | fileMode | ((fileMode & 0o444) >> 2);
