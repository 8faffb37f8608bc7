/**
 * Answers that were read into columns before their batch is loaded: where their rows lie, and until when.
 *
 * What is said beside the rows is judged here as by inspection; an answer with anything unusual is left to SQL.
 */

import { basename, join } from 'node:path';

import { Failure, textOf } from '../errors.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { SavedBody } from '../service/service.ts';
import type { besideRows } from '../spool/beside-rows.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { ColumnsRead, Envelope, GaveUp, SliceColumns } from '../spool/columns/reading.ts';
import { removeSpooled, type Spooled, type SpooledAnswer } from '../spool/spool.ts';
import { answerOf, type BrokenAnswer } from './documents.ts';
import type { Answer, ColumnAnswer, LoadWarning, ReadAnswers } from './load-result.ts';
import { becameDouble, type Columns } from './target.ts';

type Pages = readonly SavedBody[];

/** Answers that were read into columns, known again by the very list of their pages. */
export class ColumnAnswers implements ReadAnswers {
  readonly #reader: Pick<ColumnReader, 'read'>;
  readonly #folder: string;
  readonly #taken = new Map<Pages, ColumnAnswer>();
  /** By file, how many answers have their rows there. */
  readonly #sharing = new Map<string, number>();
  /** No two readings share a file: the engine remembers files by their names. */
  #readings = 0;
  #trouble: LoadWarning | null = null;
  #isTold = false;

  /** What is read goes to files in the folder. */
  constructor(reader: Pick<ColumnReader, 'read'>, folder: string) {
    this.#reader = reader;
    this.#folder = folder;
  }

  /** What is to be told of a reader that came to grief over an answer, which is not to give it up; once, then null. */
  takeTrouble(): LoadWarning | null {
    const trouble = this.#isTold ? null : this.#trouble;
    this.#isTold ||= trouble !== null;
    return trouble;
  }

  /**
   * Reads answers into one file, but for those that were read before; returns why SQL has to read one of them, and null where it
   * has not. Throws `STORAGE_FAILED`.
   */
  async read(answers: readonly Pages[], columns: Columns): Promise<string | null> {
    const unread = answers.filter((pages) => !this.#taken.has(pages));
    const bodies = unread.flat();
    const [first] = bodies;
    if (first === undefined) return null;
    this.#readings += 1;
    const file = join(this.#folder, `${basename(first.path)}.${this.#readings}.parquet`);
    const wanted = wantedColumns(columns);
    const read = await this.#tryReading(bodies, wanted, file);
    if ('gaveUp' in read) return read.gaveUp;
    const found: Answer[] = [];
    for (const [at, envelope] of read.envelopes.entries()) {
      const answer = judged(bodies[at]?.path ?? '', envelope, wanted);
      if ('because' in answer) {
        await removeSpooled(file);
        return answer.because;
      }
      found.push(answer);
    }
    const { weekStartsOn, isOrdered, isDistinct } = read;
    const types = columns.metrics.map(({ type }) => type);
    this.#sharing.set(file, unread.length);
    let firstBody = 0;
    for (const pages of unread) {
      const mine = found.slice(firstBody, firstBody + pages.length);
      const rows = mine.reduce((sum, { rowCount }) => sum + rowCount, 0);
      const seen = { rows, weekStartsOn, isOrdered, isDistinct };
      this.#taken.set(pages, { file, firstBody, bodies: bodies.length, types, ...seen, pages: mine });
      firstBody += pages.length;
    }
    return null;
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
      if (taken === undefined) continue;
      const left = (this.#sharing.get(taken.file) ?? 1) - 1;
      this.#sharing.set(taken.file, left);
      if (left > 0) continue;
      this.#sharing.delete(taken.file);
      await removeSpooled(taken.file);
    }
  }

  async #tryReading(pages: Pages, columns: SliceColumns, to: string): Promise<ColumnsRead | GaveUp> {
    try {
      return await this.#reader.read({ bodies: pages, columns, to });
    } catch (error) {
      if (error instanceof Failure) throw error;
      await removeSpooled(to);
      const reason = textOf(error);
      const message = `The column reader broke, and SQL read the answer, which takes longer and more memory: ${reason}`;
      this.#trouble ??= { code: 'COLUMN_READER_BROKE', message };
      return { gaveUp: reason };
    }
  }
}

/** A page as inspection would find it. */
function judged(
  path: string,
  { rows, members }: Envelope,
  { dimensions, metrics }: SliceColumns,
): Answer | BrokenAnswer {
  const said = (name: (typeof besideRows)[number]): string | null => members.get(name) ?? null;
  const keys = [...dimensions, ...metrics].map(({ name }) => name);
  const document = {
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
    immature_cohorts: said('immature_cohorts'),
    debug: said('debug'),
  };
  return answerOf(path, [document]);
}

function wantedColumns({ dimensions, metrics }: Columns): SliceColumns {
  return {
    dimensions: dimensions.map((name) => ({ name, kind: isDateDimension(name) ? name : 'text' })),
    metrics: metrics.map((metric) => ({ name: metric.id, type: metric.type, isExact: becameDouble(metric) })),
  };
}
