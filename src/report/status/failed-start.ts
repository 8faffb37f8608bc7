/** The note about a run that did not start, which no ledger has: the token was missing, or another run held the warehouse. */

import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import * as z from 'zod';

import { scrub } from '../../config/secret.ts';

const noteShape = z.object({
  at: z.string(),
  code: z.string(),
  message: z.string(),
  hint: z.string().nullable(),
});

export type FailedStart = z.output<typeof noteShape>;

/** Private, like all files beside the warehouse. */
const NOTE_MODE = 0o600;

const noteOf = (warehouse: string) => `${warehouse}.unstarted`;

export async function keepFailedStart(
  warehouse: string,
  failure: Omit<FailedStart, 'at'> | null,
  at: Date,
): Promise<void> {
  if (failure === null) return rm(noteOf(warehouse), { force: true });
  if (!existsSync(dirname(warehouse))) return;
  const { code, message, hint } = failure;
  const note: FailedStart = { at: at.toISOString(), code, message, hint };
  await writeFile(noteOf(warehouse), `${scrub(JSON.stringify(note))}\n`, { mode: NOTE_MODE });
}

export function readFailedStart(warehouse: string): FailedStart | null {
  try {
    return noteShape.parse(JSON.parse(readFileSync(noteOf(warehouse), 'utf8')));
  } catch {
    return null;
  }
}
