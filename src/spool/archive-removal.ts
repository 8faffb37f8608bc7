/** Taking a slice, or its oldest periods, out of the archive, so that no replay brings them back. */

import { rmdir } from 'node:fs/promises';

import type { Day } from '../model/calendar.ts';
import { readArchive } from './archive-contents.ts';
import { noteDrop, readDrops, removeNote } from './archive-drops.ts';
import { entriesIn, folderExists, hasCode, removeEntry, sliceFolder } from './archive.ts';
import { onDisk } from './spool.ts';

/** The entries of a slice that hold something to be dropped. */
export interface DroppedAnswers {
  /** Directories of those that hold nothing else. */
  readonly whole: readonly string[];
  /** How many hold later periods too, which stay. */
  readonly partly: number;
}

/** Of a slice, or of its periods that ended by the start of a day. Throws `STORAGE_FAILED`. */
export async function answersToDrop(warehousePath: string, slice: string, before: Day | null): Promise<DroppedAnswers> {
  const folder = sliceFolder(warehousePath, slice);
  return onDisk('archive', folder, async () => {
    if (!(await folderExists(folder))) return { whole: [], partly: 0 };
    if (before === null) return { whole: (await entriesIn(folder)).map(({ path }) => path), partly: 0 };
    const held = (await readArchive(warehousePath, slice, new Date())).windows.map(({ path, entry: { periods } }) => {
      return { path, gone: periods.filter(({ period }) => period.bucket.end <= before).length, of: periods.length };
    });
    return {
      whole: held.filter(({ gone, of }) => gone === of).map(({ path }) => path),
      partly: held.filter(({ gone, of }) => gone > 0 && gone < of).length,
    };
  });
}

/** Removes the whole ones, and notes what is no longer to be loaded of the others, also in the place of a note that is broken. Throws `STORAGE_FAILED`. */
export async function dropAnswers(
  warehousePath: string,
  { slice, before }: { readonly slice: string; readonly before: Day | null },
  { whole, partly }: DroppedAnswers,
): Promise<void> {
  const folder = sliceFolder(warehousePath, slice);
  await onDisk('archive', folder, async () => {
    if (!(await folderExists(folder))) return;
    for (const path of whole) await removeEntry(path);
    if (before === null) await removeFolder(folder);
    else if (partly > 0 || 'because' in (await readDrops(folder))) await noteDrop(folder, { before, at: new Date() });
  });
}

/** What is not the archive's own stays where it lies. */
async function removeFolder(folder: string): Promise<void> {
  await removeNote(folder);
  await rmdir(folder).catch((error: unknown) => {
    if (!hasCode(error, 'ENOTEMPTY')) throw error;
  });
}
