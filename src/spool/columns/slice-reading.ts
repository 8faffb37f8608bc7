/**
 * One reading, on whichever thread: the bodies of a slice's answer, row by row into columns, and those into one Parquet file,
 * with memory that does not grow with the bodies.
 */

import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { createGunzip } from 'node:zlib';

import { FAST_DIGITS, formatColumnType } from '../../model/column-type.ts';
import { dateDimensions } from '../../model/dimension.ts';
import { DateColumn } from './date-column.ts';
import { NumberColumn } from './number-column.ts';
import { type Column, type ColumnGroup, ParquetFile, widened, type WrittenColumn } from './parquet-file.ts';
import { BODY, EXTRA } from './reading.ts';
import type { ColumnsRead, Envelope, ReadRequest, SliceColumns } from './reading.ts';
import { type BodyWindow, STOPPED } from './json-tokens.ts';
import { ReportReader, type RowSink } from './report-reader.ts';
import { type KeyColumn, RowKeys } from './row-keys.ts';
import { LooseRowReader, RowReader } from './row-reader.ts';
import { TextColumn } from './text-column.ts';

/** Rows of a group: as many as DuckDB's own groups have, so that each is read by one thread into one. */
const GROUP_ROWS = 122_880;
const FIRST_ROWS = 64;
/** Texts of a group beyond this end it early. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;

const ATTR_DEPENDENCY = 'attr_dependency';

/** What reads the rows, and where their cells go. */
interface Into {
  readonly columns: readonly Column[];
  readonly rows: RowReader | LooseRowReader;
}

export class SliceReading implements RowSink {
  readonly #dates: readonly DateColumn[];
  readonly #keys: readonly KeyColumn[];
  readonly #names: readonly string[];
  readonly #rowKeys = new RowKeys();
  readonly #into: Into;
  readonly #bodies = new BodyColumn();
  readonly #file: ParquetFile;
  readonly #textsBecause: string | null;
  readonly #envelopes: Envelope[] = [];
  #report = new ReportReader(this);
  #capacity = 0;
  #row = 0;
  #because: string | null = null;

  /**
   * Makes the Parquet file: of texts where a reason for it is given, which takes rows of any shape; else of the columns' own types,
   * exactly or not at all. Throws errors of the file system, as every method.
   */
  constructor({ columns, to }: Pick<ReadRequest, 'columns' | 'to'>, textsBecause: string | null) {
    const names = [...columns.dimensions, ...columns.metrics].map(({ name }) => name);
    const dependency = new TextColumn(ATTR_DEPENDENCY, 'object');
    if (textsBecause === null) {
      const dimensions = columns.dimensions.map(({ name, kind }) =>
        kind === 'text' ? new TextColumn(name, 'text') : new DateColumn(name, kind),
      );
      this.#keys = [...dimensions, dependency];
      this.#dates = dimensions.filter((column) => column instanceof DateColumn);
      const all = [...dimensions, ...columns.metrics.map((metric) => new NumberColumn(metric)), dependency];
      this.#into = { columns: all, rows: new RowReader(all, new Set([ATTR_DEPENDENCY])) };
    } else {
      const all = [...names.map((name) => new TextColumn(name, 'value')), dependency];
      const extra = new TextColumn(EXTRA, 'object');
      this.#keys = [...all.slice(0, columns.dimensions.length), dependency];
      this.#dates = [];
      this.#into = { columns: [...all, extra], rows: new LooseRowReader(all, extra, columns.left ?? []) };
    }
    this.#names = names;
    this.#textsBecause = textsBecause;
    this.#file = new ParquetFile(to, [...this.#into.columns, this.#bodies]);
  }

  /** Takes the next piece of the present body; why the rest need not come, or null. */
  take(chunk: Uint8Array): string | null {
    this.#because ??= this.#report.take(chunk);
    const heldBytes = this.#into.columns.reduce((sum, column) => sum + column.heldBytes, 0);
    if (heldBytes > MAX_HELD_BYTES) this.#writeGroup();
    return this.#because;
  }

