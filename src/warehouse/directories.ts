/** Makes directories, lends temporary ones, and makes their content durable. */

import { closeSync, fsync, mkdirSync, openSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { storageFailed } from '../errors.ts';

/**
 * Makes a directory and its parents. Returns the highest one made. Throws the file system's error even in `/proc`, where Node's
 * own recursive `mkdir` never returns.
 */
export function makeDirectories(path: string): string | null {
  const isThere = () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return null;
  const highest = dirname(path) === path ? null : makeDirectories(dirname(path));
  try {
    mkdirSync(path);
    return highest ?? path;
  } catch (error) {
    // Another process may have made it in the meantime.
    if (isThere()) return highest;
    throw error;
  }
}

/** Lends a temporary folder: one beside the warehouse might not be writable. Throws `STORAGE_FAILED`. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'ripen-')).catch((error: unknown) => {
    throw storageFailed(`No temporary folder could be made in ${tmpdir()}`, error, {
      facts: { folder: tmpdir() },
      hint: 'Name a folder that this user may write to in the variable TMPDIR, or make room in it.',
    });
  });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes the content of a file, or the names in a directory, outlive a power cut. */
export async function makeDurable(path: string): Promise<void> {
  const descriptor = openSync(path, 'r');
  try {
    await promisify(fsync)(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
