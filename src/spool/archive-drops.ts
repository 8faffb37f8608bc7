/**
 * The note, in a slice's folder, of the periods that were dropped of it, as its entries may hold later ones too.
 *
 * It speaks of the answers that were asked for before it was written: what is asked for again later is kept again.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import {
  type ArchivedWindow,
  type Damage,
  dayShape,
  documentText,
  instantShape,
  narrowed,
  parseDocument,
  unfinished,
} from './archive-entry.ts';
import { readDocument, writeDurably } from './archive.ts';

const NOTE = 'dropped.json';

/** The periods that ended by the start of a day were dropped at an instant. */
const dropShape = z.object({ before: dayShape, at: instantShape });
const noteShape = z.object({ drops: z.array(dropShape) });

type Drop = z.infer<typeof dropShape>;

/** Whether a file in a slice's folder is the note, or one that was never finished. */
export const isDropNote = (name: string): boolean => name === NOTE || name === unfinished(NOTE);

/** What was dropped of a slice, or what is wrong with the note of it. */
export async function readDrops(folder: string): Promise<readonly Drop[] | Damage> {
  const path = join(folder, NOTE);
  const text = await readDocument(path);
  if (text === null) return [];
  const note = typeof text === 'string' ? parseDocument(text, noteShape, 'the note of what was dropped') : text;
  return 'because' in note ? { path, ...note } : note.drops;
}

/** The entry with the periods of it that were not dropped since; none where all were. */
export function withoutDropped(window: ArchivedWindow, drops: readonly Drop[]): ArchivedWindow[] {
  const gone = drops.filter(({ at }) => window.entry.requestedAt < at);
  return narrowed(window, ({ period }) => !gone.some(({ before }) => period.bucket.end <= before));
}

/** Notes that periods were dropped; durable. */
export async function noteDrop(folder: string, drop: Drop): Promise<void> {
  const known = await readDrops(folder);
  // What an earlier one says of answers and periods that this one speaks of is said by this one.
  const others = 'because' in known ? [] : known.filter(({ before, at }) => before > drop.before || at > drop.at);
  await writeDurably(join(folder, NOTE), documentText({ drops: [...others, drop] }));
}

/** Removes the note: nothing is left that it speaks of. */
export const removeNote = async (folder: string): Promise<void> => rm(join(folder, NOTE), { force: true });
