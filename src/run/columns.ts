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
import type { Run } from './run.ts';

export interface RunColumns {
  readonly spool: Spool;
  readonly answers: ColumnAnswers;
  /** Reads an answer that has landed, where that is worth while; tells why as texts. */
  read(window: Window, pages: readonly SavedBody[], into: Columns): Promise<void>;
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
    async read({ slice, ...window }, pages, into) {
      const because = await answers.readLanded(pages, into);
      if (because !== null)
        run.emit({ type: 'window_read_as_texts', slice: slice.name, window: labelOf(window), because });
    },
    async close() {
      await reader.close();
      spool.clear();
    },
  };
}
