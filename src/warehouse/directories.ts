/** Directories: made with those above them, as Node's own way of it does, but for one that it never ends in; and lent for a while. */

import { mkdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Failure, textOf } from '../errors.ts';

/**
 * Makes a directory, and those above it that are missing; returns the highest that was made, null where all were there. Throws
 * the error of the file system, also where a directory that is there, as of `/proc`, says for ever that it is not.
 */
export function makeDirectories(path: string): string | null {
  try {
    mkdirSync(path);
    return path;
  } catch (error) {
    const above = dirname(path);
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || above === path) {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return null;
      throw error;
    }
    const highest = makeDirectories(above);
    return makeOne(path) ? (highest ?? path) : highest;
  }
}

/** Whether it was made now, and not by another process at the same time. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return false;
    throw error;
  }
}

/**
 * Lends an empty private folder among the temporary ones, and removes it: for what may have no right to write beside the
 * warehouse. Throws `STORAGE_FAILED` where none can be made.
 */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'ripen-')).catch((error: unknown) => {
    throw new Failure('STORAGE_FAILED', `No temporary folder could be made in ${tmpdir()}: ${textOf(error)}`, {
      facts: { folder: tmpdir() },
      hint: 'Name a folder that this user may write to in the variable TMPDIR, or make room in it.',
      cause: error,
    });
  });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
