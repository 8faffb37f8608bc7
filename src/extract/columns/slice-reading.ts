/** Reads a slice's answers, row by row, into one Parquet file. Memory does not grow with the bodies. */

import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { createGunzip } from 'node:zlib';

import { systemText, textOf } from '../../errors.ts';
import { dateDimensions, isDateDimension } from '../../model/dimension.ts';
import { type CellColumn, widened } from './cell-column.ts';
import { DateColumn } from './date-column.ts';
import { type BodyWindow, readMembers, skipValue, STOPPED } from './json-tokens.ts';
import { NumberColumn } from './number-column.ts';
import { ParquetFile } from './parquet-file.ts';
import {
  ATTR_DEPENDENCY,
  BODY,
  type BodyHead,
  type ColumnsRead,
  type BodyRead,
  EXTRA,
  type ReadRequest,
  type Reason,
  REJECTED,
  type SavedBytes,
} from './reading.ts';
import { ReportReader } from './report-reader.ts';
import { RowKeys } from './row-keys.ts';
import { RowReader, statedTwice } from './row-reader.ts';
import { type DictionaryColumn, TextColumn } from './text-column.ts';

/** As in DuckDB's own groups, so that one thread reads each into one of those. */
const GROUP_ROWS = 122_880;
const FIRST_ROWS = 64;
/** A group with more bytes of text than this ends early. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;

export class SliceReading {
  readonly #dates: readonly DateColumn[];
  readonly #metrics: readonly NumberColumn[];
  readonly #keys: readonly DictionaryColumn[];
  readonly #columns: readonly CellColumn[];
  readonly #rows: RowReader;
  readonly #rowKeys = new RowKeys();
  readonly #file: ParquetFile;
  readonly #read: BodyRead[] = [];
  readonly #readRow = (body: BodyWindow, at: number): number => this.#takeRow(body, at);
  #report = new ReportReader(this.#readRow);
  #bodies = new Int32Array(0);
  #row = 0;
  #because: string | null = null;
  readonly #secrets: readonly string[];
  #hasSecret = false;

  constructor({ columns, to, secrets = [] }: Omit<ReadRequest, 'bodies'>) {
    this.#secrets = secrets;
    const reasons: Reason[] = [];
    const dependency = new TextColumn(ATTR_DEPENDENCY, 'JSON');
    const dimensions = columns.dimensions.map((name) =>
      isDateDimension(name) ? new DateColumn(name) : new TextColumn(name, 'VARCHAR'),
    );
    this.#dates = dimensions.filter((column) => column instanceof DateColumn);
    this.#metrics = columns.metrics.map((metric) => new NumberColumn(metric, reasons));
    this.#keys = [...dimensions, dependency];
    const requested = [...dimensions, ...this.#metrics, dependency];
    const [extra, rejected] = [new TextColumn(EXTRA, 'JSON'), new TextColumn(REJECTED, 'VARCHAR')];
    this.#columns = [...requested, extra, rejected];
    this.#rows = new RowReader({
      columns: requested,
      extra,
      rejected,
      reasons,
      dropped: new Set(columns.dropped),
    });
    const bodies = {
      name: BODY,
      type: { kind: 'INTEGER' } as const,
      group: (rows: number) =>
        ({
          nulls: new Uint8Array(rows),
          cells: this.#bodies.subarray(0, rows),
          words: 1,
          dictionary: null,
        }) as const,
    };
    this.#file = new ParquetFile(to, [...this.#columns, bodies]);
  }

  take(chunk: Uint8Array): string | null {
    this.#because ??= this.#report.take(chunk);
    const textBytes = this.#columns.reduce((sum, column) => sum + column.textBytes, 0);
    if (textBytes > MAX_HELD_BYTES) this.#writeGroup();
    return this.#because;
  }

  endBody(brokenBecause: string | null = null): void {
    const because = this.#report.end();
    // A row that broke off may have left cells.
    if (this.#row < this.#bodies.length)
      for (const column of this.#columns) column.blank(this.#row);
    const { rows, members } = this.#report;
    const rowsDigest = this.#report.rowsDigest();
    const labels = this.#dates.map((column) => column.takeBadLabel());
    const digits = this.#metrics.map((column) => [column.name, column.takeDigits()] as const);
    this.#read.push({
      rows,
      rowsDigest,
      members,
      ...this.#rows.takeKeys(),
      badLabel: labels.find((label) => label !== null) ?? null,
      digits: new Map(digits.filter(([, ofBody]) => ofBody > 0)),
      because: brokenBecause ?? this.#because ?? because,
    });
    this.#report = new ReportReader(this.#readRow);
    this.#because = null;
  }

  #takeRow(body: BodyWindow, at: number): number {
    if (this.#row === this.#bodies.length) {
      const capacity = Math.min(GROUP_ROWS, Math.max(FIRST_ROWS, this.#row * 2));
      this.#bodies = widened(this.#bodies, capacity);
      for (const column of this.#columns) column.grow(capacity);
    }
    const next = this.#rows.read(body, at, this.#row);
    if (next === STOPPED) return STOPPED;
    this.#bodies[this.#row] = this.#read.length;
    this.#row += 1;
    if (this.#row === GROUP_ROWS) this.#writeGroup();
    return next;
  }

  #writeGroup(): void {
    if (this.#row > 0) {
      this.#file.writeGroup(this.#row);
      for (const column of this.#columns) {
        const texts = Buffer.from(column.group(this.#row).dictionary?.values ?? []);
        this.#hasSecret ||= this.#secrets.some((secret) => texts.includes(secret));
      }
      this.#rowKeys.take(this.#keys, this.#row);
      for (const column of this.#dates) column.follow(this.#row);
    }
    for (const column of this.#columns) column.clear();
    this.#row = 0;
  }

  finish(): ColumnsRead {
    this.#writeGroup();
    const finest = dateDimensions
      .flatMap((name) => this.#dates.find((column) => column.kind === name) ?? [])
      .at(0);
    this.#file.finish();
    return {
      bodies: this.#read.map((body) => {
        const because = this.#hasSecret ? 'its rows contained a credential of ripen' : null;
        return { ...body, because: body.because ?? because };
      }),
      unfit: new Map(
        this.#metrics.flatMap(({ name, needed }) =>
          needed === null ? [] : [[name, needed] as const],
        ),
      ),
      hasExtra: this.#rows.hasExtra,
      hasRejected: this.#rows.hasRejected,
      isOrdered: finest?.isOrdered ?? true,
      isDistinct: this.#rowKeys.areDistinct,
    };
  }

  abandon(): void {
    this.#file.abandon();
  }
}

const PIECE_BYTES = 256 * 1024;

/** A stream, with a trip to the thread pool per piece, would take as long as the disk. */
function* plainPieces(path: string) {
  // Not shared: other readings of this thread go on between two pieces.
  const piece = new Uint8Array(PIECE_BYTES);
  const file = openSync(path, 'r');
  try {
    for (let bytes = readSync(file, piece); bytes > 0; bytes = readSync(file, piece))
      yield piece.subarray(0, bytes);
  } finally {
    closeSync(file);
  }
}

