/**
 * The spool of a run, and the answers of it, or of the archive, that are read into columns there.
 *
 * Hides the reader's thread, and where it writes.
 */

import { ReadAnswers } from '../load/read-answers.ts';
import { openColumnReader } from '../spool/columns/column-reader.ts';
import { openSpool, type Spool } from '../spool/spool.ts';
import type { Run } from './run.ts';

export interface RunColumns {
  readonly spool: Spool;
  readonly answers: ReadAnswers;
  close(): Promise<void>;
}

/** Opens both, emptied: also when nothing turns out to be due, as what a killed run left there takes room. */
export function openColumns({ warehouse }: Pick<Run, 'warehouse'>): RunColumns {
  const spool = openSpool(warehouse.path);
  const reader = openColumnReader();
  const answers = new ReadAnswers(reader, spool.root);
  return {
    spool,
    answers,
    async close() {
      await reader.close();
      spool.clear();
    },
  };
}
