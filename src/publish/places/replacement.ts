/**
 * Replaces files so that readers, a crash and the next run only ever see whole ones. A file is built under an unfinished name
 * beside its target, made durable, then renamed. The next run removes what a killed run left, as the name derives from the
 * target. Outputs that a user names and drafts of tables have unique names, as several processes may write to one target.
 */

import { randomUUID } from 'node:crypto';
import { chmodSync, statSync } from 'node:fs';
import { realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { Failure } from '../../errors.ts';
import { makeDirectories, makeDurable } from '../../warehouse/directories.ts';

/** Must not end in `.parquet`: engines match such names, even hidden ones (measured). */
export const UNFINISHED = '.ripen-unfinished';

export const unfinishedPath = (target: string): string => `${target}${UNFINISHED}`;

/** Makes an unfinished file durable and readable as configured. */
export async function makeReady(unfinished: string, mode: number): Promise<void> {
  chmodSync(unfinished, mode);
  await makeDurable(unfinished);
}

export async function putInPlace(
  target: string,
  mode: number,
  unfinished = unfinishedPath(target),
): Promise<void> {
  await makeReady(unfinished, mode);
  await rename(unfinished, target);
  await makeDurable(dirname(target));
}

export async function removeUnfinished(target: string): Promise<void> {
  for (const ending of ['', '.wal', '.tmp']) {
    await rm(`${unfinishedPath(target)}${ending}`, { recursive: true, force: true });
  }
}

/**
 * Returns where to write an output that a user named: a pipe or device in place, a file at its path without links. Throws
 * `STORAGE_FAILED` if its folder is missing.
 */
export async function outputAt(
  path: string,
): Promise<{ readonly path: string; readonly isStream: boolean }> {
  const found = ifThere(() => statSync(path));
  if (found !== null) {
    const isStream = !found.isFile() && !found.isDirectory();
    return { path: isStream ? path : await realpath(path), isStream };
  }
  const folder = dirname(path);
  if (ifThere(() => statSync(folder)) !== null) return { path, isStream: false };
  const message = `The output ${path} was not written: there was no folder ${folder}.`;
  throw new Failure('STORAGE_FAILED', message, {
    facts: { output: path, folder },
    hint: `Make the folder ${folder}, or name a file elsewhere.`,
  });
}

/** Lets `build` write a file, then renames it to the target. Of several at once, the last one wins. */
export async function replaceShared<T>(
  target: string,
  mode: number,
  build: (unfinished: string) => Promise<T>,
): Promise<T> {
  const own = `${target}.${randomUUID().slice(0, 8)}`;
  try {
    const built = await build(unfinishedPath(own));
    await putInPlace(target, mode, unfinishedPath(own));
    return built;
  } finally {
    await removeUnfinished(own);
  }
}

/** Writes a text to an output that a user named. Throws as `outputAt` does. */
export async function writeOutput(named: string, text: string, mode: number): Promise<void> {
  const { path, isStream } = await outputAt(named);
  if (isStream) return writeFile(path, text);
  return replaceShared(path, mode, async (unfinished) => writeFile(unfinished, text, { mode }));
}

/** Returns the code of an error of the file system, such as `ENOENT`. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null;
}

/** Returns null if a look at the file system fails with `ENOENT`. */
export function ifThere<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Makes a directory and its missing parents, which all who may read files of this mode may enter. */
export async function makeDirectory(path: string, fileMode: number): Promise<void> {
  const first = makeDirectories(path);
  if (first === null) return;
  // Reading a file needs search permission on its directory; the owner needs all permissions.
  const mode = 0o700 | fileMode | ((fileMode & 0o444) >> 2);
  for (let made = resolve(path); made.length >= first.length; made = dirname(made))
    chmodSync(made, mode);
}
