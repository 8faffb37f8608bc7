/**
 * Answers that are read into Parquet files: where their rows lie, in which types, and what is stated beside them.
 *
 * An answer is read into the types of the slice's table. If its numbers need wider ones, it is read again into the narrowest exact
 * types that hold them.
 */

import { basename, join } from 'node:path';

import { capacityOf, type ColumnType, widen } from '../model/column-type.ts';
import type { Metric } from '../model/metric.ts';
import type { SavedBody } from '../service/service.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { ColumnsRead, Envelope } from '../spool/columns/reading.ts';
import { plainBytesOf, removeSpooled, type Spooled, type SpooledAnswer } from '../spool/spool.ts';
import type { Columns, Target } from '../tables/target.ts';

/** The rows of an answer as they lie in its file, and what its pages state beside them. */
export interface ReadAnswer extends Omit<ColumnsRead, 'envelopes'> {
  readonly file: string;
  /** The number of its first body there, and how many bodies the file has in all: it may hold other answers besides. */
  readonly firstBody: number;
  readonly bodies: number;
  /** The types its metrics have there, in table order; the table's may have become wider since. */
  readonly types: readonly ColumnType[];
  /** In their order. */
  readonly pages: readonly Envelope[];
}

type Pages = readonly SavedBody[];

/**
 * Bytes of an answer that is read only with the others of its batch, as one: a reader and a file of its own take longer to
 * make than it takes to read, and the engine longer to open.
 */
const SMALL_BYTES = 128 * 1024;

const isSmall = (pages: Pages): boolean => plainBytesOf(pages) <= SMALL_BYTES;

/** No two answers have a file in common. */
const idOf = ([first]: Pages): string => first?.path ?? '';

export class ReadAnswers {
  readonly #reader: Pick<ColumnReader, 'read'>;
  readonly #folder: string;
  readonly #read = new Map<string, ReadAnswer>();
  /** No two readings share a file: the engine remembers files by their names. */
  #readings = 0;

  /** What is read goes to files in the folder. */
  constructor(reader: Pick<ColumnReader, 'read'>, folder: string) {
    this.#reader = reader;
    this.#folder = folder;
  }

  /** Reads an answer by itself as soon as it has landed, if it is large. Throws `STORAGE_FAILED`. */
  async readLanded(pages: Pages, columns: Columns): Promise<void> {
    if (pages.length > 0 && !isSmall(pages)) await this.#readInto([pages], columns, []);
  }

  /** Reads what was not read yet of some windows, or not into columns that take it. Throws `STORAGE_FAILED`. */
  async readAll(batch: readonly Spooled[], { slice, columns }: Target): Promise<void> {
    // So that the dates go on from one answer to the next.
    const inOrder = batch.toSorted((a, b) => (a.window.replaced.start < b.window.replaced.start ? -1 : 1));
    const all = inOrder.flatMap(({ answers }) => answers.flatMap(({ pages }) => (pages.length > 0 ? [pages] : [])));
    const requested = batch[0]?.window.slice.metrics ?? [];
    // What is seen of the rows of all is true of each, but for weeks.
    const together =
      slice.grain === 'week' ? [] : all.filter((pages) => isSmall(pages) && !this.#read.has(idOf(pages)));
    if (together.length > 0) await this.#readInto(together, columns, requested);
    for (const pages of all) {
      let read = this.#read.get(idOf(pages));
      // Of a file with other answers it is not known whose numbers need wider columns.
      const isOfOthers = read !== undefined && read.unfit.size > 0 && read.bodies > pages.length;
      if (read === undefined || isOfOthers) read = await this.#readInto([pages], columns, requested);
      const { unfit } = read;
      const metrics = columns.metrics.map((each): Metric => ({ ...each, type: unfit.get(each.id) ?? each.type }));
      if (unfit.size > 0) await this.#readInto([pages], { ...columns, metrics }, requested);
    }
  }

  /** What was read of each part of a window, of no pages null. */
  of({ answers }: Pick<Spooled, 'answers'>): readonly (ReadAnswer | null)[] {
    return answers.map(({ pages }) => this.#read.get(idOf(pages)) ?? null);
  }

  /** Removes what was read of answers that nobody needs any more. */
  async discard(answers: readonly Pick<SpooledAnswer, 'pages'>[]): Promise<void> {
    const files = new Set<string>();
    for (const { pages } of answers) {
      const read = this.#read.get(idOf(pages));
      this.#read.delete(idOf(pages));
      if (read !== undefined) files.add(read.file);
    }
    for (const { file } of this.#read.values()) files.delete(file);
    for (const file of files) await removeSpooled(file);
  }

  /** Reads answers into one new file, in place of what was read of them; returns what was read of the first. */
  async #readInto(
    answers: readonly Pages[],
    { dimensions, metrics }: Columns,
    requested: readonly string[],
  ): Promise<ReadAnswer> {
    await this.discard(answers.map((pages) => ({ pages })));
    const bodies = answers.flat();
    this.#readings += 1;
    const file = join(this.#folder, `${basename(bodies[0]?.path ?? '')}.${this.#readings}.parquet`);
    const left = requested.filter((name) => metrics.every(({ id }) => id !== name));
    const { envelopes, ...read } = await this.#reader.read({
      bodies,
      columns: { dimensions, metrics, left },
      to: file,
    });
    const place = { file, bodies: bodies.length, types: metrics.map(({ type }) => type) };
    let firstBody = 0;
    const found = answers.map((pages): ReadAnswer => {
      const own = envelopes.slice(firstBody, firstBody + pages.length);
      const rows = own.reduce((sum, envelope) => sum + envelope.rows, 0);
      const answer = { ...read, ...place, firstBody, rows, pages: own };
      this.#read.set(idOf(pages), answer);
      firstBody += pages.length;
      return answer;
    });
    const [first] = found;
    if (first === undefined) throw new RangeError('There was no answer to read.');
    return first;
  }
}

/** The narrowest types that hold what a table holds and what was read of some answers; null where no type does. */
export function columnsFor(columns: Columns, read: readonly Pick<ReadAnswer, 'types'>[]): Columns | null {
  const metrics: Metric[] = [];
  for (const [at, metric] of columns.metrics.entries()) {
    const type = read.reduce<ColumnType | null>((sofar, { types }) => {
      const other = types[at] ?? metric.type;
      return sofar === null || other.kind === 'DOUBLE' ? sofar : widen(sofar, capacityOf(other));
    }, metric.type);
    if (type === null) return null;
    metrics.push({ ...metric, type });
  }
  return { ...columns, metrics };
}
