/**
 * Answers that are read into files: where their rows lie, until when, and what is said beside them.
 */

import { basename, join } from 'node:path';

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { SavedBody } from '../service/service.ts';
import { type BesideRows, errorIn, isNothing, parsedOf, warningsIn } from '../spool/beside-rows.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { Envelope, SliceColumns } from '../spool/columns/reading.ts';
import { plainBytesOf, removeSpooled, type Spooled, type SpooledAnswer } from '../spool/spool.ts';
import { statedMaturity } from './evidence.ts';
import type { Answer, BrokenAnswer, ColumnAnswer, ReadAnswers } from './load-result.ts';
import { becameDouble, type Columns } from './target.ts';

type Pages = readonly SavedBody[];

/**
 * Bytes of an answer that is read only with the others of its batch, as one: a reader and a file of its own take longer to
 * make than it takes to read, and the engine longer to open.
 */
const SMALL_BYTES = 128 * 1024;

const isSmall = (pages: Pages): boolean => plainBytesOf(pages) <= SMALL_BYTES;

/** Answers that were read, known again by the very list of their pages. */
export class ColumnAnswers implements ReadAnswers {
  readonly #reader: Pick<ColumnReader, 'read'>;
  readonly #folder: string;
  readonly #taken = new Map<Pages, ColumnAnswer>();
  /** By file, how many answers have their rows there. */
  readonly #sharing = new Map<string, number>();
  /** No two readings share a file: the engine remembers files by their names. */
  #readings = 0;

  /** What is read goes to files in the folder. */
  constructor(reader: Pick<ColumnReader, 'read'>, folder: string) {
    this.#reader = reader;
    this.#folder = folder;
  }

  /** Reads an answer by itself as soon as it has landed, where it is large; why as texts, and null where it is not. Throws `STORAGE_FAILED`. */
  async readLanded(pages: Pages, columns: Columns): Promise<string | null> {
    return pages.length === 0 || isSmall(pages) ? null : this.#read([pages], wantedColumns(columns, []));
  }

  async readAll(batch: readonly Spooled[], columns: Columns): Promise<void> {
    // So that the dates go on from one answer to the next.
    const inOrder = batch.toSorted((a, b) => (a.window.replaced.start < b.window.replaced.start ? -1 : 1));
    const all = inOrder.flatMap(({ answers }) => answers).filter(({ pages }) => pages.length > 0);
    await this.discard(all.filter(({ pages }) => !isFit(this.#taken.get(pages), columns)));
    const wanted = wantedColumns(columns, batch[0]?.window.slice.metrics ?? []);
    const unread = all.map(({ pages }) => pages).filter((pages) => !this.#taken.has(pages));
    // What is seen of the rows of all is true of each, but for weeks.
    const isTogether = batch[0]?.window.slice.grain !== 'week';
    const together = unread.filter((pages) => isTogether && isSmall(pages));
    if (together.length > 0) await this.#read(together, wanted);
    for (const pages of unread) if (!together.includes(pages)) await this.#read([pages], wanted);
    for (const { answers } of batch) await this.#readAlike(answers, wanted);
  }

  of({ answers }: Spooled): readonly (ColumnAnswer | null)[] {
    return answers.map(({ pages }) => this.#taken.get(pages) ?? null);
  }

  /** Removes what was read of answers that nobody needs any more. */
  async discard(answers: readonly Pick<SpooledAnswer, 'pages'>[]): Promise<void> {
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

  /** Reads the parts of a window as texts where some of them are. */
  async #readAlike(answers: readonly SpooledAnswer[], columns: SliceColumns): Promise<void> {
    const isText = ({ pages }: SpooledAnswer): boolean => this.#taken.get(pages)?.types === null;
    const others = answers.filter((answer) => answer.pages.length > 0 && !isText(answer));
    if (others.length === 0 || !answers.some(isText)) return;
    await this.discard(others);
    for (const { pages } of others) await this.#read([pages], columns, 'another part that is read as texts');
  }

  /** Reads answers into one file; why as texts, and null where it is not. */
  async #read(answers: readonly Pages[], columns: SliceColumns, because: string | null = null): Promise<string | null> {
    const bodies = answers.flat();
    this.#readings += 1;
    const file = join(this.#folder, `${basename(bodies[0]?.path ?? '')}.${this.#readings}.parquet`);
    const read = await this.#reader.read({ bodies, columns, to: file, textsBecause: because });
    const { weekStartsOn, isOrdered, isDistinct, textsBecause } = read;
    const types = textsBecause === null ? columns.metrics.map(({ type }) => type) : null;
    this.#sharing.set(file, answers.length);
    let firstBody = 0;
    for (const pages of answers) {
      const envelopes = read.envelopes.slice(firstBody, firstBody + pages.length);
      const rows = envelopes.reduce((sum, envelope) => sum + envelope.rows, 0);
      const seen = { rows, weekStartsOn, isOrdered, isDistinct };
      this.#taken.set(pages, {
        file,
        firstBody,
        bodies: bodies.length,
        types,
        ...seen,
        pages: envelopes.map(answerOf),
      });
      firstBody += pages.length;
    }
    return textsBecause;
  }
}

/** Whether columns take what was read: what was read as decimals, a column that became DOUBLE since may round. */
function isFit(taken: ColumnAnswer | undefined, { metrics }: Columns): boolean {
  const types = taken?.types ?? null;
  return types === null || metrics.every((metric, at) => !becameDouble(metric) || types[at]?.kind === 'DOUBLE');
}

function wantedColumns({ dimensions, metrics }: Columns, requested: readonly string[]): SliceColumns {
  return {
    dimensions: dimensions.map((name) => ({ name, kind: isDateDimension(name) ? name : 'text' })),
    metrics: metrics.map((metric) => ({ name: metric.id, type: metric.type, isExact: becameDouble(metric) })),
    left: requested.filter((name) => metrics.every(({ id }) => id !== name)),
  };
}

/** What a body comes to: one page of an answer, or what is wrong with it. */
function answerOf({ rows, members, keys, commonKeys, because }: Envelope): Answer | BrokenAnswer {
  const said = (name: keyof BesideRows): string | null => members.get(name) ?? null;
  const beside: BesideRows = {
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
  const error = errorIn(beside);
  if (error !== null) return { because: `the service said ${error}` };
  if (because !== null) return { because };
  const mangled = (['totals', 'warnings', 'data_warnings', 'pagination'] as const).find(
    (name) => parsedOf(beside[name]) === undefined,
  );
  if (mangled !== undefined) {
    return { because: `its member ${mangled} was no JSON: ${scrub(beside[mangled] ?? '').slice(0, MOST_SAID)}` };
  }
  return {
    rowCount: rows,
    keys: new Set(keys),
    commonKeys: new Set(commonKeys),
    totals: totalsOf(beside.totals),
    warnings: warningsIn(beside),
    maturity: statedMaturity(beside),
    pagination: isNothing(beside.pagination) ? null : parsedOf(beside.pagination),
  };
}

/** Characters of what is no JSON that a message repeats. */
const MOST_SAID = 100;

/** Numbers keep the text they were written with, as far as the engine does. */
function totalsOf(json: string | null): Map<string, string> {
  if (json === null) return new Map();
  const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(json));
  if (!parsed.success) return new Map();
  const written = [...json.matchAll(/"((?:[^"\\]|\\.)*)":\s*(?:"([^"]*)"|(-?[0-9][0-9.eE+-]*))/g)];
  return new Map(
    written.map(([, key = '', text, number]) => [z.string().parse(JSON.parse(`"${key}"`)), text ?? number ?? '']),
  );
}