async function* unpackedPieces(path: string) {
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES });
  const decoder = createGunzip({ chunkSize: PIECE_BYTES });
  file.on('error', (error) => decoder.destroy(error));
  try {
    for await (const chunk of file.pipe(decoder)) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('A body was not received as bytes.');
      yield chunk;
    }
  } finally {
    file.destroy();
  }
}

/** A reading that fails leaves no file. */
export async function readSaved({ bodies, ...into }: ReadRequest): Promise<ColumnsRead> {
  const reading = new SliceReading(into);
  try {
    for (const body of bodies) {
      reading.endBody(await readPieces(body, (bytes) => reading.take(bytes)));
    }
    return reading.finish();
  } catch (error) {
    reading.abandon();
    throw error;
  }
}

export async function readHead(body: SavedBytes): Promise<BodyHead> {
  const names = new Set<string>();
  const report = new ReportReader((window, at) => {
    names.clear();
    return readMembers(window, at, (name, value) => {
      if (names.size === names.add(name).size) return window.stop(value, statedTwice(name));
      return skipValue(window, value);
    });
  });
  const because = await readPieces(body, (bytes) => report.take(bytes));
  const { rows, members } = report;
  return { rows, rowsDigest: report.rowsDigest(), members, because: because ?? report.end() };
}

/** Returns why `take` refused the body, or why it is not valid gzip. */
async function readPieces(
  { path, encoding }: SavedBytes,
  take: (bytes: Uint8Array) => string | null,
): Promise<string | null> {
  try {
    for await (const bytes of encoding === 'identity' ? plainPieces(path) : unpackedPieces(path)) {
      const because = take(bytes);
      if (because !== null) return because;
    }
    return null;
  } catch (error) {
    if (!systemText(error, 'code').startsWith('Z_')) throw error;
    return `it was not complete, valid gzip: ${textOf(error)}`;
  }
}
