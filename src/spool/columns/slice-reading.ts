/** One reading: the bodies of a slice's answer into one Parquet file, with memory that does not grow with them. */

import { formatColumnType, FAST_DIGITS } from '../../model/column-type.ts';
import { dateDimensions } from '../../model/dimension.ts';
import { STOPPED, type BodyWindow } from './body-window.ts';
import type { Column } from './column.ts';
import { DateColumn } from './date-column.ts';
import { NumberColumn } from './number-column.ts';
import { ParquetFile } from './parquet-file.ts';
import type { ColumnsRead, Envelope, GaveUp, ReadRequest, SliceColumns } from './reading.ts';
import { ReportReader, type RowSink } from './report-reader.ts';
import { RowReader } from './row-reader.ts';
import { TextColumn } from './text-column.ts';

/** Rows of a group: as many as DuckDB's own groups have, so that each is read by one thread into one. */
const GROUP_ROWS = 122_880;
const FIRST_ROWS = 1024;
/** Texts of a group beyond this end it early. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;

const ATTR_DEPENDENCY = 'attr_dependency';

export class SliceReading implements RowSink {
  readonly #dates: readonly DateColumn[];
  readonly #numbers: readonly NumberColumn[];
  readonly #columns: readonly Column[];
  readonly #rows: RowReader;
  readonly #file: ParquetFile;
  readonly #envelopes: Envelope[] = [];
  #report = new ReportReader(this);
  #capacity = 0;
  #row = 0;
  #gaveUp: string | null;

  /** Makes the Parquet file. Throws errors of the file system, as every method. */
  constructor({ columns, to }: ReadRequest) {
    const dimensions = columns.dimensions.map(({ name, kind }) =>
      kind === 'text' ? new TextColumn(name, 'text') : new DateColumn(name, kind),
    );
    this.#dates = dimensions.filter((column) => column instanceof DateColumn);
    this.#numbers = columns.metrics.map(({ name, type }) => new NumberColumn(name, type));
    this.#columns = [...dimensions, ...this.#numbers, new TextColumn(ATTR_DEPENDENCY, 'object')];
    this.#rows = new RowReader(this.#columns, new Set([ATTR_DEPENDENCY]));
    this.#gaveUp = tooWide(columns);
    this.#file = new ParquetFile(to, this.#columns);
  }

  /** Takes the next piece of the present body; false when the reading is given up, and the rest need not come. */
  take(chunk: Uint8Array): boolean {
    this.#gaveUp ??= this.#report.take(chunk);
    const heldBytes = this.#columns.reduce((sum, column) => sum + column.heldBytes, 0);
    if (heldBytes > MAX_HELD_BYTES) this.#writeGroup();
    return this.#gaveUp === null;
  }

  /** Ends the present body; another may follow. */
  endBody(): void {
    if (this.#gaveUp !== null) return;
    const envelope = this.#report.end();
    if (typeof envelope === 'string') this.#gaveUp = envelope;
    else this.#envelopes.push(envelope);
    this.#report = new ReportReader(this);
    this.#rows.forget();
  }

  /** Gives the reading up for a reason found outside the documents. */
  giveUp(because: string): void {
    this.#gaveUp ??= because;
  }

  get isGivenUp(): boolean {
    return this.#gaveUp !== null;
  }

  takeRow(body: BodyWindow, at: number): number {
    if (this.#row === this.#capacity) {
      this.#capacity = Math.min(GROUP_ROWS, Math.max(FIRST_ROWS, this.#capacity * 2));
      for (const column of this.#columns) column.grow(this.#capacity);
    }
    const next = this.#rows.read(body, at, this.#row);
    if (next === STOPPED) return STOPPED;
    this.#row += 1;
    if (this.#row === GROUP_ROWS) this.#writeGroup();
    return next;
  }

  #writeGroup(): void {
    if (this.#row > 0) this.#file.writeGroup(this.#row);
    for (const column of this.#columns) column.clear();
    this.#row = 0;
  }

  /** What was read, with the file whole; or why it was given up, with no file left. */
  finish(): ColumnsRead | GaveUp {
    if (this.#gaveUp !== null) {
      this.#file.abandon();
      return { gaveUp: this.#gaveUp };
    }
    this.#writeGroup();
    const finest = dateDimensions.flatMap((name) => this.#dates.find((column) => column.kind === name) ?? []).at(0);
    const weekStarts = [...(this.#dates.find(({ kind }) => kind === 'week')?.weekStarts ?? [])];
    return {
      rows: this.#envelopes.reduce((sum, { rows }) => sum + rows, 0),
      envelopes: this.#envelopes,
      days: finest?.days ?? null,
      isOrdered: finest?.isOrdered ?? true,
      weekStartsOn: weekStarts.length === 1 ? (weekStarts[0] ?? null) : null,
      fractionDigits: new Map(this.#numbers.map(({ name, fractionDigits }) => [name, fractionDigits])),
      parquetBytes: this.#file.finish(),
    };
  }

  /** Ends a reading whose result nobody waits for. */
  abandon(): void {
    this.#file.abandon();
  }
}

/** Why the columns cannot be kept in 64 bits each; null when they can. */
function tooWide({ metrics }: SliceColumns): string | null {
  const wide = metrics.find(({ type }) => type.kind === 'DECIMAL' && type.width > FAST_DIGITS);
  return wide === undefined ? null : `${wide.name} is kept as ${formatColumnType(wide.type)}`;
}
