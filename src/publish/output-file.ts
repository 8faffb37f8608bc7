/** Files that a user names to be written: looked at before, so that nothing is lost that was no such file. */

import { constants, open, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

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

/** Throws `USAGE_INVALID` for a DuckDB database, before the work of which the output is to tell; anything else waits until then. */
export async function refuseDatabase(path: string): Promise<void> {
  await outputAt(path).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'USAGE_INVALID') throw error;
  });
}

/**
 * Writes a text to what a user named, a file whole or not at all. Throws as `outputAt` does, `STORAGE_FAILED` for a pipe that nobody
 * reads, and the error of the file system.
 */
export async function writeOutput(named: string, text: string, mode: number): Promise<void> {
  const { path, isStream } = await outputAt(named);
  if (!isStream) return replaceShared(path, mode, async (unfinished) => writeFile(unfinished, text, { mode }));
  await ((await stat(path)).isFIFO() ? writePipe(path, text) : writeFile(path, text));
}

/** No run waits longer for whoever is to read from a pipe. */
const PIPE_WAIT_MS = 5000;
const PIPE_PAUSE_MS = 50;
/** What a pipe answers that nobody has opened for reading, and one that is full. */
const NOT_READ: ReadonlySet<string | null> = new Set(['ENXIO', 'EAGAIN']);

/** Writes to a pipe without ever waiting inside a call of the system, which nothing could end. */
async function writePipe(path: string, text: string): Promise<void> {
  const until = performance.now() + PIPE_WAIT_MS;
  const onceRead = async <T>(act: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await act();
      } catch (cause) {
        if (!NOT_READ.has(codeOf(cause))) throw cause;
        if (performance.now() > until) throw unread(path, cause);
        await sleep(PIPE_PAUSE_MS);
      }
    }
  };
  const pipe = await onceRead(async () => open(path, constants.O_WRONLY | constants.O_NONBLOCK));
  try {
    let rest = Buffer.from(text);
    while (rest.length > 0) {
      const { bytesWritten } = await onceRead(async () => pipe.write(rest));
      rest = rest.subarray(bytesWritten);
    }
  } finally {
    await pipe.close();
  }
}

function unread(path: string, cause: unknown): Failure {
  const message = `Nobody read the whole of it from the pipe ${path} within ${PIPE_WAIT_MS / 1000} s.`;
  return new Failure('STORAGE_FAILED', message, {
    facts: { output: path },
    hint: 'Have the reader wait at the pipe before the run ends, or name a file.',
    cause,
  });
}

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
