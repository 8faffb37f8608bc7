/** The copy of the warehouse's file, made by a process of its own, whose program is the text below. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

import { storageFailed } from '../errors.ts';

/**
 * Copies a file to a path where none is, and dies with its parent, whose end closes its standard input: an orphan that went on could
 * otherwise meet the next run at the same name.
 */
const COPY_SCRIPT = `
const fs = require('node:fs');
const [from, to] = process.argv.slice(1);
const end = (error) => {
    if (error) process.stderr.write(error.message);
    process.exitCode = error ? 1 : 0;
    process.stdin.destroy();
};
process.stdin.resume().on('end', () => process.kill(process.pid, 'SIGKILL'));
fs.copyFile(from, to, fs.constants.COPYFILE_EXCL | fs.constants.COPYFILE_FICLONE, end);
`;

/**
 * Copies the warehouse by a child process: DuckDB's lock on a file belongs to the process, and is lost when that process closes any
 * other handle of the file (measured). Throws `STORAGE_FAILED`, or the signal's reason.
 */
export async function copyDatabase(from: string, to: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, ['-e', COPY_SCRIPT, '--', from, to], {
    stdio: ['pipe', 'ignore', 'pipe'],
    signal,
  });
  // A process that could not be started has no streams.
  const complaint = text(child.stderr).catch(() => '');
  const [code] = await once(child, 'close').catch((error: unknown) => [error]);
  if (code === 0) return;
  signal.throwIfAborted();
  const because =
    (await complaint) || (code instanceof Error ? code.message : `its process ended with ${String(code)}`);
  throw storageFailed(`The file ${from} could not be copied to ${to}`, new Error(because), {
    hint: 'Check free space and permissions of the target directory.',
  });
}
