/** Directories made with those above them: as Node's own way of it does, but for one that it never ends in. */

import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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
