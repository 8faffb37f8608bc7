/**
 * The spool of a run, and the answers of it, or of the archive, that are read into columns there.
 *
 * Hides the reader's thread, and where it writes.
 */

import { ColumnAnswers } from '../load/column-answers.ts';
import type { Columns } from '../load/target.ts';
import { labelOf, type Window } from '../model/window.ts';
import type { SavedBody } from '../service/service.ts';
import { openColumnReader } from '../spool/columns/column-reader.ts';
import { openSpool, type Spool } from '../spool/spool.ts';
import { type Run, warn } from './run.ts';

export interface RunColumns {
  readonly spool: Spool;
  readonly answers: ColumnAnswers;
  /** Reads answers of one meaning, with a window of it, into columns together; false where SQL has to read one of them, which is told of a single one. */
  read(window: Window, answers: readonly (readonly SavedBody[])[], into: Columns): Promise<boolean>;
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
    async read(window, all, into) {
      const because = await answers.read(all, into);
      // Of several nobody knows which one it was, and each is read again by itself.
      if (because !== null && all.length === 1)
        run.emit({ type: 'window_read_by_sql', slice: window.slice.name, window: labelOf(window), because });
      return because === null;
    },
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
