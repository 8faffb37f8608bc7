/** Reads pages into Parquet files, in the types of the slice's table or wider exact ones. */

import { basename, join } from 'node:path';

import { alike } from '../model/alike.ts';
import { type ColumnType, isExact, widen } from '../model/column-type.ts';
import type { Metric } from '../model/metric.ts';
import type { Box } from '../model/window.ts';
import type { SavedBody } from '../service/service.ts';
import type { ColumnReader } from '../extract/columns/column-reader.ts';
import type { BodyHead, BodyRead, ColumnsRead } from '../extract/columns/reading.ts';
import { type Answer, removeSpooled, type Spooled } from '../extract/spool.ts';
import { type Columns, type Target, valueType } from '../warehouse/tables/target.ts';

/** The facts on rows are those of the whole file. */
export interface PageRead extends Omit<ColumnsRead, 'bodies'> {
  readonly file: string;
  /** The number of bodies in the file, and of the page among them. */
  readonly bodies: number;
  readonly bodyNo: number;
  readonly body: BodyRead;
  /** Of the metrics in the file; those of the table may be wider by now. */
  readonly types: ReadonlyMap<string, ColumnType>;
}

interface BoxedPage {
  readonly page: SavedBody;
  readonly box: Box;
}

/** Up to here, a file takes longer to make and open than the page to read. */
const SMALL_BYTES = 128 * 1024;

const isSmall = ({ plainBytes }: SavedBody) => plainBytes <= SMALL_BYTES;

export class ReadPages {
  readonly #reader: Pick<ColumnReader, 'read' | 'readHead'>;
  readonly #folder: string;
  readonly #read = new Map<string, PageRead>();
  /** In the names of the files, as the engine remembers files by name. */
  #readings = 0;

  constructor(reader: Pick<ColumnReader, 'read' | 'readHead'>, folder: string) {
    this.#reader = reader;
    this.#folder = folder;
  }

  async readSaved(page: SavedBody, box: Box, columns: Columns): Promise<BodyHead> {
    if (isSmall(page)) return this.#reader.readHead(page);
    await this.#readInto([{ page, box }], columns);
    return this.of(page).body;
  }

  /** Reads the pages that were not read yet, or whose numbers did not fit their columns. Throws `STORAGE_FAILED`. */
  async readAll(batch: readonly Spooled[], { columns }: Pick<Target, 'columns'>): Promise<void> {
    // Keeps dates in order from one answer to the next.
    const inOrder = batch.toSorted((a, b) =>
      a.window.replaced.start < b.window.replaced.start ? -1 : 1,
    );
    const pages = inOrder.flatMap(({ answers }) =>
      answers.flatMap((answer) => answer.pages.map((page) => ({ page, box: answer.box }))),
    );
    const small = pages.filter(({ page }) => isSmall(page) && !this.#read.has(page.path));
    const namesOf = ({ box: { control, metrics } }: BoxedPage) =>
      JSON.stringify([control, metrics]);
    for (const together of alike(small, namesOf)) await this.#readInto(together, columns);
    for (const boxed of pages) {
      const { page } = boxed;
      const isRead = this.#read.has(page.path);
      // Of several pages, it is unknown whose numbers need wider columns.
      const isShared = isRead && this.of(page).unfit.size > 0 && this.of(page).bodies > 1;
      if (!isRead || isShared) await this.#readInto([boxed], columns);
      const { unfit } = this.of(page);
      if (unfit.size === 0) continue;
      const metrics = columns.metrics.map((metric): Metric => {
        return { ...metric, type: unfit.get(metric.id) ?? metric.type };
      });
      await this.#readInto([boxed], { ...columns, metrics });
    }
  }

  of({ path }: Pick<SavedBody, 'path'>): PageRead {
    const read = this.#read.get(path);
    if (read === undefined) throw new RangeError(`The page ${path} was not read.`);
    return read;
  }

  async discard(answers: readonly Pick<Answer, 'pages'>[]): Promise<void> {
    const files = new Set<string>();
    for (const { path } of answers.flatMap(({ pages }) => pages)) {
      const file = this.#read.get(path)?.file;
      this.#read.delete(path);
      if (file !== undefined) files.add(file);
    }
    for (const { file } of this.#read.values()) files.delete(file);
    for (const file of files) await removeSpooled(file);
  }

  /** Reads pages of the same dimensions and metrics into one new file. */
  async #readInto(boxed: readonly BoxedPage[], columns: Columns) {
    const pages = boxed.map(({ page }) => page);
    const [first] = boxed;
    if (first === undefined) return;
    await this.discard([{ pages }]);
    this.#readings += 1;
    const file = join(this.#folder, `${basename(first.page.path)}.${this.#readings}.parquet`);
    const { control } = first.box;
    const requested = new Set(first.box.metrics);
    // A metric that was not requested is kept with the other unknown keys.
    const metrics = columns.metrics.filter(({ id }) => requested.has(id));
    const { bodies, ...read } = await this.#reader.read({
      bodies: pages,
      columns: {
        dimensions: control ?? columns.dimensions,
        metrics,
        dropped: [...requested].filter((id) => metrics.every((metric) => metric.id !== id)),
      },
      to: file,
    });
    const types = new Map(metrics.map(({ id, type }) => [id, type]));
    for (const [bodyNo, body] of bodies.entries()) {
      const path = pages[bodyNo]?.path ?? '';
      this.#read.set(path, { ...read, file, bodies: bodies.length, bodyNo, body, types });
    }
  }
}

/** Widens columns to hold the pages. Null if a metric, or the values of a cube, have no such type. */
export function columnsFor(
  columns: Columns,
  pages: readonly Pick<PageRead, 'types'>[],
): Columns | null {
  const metrics: Metric[] = [];
  for (const metric of columns.metrics) {
    const type = pages.reduce<ColumnType | null>((widest, { types }) => {
      const other = types.get(metric.id) ?? metric.type;
      return widest === null || !isExact(other) ? widest : widen(widest, other);
    }, metric.type);
    if (type === null) return null;
    metrics.push({ ...metric, type });
  }
  if (columns.value === undefined) return { ...columns, metrics };
  const value = valueType(metrics, columns.value);
  return value === null ? null : { ...columns, metrics, value };
}
