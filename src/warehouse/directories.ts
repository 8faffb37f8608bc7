/** Directories: made with those above them, as Node's own way of it does, but for one that it never ends in; lent for a while; made durable. */

import { mkdirSync, statSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { Failure, textOf } from '../errors.ts';

/**
 * Makes a directory and those above it; returns the highest that was made, or null. Throws what the file system says, also where it is as
 * `/proc`, on which Node's own way never ends.
 */
export function makeDirectories(path: string): string | null {
  const isThere = (): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return null;
  const highest = dirname(path) === path ? null : makeDirectories(dirname(path));
  try {
    mkdirSync(path);
    return highest ?? path;
  } catch (error) {
    // Another process may have made it meanwhile.
    if (isThere()) return highest;
    throw error;
  }
}

/** Lends an empty private temporary folder: the one beside the warehouse may not be writable. Throws `STORAGE_FAILED` where none can be made. */
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

/** Makes the content of a file, or the names in a directory, outlive a power cut. */
export async function makeDurable(path: string): Promise<void> {
  const opened = await open(path, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
