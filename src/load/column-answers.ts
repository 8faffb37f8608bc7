/**
 * The fast way of an answer: the column reader turns its bodies into a typed Parquet file, in one pass, as soon as they
 * have landed.
 *
 * An answer goes this way wholly or not at all: where one body holds anything unusual, SQL reads and judges all of them.
 */

import { rm } from 'node:fs/promises';

import { Failure } from '../errors.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { SavedBody } from '../service/service.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { ColumnsRead, Envelope, SliceColumns } from '../spool/columns/reading.ts';
import { onDisk, type Spooled, type SpooledAnswer } from '../spool/spool.ts';
import { type Answer, answerOf } from './answers.ts';
import type { LoadWarning } from './load-result.ts';
import type { Columns } from './target.ts';
import type { besideRows } from './text-sql.ts';

/** The rows of an answer as they lie in its file, and what its pages say beside them. */
export interface ColumnAnswer extends Pick<ColumnsRead, 'rows' | 'weekStartsOn' | 'isOrdered'> {
  readonly file: string;
  /** In their order. */
  readonly pages: readonly Answer[];
}

type Pages = readonly SavedBody[];

/** Answers that were read into columns, known again by the very list of their pages. */
export class ColumnAnswers {
  readonly #reader: Pick<ColumnReader, 'read'>;
  readonly #taken = new Map<Pages, ColumnAnswer>();
  /** No two readings share a file: the engine remembers files by their names. */
  #readings = 0;
  #trouble: LoadWarning | null = null;
  #isTold = false;

  constructor(reader: Pick<ColumnReader, 'read'>) {
    this.#reader = reader;
  }

  /** What is to be told of a reader that came to grief over an answer, which is not to give it up; once, then null. */
  takeTrouble(): LoadWarning | null {
    const trouble = this.#isTold ? null : this.#trouble;
    this.#isTold ||= trouble !== null;
    return trouble;
  }

  /** Reads an answer; false where SQL has to. Throws `STORAGE_FAILED`. */
  async read(pages: Pages, columns: Columns): Promise<boolean> {
    const [first] = pages;
    if (first === undefined) return false;
    this.#readings += 1;
    const file = `${first.path}.${this.#readings}.parquet`;
    const wanted = wantedColumns(columns);
    const read = await this.#tryReading(pages, wanted, file);
    if (read === null) return false;
    const answers = read.envelopes.flatMap((envelope, at) => judged(pages[at]?.path ?? '', envelope, wanted) ?? []);
    if (answers.length < pages.length) {
      await removeFile(file);
      return false;
    }
    const { rows, weekStartsOn, isOrdered } = read;
    this.#taken.set(pages, { file, rows, weekStartsOn, isOrdered, pages: answers });
    return true;
  }

  /** What was read of each part of a window, of no pages null; undefined where SQL has to read one of them. */
  of({ answers }: Spooled): readonly (ColumnAnswer | null)[] | undefined {
    const found = answers.map((answer) => this.taken(answer));
    return found.every((answer) => answer !== undefined) ? found : undefined;
  }

  /** What was read of one part; null of no pages, undefined where SQL has to read it. */
  taken({ pages }: SpooledAnswer): ColumnAnswer | null | undefined {
    return pages.length === 0 ? null : this.#taken.get(pages);
  }

  /** Removes what was read of answers that nobody needs any more. */
  async discard(answers: readonly { readonly pages: Pages }[]): Promise<void> {
    for (const { pages } of answers) {
      const taken = this.#taken.get(pages);
      this.#taken.delete(pages);
      if (taken !== undefined) await removeFile(taken.file);
    }
  }

  async #tryReading(pages: Pages, columns: SliceColumns, to: string): Promise<ColumnsRead | null> {
    try {
      const read = await this.#reader.read({ bodies: pages, columns, to });
      return 'gaveUp' in read ? null : read;
    } catch (error) {
      if (error instanceof Failure) throw error;
      await removeFile(to);
      const reason = error instanceof Error ? error.message : String(error);
      const message = `The column reader broke, and SQL read the answer, which takes longer and more memory: ${reason}`;
      this.#trouble ??= { code: 'COLUMN_READER_BROKE', message };
      return null;
    }
  }
}

async function removeFile(path: string): Promise<void> {
  await onDisk('spool', path, async () => rm(path, { force: true }));
}

/** A page as inspection would find it; null for one that inspection would refuse, which has to word it. */
function judged(path: string, { rows, members }: Envelope, { dimensions, metrics }: SliceColumns): Answer | null {
  const said = (name: (typeof besideRows)[number]): string | null => members.get(name) ?? null;
  const keys = [...dimensions, ...metrics].map(({ name }) => name);
  const document = {
    filename: path,
    row_count: rows,
    key_sets: JSON.stringify(rows === 0 ? [] : [keys]),
    totals: said('totals'),
    warnings: said('warnings'),
    data_warnings: said('data_warnings'),
    pagination: said('pagination'),
    error: said('error'),
    errors: said('errors'),
    error_code: said('error_code'),
    detail: said('detail'),
  };
  const answer = answerOf(path, [document]);
  return 'because' in answer ? null : answer;
}

function wantedColumns({ dimensions, metrics }: Columns): SliceColumns {
  return {
    dimensions: dimensions.map((name) => ({ name, kind: isDateDimension(name) ? name : 'text' })),
    metrics: metrics.map(({ id, type }) => ({ name: id, type })),
  };
}
