/** Reads answers into Parquet files, in the types of the slice's table or, if their numbers need them, in wider exact ones. */

import { basename, join } from 'node:path';

import { capacityOf, type ColumnType, widen } from '../model/column-type.ts';
import type { Metric } from '../model/metric.ts';
import type { SavedBody } from '../service/service.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { ColumnsRead, Envelope } from '../spool/columns/reading.ts';
import { plainBytesOf, removeSpooled, type Spooled, type SpooledAnswer } from '../spool/spool.ts';
import type { Columns, Target } from '../tables/target.ts';

/** The rows of an answer in its file, and what its pages state beside them. */
export interface ReadAnswer extends Omit<ColumnsRead, 'envelopes'> {
  readonly file: string;
  /** The number of its first body in the file; `bodies` counts all bodies there, as a file may hold several answers. */
  readonly firstBody: number;
  readonly bodies: number;
  /** The types of its metrics in the file, in table order; those of the table may be wider by now. */
  readonly types: readonly ColumnType[];
  /** One per body, in their order. */
  readonly pages: readonly Envelope[];
}

type Pages = readonly SavedBody[];

/** Most bytes of an answer that is read with others: its own file would take longer to make and open than it takes to read. */
const SMALL_BYTES = 128 * 1024;

const isSmall = (pages: Pages): boolean => plainBytesOf(pages) <= SMALL_BYTES;

/** The path of the first page: no two answers share a file. */
const idOf = ([first]: Pages): string => first?.path ?? '';

/** Answers that were read, in Parquet files in one folder. */
export class ReadAnswers {
  readonly #reader: Pick<ColumnReader, 'read'>;
  readonly #folder: string;
  readonly #read = new Map<string, ReadAnswer>();
  /** Numbers the files: no two readings may share a name, because the engine remembers files by name. */
  #readings = 0;

  constructor(reader: Pick<ColumnReader, 'read'>, folder: string) {
    this.#reader = reader;
    this.#folder = folder;
  }

  /** Reads a large answer by itself as soon as it is spooled; leaves a small one to its batch. Throws `STORAGE_FAILED`. */
  async readLanded(pages: Pages, columns: Columns): Promise<void> {
    if (pages.length > 0 && !isSmall(pages)) await this.#readInto([pages], columns, []);
  }

  /** Reads the answers that were not read yet, or whose numbers did not fit their columns. Throws `STORAGE_FAILED`. */
  async readAll(batch: readonly Spooled[], { slice, columns }: Target): Promise<void> {
    // Keeps dates in order from one answer to the next.
    const inOrder = batch.toSorted((a, b) =>
      a.window.replaced.start < b.window.replaced.start ? -1 : 1,
    );
    const all = inOrder.flatMap(({ answers }) =>
      answers.flatMap(({ pages }) => (pages.length > 0 ? [pages] : [])),
    );
    const requested = batch[0]?.window.slice.metrics ?? [];
    // Facts about all rows apply to each answer, except the weekday that its weeks begin with.
    const together =
      slice.grain === 'week'
        ? []
        : all.filter((pages) => isSmall(pages) && !this.#read.has(idOf(pages)));
    if (together.length > 0) await this.#readInto(together, columns, requested);
    for (const pages of all) {
      let read = this.#read.get(idOf(pages));
      // If the file holds other answers, it is unknown whose numbers need wider columns.
      const isOfOthers = read !== undefined && read.unfit.size > 0 && read.bodies > pages.length;
      if (read === undefined || isOfOthers)
        read = await this.#readInto([pages], columns, requested);
      const { unfit } = read;
      const metrics = columns.metrics.map((each): Metric => ({
        ...each,
        type: unfit.get(each.id) ?? each.type,
      }));
      if (unfit.size > 0) await this.#readInto([pages], { ...columns, metrics }, requested);
    }
  }

  /** What was read of each answer of a window, in order; null for an answer without pages. */
  of({ answers }: Pick<Spooled, 'answers'>): readonly (ReadAnswer | null)[] {
    return answers.map(({ pages }) => this.#read.get(idOf(pages)) ?? null);
  }

  /** Forgets answers that are no longer needed, and removes the files that hold no other answer. */
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

  /** Reads answers into one new file, in place of what was read of them before; returns the first of them. */
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

/** The columns of a table in the narrowest types that also hold the answers read; null if a metric has no such type. */
export function columnsFor(
  columns: Columns,
  read: readonly Pick<ReadAnswer, 'types'>[],
): Columns | null {
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
