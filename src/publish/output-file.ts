/** Files that a user names to be written: looked at before, so that nothing is lost that was no such file. */

import { constants, open, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import { Failure } from '../errors.ts';
import { codeOf, ifThere, replaceShared } from './replacement.ts';

/** Where an output goes. */
export interface OutputFile {
  /** Without links, where a file is put in its place. */
  readonly path: string;
  /** A pipe or a device is written to and stays what it is; a file is replaced whole. */
  readonly isStream: boolean;
}

/**
 * Looks at what a user named. Throws `STORAGE_FAILED` where its folder is missing, `USAGE_INVALID` for a DuckDB database, which
 * no output is.
 */
export async function outputAt(path: string): Promise<OutputFile> {
  const found = await ifThere(stat(path));
  if (found === null) {
    const folder = dirname(path);
    if ((await ifThere(stat(folder))) !== null) return { path, isStream: false };
    throw new Failure('STORAGE_FAILED', `The output ${path} was not written: there was no folder ${folder}.`, {
      facts: { output: path, folder },
      hint: `Make the folder ${folder}, or name a file elsewhere.`,
    });
  }
  if (!found.isFile() && !found.isDirectory()) return { path, isStream: true };
  if (found.isFile() && (await isDatabase(path))) {
    throw new Failure('USAGE_INVALID', `The output ${path} was not written: a DuckDB database lay there.`, {
      facts: { output: path },
      hint: 'Name another file, or move the database away.',
    });
  }
  return { path: await realpath(path), isStream: false };
}

/**
 * Writes a text to what a user named, a file whole or not at all. Throws as `outputAt` does, `STORAGE_FAILED` for a pipe that nobody
 * reads, and the error of the file system.
 */
export async function writeOutput(named: string, text: string, mode: number): Promise<void> {
  const { path, isStream } = await outputAt(named);
  if (!isStream) return replaceShared(path, mode, async (unfinished) => writeFile(unfinished, text, { mode }));
  // A pipe that nobody reads would keep a thread for ever. The second handle stays open, as a reader ends with the last one.
  const held = (await stat(path)).isFIFO()
    ? await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(unread(path))
    : null;
  try {
    await writeFile(path, text);
  } finally {
    await held?.close();
  }
}

const unread = (path: string) => (cause: unknown) => {
  if (codeOf(cause) !== 'ENXIO') throw cause;
  throw new Failure('STORAGE_FAILED', `Nobody read from the pipe ${path}.`, {
    facts: { output: path },
    hint: 'Have the reader wait at the pipe before the run ends, or name a file.',
    cause,
  });
};

/** Where every DuckDB file says what it is: behind a checksum of 8 bytes. */
const MARK_AT = 8;
const MARK = 'DUCK';

async function isDatabase(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MARK.length), 0, MARK.length, MARK_AT);
    return buffer.toString('latin1', 0, bytesRead) === MARK;
  } finally {
    await file.close();
  }
}
