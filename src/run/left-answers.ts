/** Answers that lie in the archive although none is kept any more: nothing removes them, and a replay still loads them. */

import type { Config } from '../config/config.ts';
import { answersHeld, archiveRoot } from '../spool/archive.ts';

/** What is to be told of them, and what to do; null where the archive is on, or holds none. Throws `STORAGE_FAILED`. */
export async function leftAnswers({
  archiveMs,
  warehouse,
}: Pick<Config, 'archiveMs' | 'warehouse'>): Promise<{ readonly message: string; readonly hint: string } | null> {
  const held = archiveMs === null ? await answersHeld(warehouse) : 0;
  if (held === 0) return null;
  const root = archiveRoot(warehouse);
  return {
    message: `The archive is off, and ${held} of its answers stay in ${root} for ever.`,
    hint: `Remove ${root}, or set archive: 30d for them to expire.`,
  };
}
