/**
 * The fast way of a batch: the column reader turns the bodies of a window into typed Parquet files, in one pass.
 *
 * A window goes this way wholly or not at all: where one body holds anything unusual, SQL reads and judges all of them.
 */

import { rm } from 'node:fs/promises';

import { Failure } from '../errors.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { ColumnsRead, Envelope, SliceColumns } from '../spool/columns/reading.ts';
import { onDisk } from '../spool/on-disk.ts';
import type { Spooled } from '../spool/spool.ts';
import { answerOf, type Answer } from './answers.ts';
import type { Columns } from './slice-columns.ts';
import type { besideRows } from './staging-sql.ts';

/** One part of a window, as the column reader took it. */
export interface ColumnPart {
  readonly partNo: number;
  readonly file: string;
  readonly rows: number;
  /** The weekday that all labels of whole weeks begin with, 0 for Sunday; null when they differ or there are none. */
  readonly weekStartsOn: number | null;
}

/** The windows of a batch that were taken: what their pages say, by path, and where their rows are. */
export interface ColumnAnswers {
  readonly pages: ReadonlyMap<string, Answer>;
  readonly parts: ReadonlyMap<Spooled, readonly ColumnPart[]>;
}

export const noColumnAnswers: ColumnAnswers = { pages: new Map(), parts: new Map() };

/** No two readings share a file: the engine remembers files by their names. */
let readings = 0;

/** Reads what can be read of a batch. The files are the caller's to remove, with `discardColumns`. Throws `STORAGE_FAILED`. */
export async function readColumns(
  batch: readonly Spooled[],
  columns: Columns,
  reader: ColumnReader,
): Promise<ColumnAnswers> {
  const wanted = wantedColumns(columns);
  const pages = new Map<string, Answer>();
  const parts = new Map<Spooled, readonly ColumnPart[]>();
  for (const spooled of batch) {
    const taken: ColumnPart[] = [];
    const answers: Answer[] = [];
    for (const [partNo, answer] of spooled.answers.entries()) {
      if (answer.pages.length === 0) continue;
      readings += 1;
      const file = `${answer.pages[0]?.path ?? ''}.${readings}.parquet`;
      const read = await readPart(reader, { bodies: answer.pages, columns: wanted, to: file });
      if (read === null) break;
      taken.push({ partNo, file, rows: read.rows, weekStartsOn: read.weekStartsOn });
      for (const [at, envelope] of read.envelopes.entries()) {
        const found = judged(answer.pages[at]?.path ?? '', envelope, wanted);
        if (found !== null) answers.push(found);
      }
    }
    const wholePages = spooled.answers.reduce((sum, answer) => sum + answer.pages.length, 0);
    if (answers.length === wholePages) {
      parts.set(spooled, taken);
      for (const answer of answers) pages.set(answer.path, answer);
    } else {
      await removeFiles(taken);
    }
  }
  return { pages, parts };
}

/** Removes the files of a batch that is loaded, or never will be. */
export async function discardColumns({ parts }: ColumnAnswers): Promise<void> {
  for (const taken of parts.values()) await removeFiles(taken);
}

async function removeFiles(parts: readonly ColumnPart[]): Promise<void> {
  await Promise.all(parts.map(async ({ file }) => removeFile(file)));
}

async function removeFile(path: string): Promise<void> {
  await onDisk('spool', path, async () => rm(path, { force: true }));
}

/** What was read of a part; null where the reader gave up or came to grief, as SQL then judges. */
async function readPart(
  reader: ColumnReader,
  request: Parameters<ColumnReader['read']>[0],
): Promise<ColumnsRead | null> {
  try {
    const read = await reader.read(request);
    return 'gaveUp' in read ? null : read;
  } catch (error) {
    if (error instanceof Failure) throw error;
    await removeFile(request.to);
    return null;
  }
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
