/**
 * The rejects file beside a spend file: one JSON object a line, the line's number and reasons before its columns.
 *
 * Readers only ever meet it whole, and never one that belongs to an earlier run. It can be corrected and sent as it is.
 */

import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

import { makeDurable } from '../warehouse/directories.ts';
import { Failure, storageFailed } from '../errors.ts';
import { rejectColumns } from './rules.ts';
import type { RejectedLine } from './staging.ts';

/** Amounts and ids are nobody else's business. */
const PRIVATE = 0o600;

/** Where the rejects of a spend file are written; those of a dry run apart, as the others are what is left to correct and send. */
export function rejectsPath(file: string, dryRun: boolean): string {
  return dryRun ? `${file}.dry-run.rejects.ndjson` : `${file}.rejects.ndjson`;
}

/** Writes the rejected lines to a path, or removes what is there when there are none; returns the path, or null. Throws `STORAGE_FAILED`. */
export async function writeRejects(
  target: string,
  pages: AsyncIterable<readonly RejectedLine[]>,
): Promise<string | null> {
  const unfinished = `${target}.ripen-unfinished`;
  try {
    // Removed, not overwritten: it may be somebody's link to another place.
    await rm(unfinished, { force: true });
    const handle = await open(unfinished, 'wx', PRIVATE);
    let isEmpty = true;
    try {
      for await (const page of pages) {
        isEmpty = false;
        await handle.writeFile(page.map(lineOf).join(''));
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (isEmpty) await Promise.all([rm(unfinished), rm(target, { force: true })]);
    else await rename(unfinished, target);
    await makeDurable(dirname(target));
    return isEmpty ? null : target;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw storageFailed(`The rejects file ${target} could not be written`, cause, {
      facts: { file: target },
      hint: 'Check free space and permissions of the directory the spend file lies in.',
    });
  }
}

function lineOf({ line, reasons, given }: RejectedLine): string {
  // A corrected rejects file has line and reasons of its own.
  const own = Object.entries(given).filter(([name]) => !rejectColumns.includes(name));
  return `${JSON.stringify({ line, reasons, ...Object.fromEntries(own) })}\n`;
}
