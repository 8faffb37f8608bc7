/**
 * Answers that are read into Parquet files: where their rows lie, in which types, and what is stated beside them.
 *
 * An answer is read into the types of the slice's table. Where its numbers need wider ones, it is read again into those, with
 * the other parts of its window: a column widens to the narrowest decimal that holds everything. Digits after the point are taken
 * from those before it, and from sums: more than 20 of them nobody counted, they are what computing with doubles leaves
 * (`-1.4210854715202004e-14`). Where a metric has so many, and all of its numbers are what doubles say, those in the table too, its
 * column becomes one of doubles, and takes no others from then on. A count's never does, and one that was declared DOUBLE takes
 * the nearest double of every number.
 */

import { basename, join } from 'node:path';

import * as z from 'zod';

import { capacityOf, type ColumnType, DOUBLE, formatColumnType, widen } from '../model/column-type.ts';
import { isDateDimension } from '../model/dimension.ts';
import type { SavedBody } from '../service/service.ts';
import type { ColumnReader } from '../spool/columns/column-reader.ts';
import type { ColumnsRead, SliceColumns } from '../spool/columns/reading.ts';
import { plainBytesOf, removeSpooled, type Spooled, type SpooledAnswer } from '../spool/spool.ts';
import { count, identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { pageOf, type AnswerPage } from './report-page.ts';
import { becameDouble, type Columns, type MetricColumn, type Target } from './target.ts';

/** The rows of an answer as they lie in its file, and what its pages state beside them. */
export interface ReadAnswer extends Omit<ColumnsRead, 'envelopes'> {
  readonly file: string;
  /** The number of its first body there, and how many bodies the file has in all: it may hold other answers besides. */
  readonly firstBody: number;
  readonly bodies: number;
  /** The types its metrics have there, in table order; the table's may have become wider since. */
  readonly types: readonly ColumnType[];
  /** In their order. */
  readonly pages: readonly AnswerPage[];
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

  /** Reads an answer by itself as soon as it has landed, where it is large. Throws `STORAGE_FAILED`. */
  async readLanded(pages: Pages, columns: Columns): Promise<void> {
    if (pages.length > 0 && !isSmall(pages)) await this.#readInto([pages], wantedColumns(columns, [], new Set()));
  }

  /** Reads what was not read yet of some windows, or not into columns that take it. Throws `STORAGE_FAILED`. */
  async readAll(batch: readonly Spooled[], target: Target, warehouse: Warehouse): Promise<void> {
    // So that the dates go on from one answer to the next.
    const inOrder = batch.toSorted((a, b) => (a.window.replaced.start < b.window.replaced.start ? -1 : 1));
    const all = inOrder.flatMap(({ answers }) => answers.filter(({ pages }) => pages.length > 0));
    const isFit = (read: ReadAnswer | undefined): boolean =>
      target.columns.metrics.every(({ type }, at) => isDouble(type) === isDouble(read?.types[at] ?? type));
    await this.discard(all.filter(({ pages }) => !isFit(this.#read.get(idOf(pages)))));
    const wanted = wantedColumns(target.columns, batch[0]?.window.slice.metrics ?? [], new Set());
    const unread = all.map(({ pages }) => pages).filter((pages) => !this.#read.has(idOf(pages)));
    // What is seen of the rows of all is true of each, but for weeks.
    const isTogether = target.slice.grain !== 'week';
    const together = unread.filter((pages) => isTogether && isSmall(pages));
    if (together.length > 0) await this.#readInto(together, wanted);
    const hasOfOthers = (pages: Pages): boolean => {
      const read = this.#read.get(idOf(pages));
      return read !== undefined && read.unfit.size > 0 && read.bodies > pages.length;
    };
    const alone = all.filter(({ pages }) => !this.#read.has(idOf(pages)) || hasOfOthers(pages));
    await this.discard(alone);
    for (const { pages } of alone) await this.#readInto([pages], wanted);
    for (const spooled of batch) await this.#widen(spooled, target, warehouse);
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

  /** Reads the parts of a window again until their columns take every number that some column takes. */
  async #widen({ window, answers }: Spooled, target: Target, warehouse: Warehouse): Promise<void> {
    const { metrics } = target.columns;
    const types = metrics.map(({ type }) => type);
    const [fixed, neverDouble] = [new Set<string>(), new Set<string>()];
    for (;;) {
      const parts = this.of({ answers }).flatMap((read) => read ?? []);
      if (parts.every(({ unfit }) => unfit.size === 0)) return;
      const changed = new Set<string>();
      for (const [at, metric] of metrics.entries()) {
        const { id } = metric;
        const unfit = parts.flatMap((read) => read.unfit.get(id) ?? []);
        const type = types[at] ?? metric.type;
        if (unfit.length === 0 || isDouble(metric.type)) continue;
        const isCrowded = unfit.some((each) => each.isCrowded) && unfit.every((each) => each.isOfDoubles);
        const mayBeDouble = isCrowded && metric.declared.kind !== 'BIGINT' && !isDouble(type) && !neverDouble.has(id);
        const isOfDoubles = mayBeDouble && (await holdsDoubles(warehouse, metric, target));
        const wider = isOfDoubles
          ? DOUBLE
          : unfit.reduce<ColumnType | null>(
              (sofar, { needed }) => (sofar === null || isDouble(needed) ? sofar : widen(sofar, capacityOf(needed))),
              isDouble(type) ? metric.type : type,
            );
        if (!isOfDoubles) neverDouble.add(id);
        if (wider === null && !fixed.has(id)) changed.add(id);
        if (wider === null) fixed.add(id);
        else if (formatColumnType(wider) !== formatColumnType(type)) changed.add(id);
        types[at] = wider ?? type;
      }
      if (changed.size === 0) return;
      const columns = {
        ...target.columns,
        metrics: metrics.map((each, at) => Object.assign({}, each, { type: types[at] ?? each.type })),
      };
      const wanted = wantedColumns(columns, window.slice.metrics, fixed);
      // What fits a narrow column may not be what doubles say.
      const isStale = (read: ReadAnswer | undefined): boolean =>
        [...(read?.unfit.keys() ?? [])].some((id) => changed.has(id)) ||
        types.some((type, at) => isDouble(type) !== isDouble(read?.types[at] ?? type));
      const stale = answers.filter(({ pages }) => pages.length > 0 && isStale(this.#read.get(idOf(pages))));
      await this.discard(stale);
      for (const { pages } of stale) await this.#readInto([pages], wanted);
    }
  }

  /** Reads answers into one file. */
  async #readInto(answers: readonly Pages[], columns: SliceColumns): Promise<void> {
    const bodies = answers.flat();
    this.#readings += 1;
    const file = join(this.#folder, `${basename(bodies[0]?.path ?? '')}.${this.#readings}.parquet`);
    const { envelopes, ...read } = await this.#reader.read({ bodies, columns, to: file });
    const types = columns.metrics.map(({ type }) => type);
    let firstBody = 0;
    for (const pages of answers) {
      const own = envelopes.slice(firstBody, firstBody + pages.length);
      const rows = own.reduce((sum, envelope) => sum + envelope.rows, 0);
      const place = { file, firstBody, bodies: bodies.length, types, rows };
      this.#read.set(idOf(pages), { ...read, ...place, pages: own.map(pageOf) });
      firstBody += pages.length;
    }
  }
}

const isDouble = ({ kind }: ColumnType): boolean => kind === 'DOUBLE';

function wantedColumns(
  { dimensions, metrics }: Columns,
  requested: readonly string[],
  fixed: ReadonlySet<string>,
): SliceColumns {
  return {
    dimensions: dimensions.map((name) => ({ name, kind: isDateDimension(name) ? name : 'text' })),
    metrics: metrics.map((metric) => {
      const { id, type } = metric;
      return { name: id, type, isExact: becameDouble(metric), isFixed: fixed.has(id) };
    }),
    left: requested.filter((name) => metrics.every(({ id }) => id !== name)),
  };
}

/** The narrowest types that hold what a table holds and what was read of some answers; null where no exact ones do. */
export function columnsFor(columns: Columns, read: readonly Pick<ReadAnswer, 'types'>[]): Columns | null {
  const metrics: MetricColumn[] = [];
  for (const [at, metric] of columns.metrics.entries()) {
    const types = read.map((each) => each.types[at] ?? metric.type);
    const doubles = types.filter(isDouble).length;
    const exact = types.reduce<ColumnType | null>(
      (sofar, type) => (sofar === null ? null : widen(sofar, capacityOf(type))),
      metric.type,
    );
    const type = types.length === 0 ? metric.type : doubles === types.length ? DOUBLE : doubles > 0 ? null : exact;
    if (type === null) return null;
    metrics.push({ ...metric, type });
  }
  return { ...columns, metrics };
}

const heldRow = z.object({ others: count });

/**
 * Whether the nearest double is shown as every number of a metric in a table, or is that in as many digits. Those of up to 15 digits
 * are.
 */
async function holdsDoubles(warehouse: Warehouse, { id, type }: MetricColumn, target: Target): Promise<boolean> {
  const [text, exact] = [
    `cast(${identifier(id)} as VARCHAR)`,
    type.kind === 'BIGINT' ? 'DECIMAL(19,0)' : formatColumnType(type),
  ];
  const double = `cast(${text} as DOUBLE)`;
  // Of sixteen digits or seventeen: no more tell doubles apart.
  const said = [`cast(${double} as VARCHAR)`, `format('{:.15e}', ${double})`, `format('{:.16e}', ${double})`];
  const exactly = said.map((each) => `try_cast(${each} as ${exact})`).join(', ');
  const [held] = await warehouse.rows(
    `select count(*) as others
     from ${valuesOf(target, id)}
     where case when length(${text}) > 15 then not coalesce(cast(${text} as ${exact}) in (${exactly}), false) end`,
    [],
    heldRow,
  );
  return held?.others === 0;
}

/** The stored values of a metric, in a column of its name. */
const valuesOf = ({ table, columns }: Target, id: string): string =>
  columns.cube === undefined
    ? table
    : `(select "value" as ${identifier(id)} from ${table} where metric = ${literal(id)})`;