  /** Ends the present body, broken where a reason is given; another may follow. What is wrong with it, or null. */
  endBody(brokenBecause: string | null = null): string | null {
    const { rows, members, because } = this.#report.end();
    const { rows: reader } = this.#into;
    const keys =
      reader instanceof LooseRowReader
        ? reader.takeKeys()
        : { keys: rows === 0 ? [] : this.#names, commonKeys: rows === 0 ? [] : this.#names };
    const broken = brokenBecause ?? this.#because ?? because;
    this.#envelopes.push({ rows, members, ...keys, because: broken });
    this.#bodies.end(this.#row);
    this.#report = new ReportReader(this);
    this.#because = null;
    if (reader instanceof RowReader) reader.forget();
    return broken;
  }

  takeRow(body: BodyWindow, at: number): number {
    if (this.#row === this.#capacity) {
      this.#capacity = Math.min(GROUP_ROWS, Math.max(FIRST_ROWS, this.#capacity * 2));
      for (const column of this.#into.columns) column.grow(this.#capacity);
    }
    const next = this.#into.rows.read(body, at, this.#row);
    if (next === STOPPED) return STOPPED;
    this.#row += 1;
    if (this.#row === GROUP_ROWS) this.#writeGroup();
    return next;
  }

  #writeGroup(): void {
    if (this.#row > 0) {
      this.#bodies.fill(this.#row);
      this.#file.writeGroup(this.#row);
      this.#rowKeys.take(this.#keys, this.#row);
    }
    for (const column of this.#into.columns) column.clear();
    this.#bodies.clear();
    this.#row = 0;
  }

  /** What was read, with the file whole. */
  finish(): ColumnsRead {
    this.#writeGroup();
    const finest = dateDimensions.flatMap((name) => this.#dates.find((column) => column.kind === name) ?? []).at(0);
    const weekStarts = [...(this.#dates.find(({ kind }) => kind === 'week')?.weekStarts ?? [])];
    this.#file.finish();
    return {
      rows: this.#envelopes.reduce((sum, { rows }) => sum + rows, 0),
      envelopes: this.#envelopes,
      textsBecause: this.#textsBecause,
      isOrdered: finest?.isOrdered ?? true,
      isDistinct: this.#rowKeys.areDistinct,
      weekStartsOn: weekStarts.length === 1 ? (weekStarts[0] ?? null) : null,
    };
  }

  /** Ends a reading that failed: no file is left. */
  abandon(): void {
    this.#file.abandon();
  }
}

/** Of which body each row is. */
class BodyColumn implements WrittenColumn {
  readonly name = BODY;
  readonly type = { kind: 'INTEGER' } as const;
  /** The rows that earlier bodies have in the group. */
  #ended = 0;
  #body = 0;
  #cells = new Int32Array();

  /** The present body has the group's rows up to this one. */
  fill(rows: number): void {
    if (rows > this.#cells.length) this.#cells = widened(this.#cells, Math.max(rows, 2 * this.#cells.length));
    this.#cells.fill(this.#body, this.#ended, rows);
    this.#ended = rows;
  }

  /** Ends the present body. */
  end(rows: number): void {
    this.fill(rows);
    this.#body += 1;
  }

  clear(): void {
    this.#ended = 0;
  }

  group(rows: number): ColumnGroup {
    return { nulls: new Uint8Array(rows), cells: this.#cells.subarray(0, rows), words: 1, dictionary: null };
  }
}

/** Why the columns cannot be kept in 64 bits each; null when they can. */
function tooWide({ metrics }: SliceColumns): string | null {
  const wide = metrics.find(({ type }) => type.kind === 'DECIMAL' && type.width > FAST_DIGITS);
  return wide === undefined ? null : `${wide.name} is kept as ${formatColumnType(wide.type)}`;
}

const PIECE_BYTES = 256 * 1024;

/** Whether the decompressor said that the bytes are not what they claim to be. */
const isGarbled = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');

/** Of one body at a time: it is read without a pause, and taken by copying. */
const piece = new Uint8Array(PIECE_BYTES);

/** Reads a plain body without a stream: a trip to the thread pool and a buffer of its own for each piece would take as long as the disk. */
function readPlain(path: string, reading: SliceReading): string | null {
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const bytes = readSync(file, piece);
      if (bytes === 0 || reading.take(piece.subarray(0, bytes)) !== null) return reading.endBody();
    }
  } finally {
    closeSync(file);
  }
}

async function readGzip(path: string, reading: SliceReading): Promise<string | null> {
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES });
  const decoder = createGunzip({ chunkSize: PIECE_BYTES });
  file.on('error', (error) => decoder.destroy(error));
  try {
    for await (const chunk of file.pipe(decoder)) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('A body came as something else than bytes.');
      if (reading.take(chunk) !== null) break;
    }
    return reading.endBody();
  } catch (error) {
    if (!isGarbled(error)) throw error;
    return reading.endBody(`it was not whole gzip: ${error.message}`);
  } finally {
    file.destroy();
  }
}

/** Reads the saved bodies of one answer, as texts where a cell is not what its column takes; a reading that ends with an error leaves no file. */
export async function readSaved(request: ReadRequest): Promise<ColumnsRead> {
  const because = request.textsBecause ?? tooWide(request.columns);
  const read = because === null ? await readAs(request, null) : because;
  return typeof read === 'string' ? ofTexts(await readAs(request, read)) : read;
}

function ofTexts(read: ColumnsRead | string): ColumnsRead {
  if (typeof read === 'string') throw new TypeError('Texts were not taken.');
  return read;
}

/** The reading; or why it has to be one of texts. */
async function readAs({ bodies, ...into }: ReadRequest, textsBecause: string | null): Promise<ColumnsRead | string> {
  const reading = new SliceReading(into, textsBecause);
  try {
    for (const { path, encoding } of bodies) {
      const broken = encoding === 'identity' ? readPlain(path, reading) : await readGzip(path, reading);
      if (broken === null || textsBecause !== null) continue;
      reading.abandon();
      return broken;
    }
    return reading.finish();
  } catch (error) {
    reading.abandon();
    throw error;
  }
}
