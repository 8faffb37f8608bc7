/**
 * The spool of a run, and the answers of it, or of the archive, that are read into columns there.
 *
 * Hides the reader's thread, and where it writes.
 */

import { ColumnAnswers } from '../load/column-answers.ts';
import { openColumnReader } from '../spool/columns/column-reader.ts';
import { openSpool, type Spool } from '../spool/spool.ts';
import { type Run, warn } from './run.ts';

export interface RunColumns {
  readonly spool: Spool;
  readonly answers: ColumnAnswers;
  /** Tells of a reader that came to grief, once. */
  tellTrouble(): Promise<void>;
  close(): Promise<void>;
}

/** Opens both, emptied: also when nothing turns out to be due, as what a killed run left there takes room. */
export function openColumns(run: Run): RunColumns {
  const spool = openSpool(run.warehouse.path);
  const reader = openColumnReader();
  const answers = new ColumnAnswers(reader, spool.root);
  return {
    spool,
    answers,
    async tellTrouble() {
      const trouble = answers.takeTrouble();
      if (trouble !== null) await warn(trouble, null, run);
    },
    async close() {
      await reader.close();
      spool.clear();
    },
  };
}
