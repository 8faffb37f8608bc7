/**
 * The rejects file beside a spend file: one JSON object a line, the line's number and reasons before its columns.
 *
 * Readers only ever meet it whole, and never one that belongs to an earlier run. It can be mended and sent as it is.
 */

import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

import { Failure, textOf } from '../errors.ts';
import { rejectColumns } from './spend-record.ts';
import type { RejectedLine } from './staging.ts';

/** Amounts and ids are nobody else's business. */
const PRIVATE = 0o600;

/** Where the rejects of a spend file are written; those of a dry run apart, as the others are what is left to mend and send. */
export function rejectsPath(file: string, dryRun: boolean): string {
  return dryRun ? `${file}.dry-run.rejects.ndjson` : `${file}.rejects.ndjson`;
}

/**
 * Puts the rejected lines into the rejects file at a path, or removes it when there are none; returns its path, or null.
 * Throws `STORAGE_FAILED`.
 */
export async function writeRejects(
  target: string,
  pages: AsyncIterable<readonly RejectedLine[]>,
): Promise<string | null> {
  const unfinished = `${target}.ripen-unfinished`;
  try {
    // Removed, not overwritten: it may be somebody's link to another place.
    await rm(unfinished, { force: true });
    const lines = await writePages(await open(unfinished, 'wx', PRIVATE), pages);
    if (lines === 0) await Promise.all([rm(unfinished), rm(target, { force: true })]);
    else await rename(unfinished, target);
    await syncDirectory(dirname(target));
    return lines === 0 ? null : target;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const text = textOf(cause);
    throw new Failure('STORAGE_FAILED', `The rejects file ${target} could not be written: ${text}`, {
      facts: { file: target },
      hint: 'Check free space and permissions of the directory the spend file lies in.',
      cause,
    });
  }
}

async function writePages(handle: FileHandle, pages: AsyncIterable<readonly RejectedLine[]>): Promise<number> {
  let lines = 0;
  try {
    for await (const page of pages) {
      await handle.writeFile(page.map(lineOf).join(''));
      lines += page.length;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return lines;
}

function lineOf({ line, reasons, given }: RejectedLine): string {
  // A mended rejects file brings line and reasons of its own along.
  const own = Object.entries(given).filter(([name]) => !rejectColumns.some((column) => column === name));
  return `${JSON.stringify({ line, reasons, ...Object.fromEntries(own) })}\n`;
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
