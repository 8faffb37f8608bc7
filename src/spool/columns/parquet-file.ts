/**
 * A Parquet file, written group by group.
 *
 * Uncompressed, one page per column and group, every column optional: the file is read once, soon and by an engine on
 * the same machine, so what it costs to write counts more than its size. Its footer is in Thrift's compact protocol.
 */

import { closeSync, openSync, rmSync, writevSync } from 'node:fs';

import { type ColumnType, FAST_DIGITS } from '../../model/column-type.ts';
import type { BodyWindow } from './json-tokens.ts';
import { bool, encoded, i32, i64, list, struct, text, type Value, varint } from './thrift.ts';

/** The cells of one column in a group of rows; valid until the column's next change. */
export interface ColumnGroup {
  /** 1 where a cell is NULL, one byte per row. */
  readonly nulls: Uint8Array;
  /** The values one behind the other; those of NULL cells mean nothing. With a dictionary, the numbers of its entries. */
  readonly cells: Int32Array;
  /** 32-bit words per value; four hold a number of 16 bytes, the highest first. */
  readonly words: 1 | 2 | 4;
  /** Distinct values in Parquet's plain encoding, and how many. */
  readonly dictionary: { readonly values: Uint8Array; readonly size: number } | null;
}

/** What is written of a column. */
export interface WrittenColumn {
  readonly name: string;
  readonly type: ParquetType;
  /** The first rows. */
  group(rows: number): ColumnGroup;
}

export interface CellColumn extends WrittenColumn {
  /** Reads the cell whose value begins at `at`: the offset behind it, or stopped. A row may be read more than once. */
  read(body: BodyWindow, at: number, row: number): number;
  /** Makes a cell NULL, whatever an unfinished row left there. */
  blank(row: number): void;
  /** Makes room for so many rows. */
  grow(rows: number): void;
  /** Forgets the rows, keeps the memory. */
  clear(): void;
  /** Bytes that grow with what the rows say, not with their number. */
  readonly textBytes: number;
}

/** A larger array with the same cells. */
export function widened(old: Int32Array, cells: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(cells);
  larger.set(old.subarray(0, Math.min(old.length, cells)));
  return larger;
}

/** A larger array with the same flags. */
export function widenedFlags(old: Uint8Array, rows: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(rows);
  larger.set(old.subarray(0, Math.min(old.length, rows)));
  return larger;
}

/** The SQL type a column is read back as. */
export type ParquetType = ColumnType | { readonly kind: 'VARCHAR' | 'JSON' | 'DATE' | 'TIMESTAMP' | 'INTEGER' };

/** Numbers of the format's own lists (parquet.thrift). */
const physical = { int32: 1, int64: 2, double: 5, bytes: 6, fixed: 7 } as const;
const converted = { utf8: 0, decimal: 5, date: 6, json: 19 } as const;
const encodings = { plain: 0, levels: 3, dictionary: 8 } as const;
const pages = { data: 0, dictionary: 2 } as const;
const OPTIONAL = 1;
const UNCOMPRESSED = 0;
const LOGICAL_TIMESTAMP = 8;
const MICROS = 2;
const VERSION = 1;

const magic = new TextEncoder().encode('PAR1');
const GROUP_OF_BITS = 8;
/** One call takes no more pieces (IOV_MAX). */
const MOST_PIECES = 1024;

/** Decimals of more digits than 64 bits hold take 16 bytes. */
const WIDE_BYTES = 16;

/** How a type is kept: its physical number and the fields beside it. */
function schemaOf(type: ParquetType): { readonly kept: number; readonly annotated: readonly [number, Value][] } {
  switch (type.kind) {
    case 'BIGINT':
      return { kept: physical.int64, annotated: [] };
    case 'DOUBLE':
      return { kept: physical.double, annotated: [] };
    case 'DECIMAL':
      return {
        kept: type.width > FAST_DIGITS ? physical.fixed : physical.int64,
        annotated: [
          [6, i32(converted.decimal)],
          [7, i32(type.scale)],
          [8, i32(type.width)],
        ],
      };
    case 'VARCHAR':
      return { kept: physical.bytes, annotated: [[6, i32(converted.utf8)]] };
    case 'JSON':
      return { kept: physical.bytes, annotated: [[6, i32(converted.json)]] };
    case 'INTEGER':
      return { kept: physical.int32, annotated: [] };
    case 'DATE':
      return { kept: physical.int32, annotated: [[6, i32(converted.date)]] };
    case 'TIMESTAMP':
  }
  const localMicros = struct([1, bool(false)], [2, struct([MICROS, struct()])]);
  return { kept: physical.int64, annotated: [[10, struct([LOGICAL_TIMESTAMP, localMicros])]] };
}

export class ParquetFile {
  readonly #path: string;
  readonly #columns: readonly WrittenColumn[];
  readonly #file: number;
  readonly #groups: Value[] = [];
  /** What is to be written next, in one call: a column's pages take several pieces each. */
  #unwritten: Uint8Array[] = [];
  #bytes = 0;
  #rows = 0;

  /** Makes the file, which must not exist yet. Throws errors of the file system, as every method. */
  constructor(path: string, columns: readonly WrittenColumn[]) {
    this.#path = path;
    this.#columns = columns;
    this.#file = openSync(path, 'wx', 0o600);
    this.#write([magic]);
  }

  /** Writes the first rows of the columns as one group. */
  writeGroup(rows: number): void {
    const start = this.#bytes;
    const chunks = this.#columns.map((column) => this.#writeColumn(column, rows));
    this.#groups.push(struct([1, list('struct', chunks)], [2, i64(this.#bytes - start)], [3, i64(rows)]));
    this.#rows += rows;
    this.#flush();
  }

  /** Writes a column's pages: its place in the footer. */
  #writeColumn(column: WrittenColumn, rows: number): Value {
    const group = withoutNulls(column.group(rows));
    const start = this.#bytes;
    const { dictionary } = group;
    const isIndexed = dictionary !== null && dictionary.size > 0;
    if (isIndexed) {
      const header = struct([1, i32(dictionary.size)], [2, i32(encodings.plain)]);
      this.#writePage(pages.dictionary, header, [dictionary.values]);
    }
    const dataStart = this.#bytes;
    const encoding = isIndexed ? encodings.dictionary : encodings.plain;
    const header = struct([1, i32(rows)], [2, i32(encoding)], [3, i32(encodings.levels)], [4, i32(encodings.levels)]);
    const values = isIndexed ? indexes(group.cells, dictionary.size) : [bytesOf(group.cells)];
    this.#writePage(pages.data, header, [...levels(group, rows), ...values]);
    const used = isIndexed ? [encodings.plain, encodings.dictionary, encodings.levels] : [encoding, encodings.levels];
    return struct(
      [2, i64(start)],
      [
        3,
        struct(
          [1, i32(schemaOf(column.type).kept)],
          [2, list('i32', used.map(i32))],
          [3, list('text', [text(column.name)])],
          [4, i32(UNCOMPRESSED)],
          [5, i64(rows)],
          [6, i64(this.#bytes - start)],
          [7, i64(this.#bytes - start)],
          [9, i64(dataStart)],
          ...(isIndexed ? [[11, i64(start)] as const] : []),
        ),
      ],
    );
  }

  #writePage(kind: number, header: Value, parts: readonly Uint8Array[]): void {
    const size = i32(parts.reduce((sum, { length }) => sum + length, 0));
    const place = kind === pages.data ? 5 : 7;
    this.#write([encoded(struct([1, i32(kind)], [2, size], [3, size], [place, header])), ...parts]);
  }

  /** Ends the file with its footer; its size in bytes. */
  finish(): number {
    const columns = [struct([4, text('rows')], [5, i32(this.#columns.length)]), ...this.#columns.map(element)];
    const footer = encoded(
      struct([1, i32(VERSION)], [2, list('struct', columns)], [3, i64(this.#rows)], [4, list('struct', this.#groups)]),
    );
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, footer.length, true);
    this.#write([footer, length, magic]);
    this.#flush();
    closeSync(this.#file);
    return this.#bytes;
  }

  /** Removes the unfinished file. */
  abandon(): void {
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }

  #write(parts: readonly Uint8Array[]): void {
    for (const part of parts) {
      this.#unwritten.push(part);
      this.#bytes += part.length;
    }
  }

  #flush(): void {
    let rest = this.#unwritten;
    this.#unwritten = [];
    while (rest.length > 0) {
      let written = writevSync(this.#file, rest.slice(0, MOST_PIECES));
      // A disk may take less than it was given.
      const whole = rest.findIndex(({ length }) => {
        if (length > written) return true;
        written -= length;
        return false;
      });
      const [cut, ...after] = whole < 0 ? [] : rest.slice(whole);
      rest = cut === undefined ? [] : [cut.subarray(written), ...after];
    }
  }
}

const element = ({ name, type }: WrittenColumn): Value => {
  const { kept, annotated } = schemaOf(type);
  const length = kept === physical.fixed ? [[2, i32(WIDE_BYTES)] as const] : [];
  return struct([1, i32(kept)], ...length, [3, i32(OPTIONAL)], [4, text(name)], ...annotated);
};

const bytesOf = (cells: Int32Array): Uint8Array => new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength);

/** The same group with the values of NULL cells taken out. */
function withoutNulls(group: ColumnGroup): ColumnGroup {
  const { nulls, cells, words } = group;
  if (!nulls.includes(1)) return group;
  const kept = new Int32Array(cells.length);
  let length = 0;
  for (let row = 0; row < nulls.length; row += 1) {
    if (nulls[row] === 1) continue;
    for (let word = 0; word < words; word += 1) kept[length + word] = cells[row * words + word] ?? 0;
    length += words;
  }
  return { ...group, cells: kept.subarray(0, length) };
}

/** Definition levels, 1 where there is a value, behind their length. */
function levels({ nulls, cells, words }: ColumnGroup, rows: number): readonly Uint8Array[] {
  const isFull = cells.length === rows * words;
  const groups = Math.ceil(rows / GROUP_OF_BITS);
  const runs = isFull ? Uint8Array.from([...varint(rows * 2), 1]) : presence(nulls, groups);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, runs.length, true);
  return [length, runs];
}

/** One run of bits, the lowest first. */
function presence(nulls: Uint8Array, groups: number): Uint8Array {
  const header = varint(groups * 2 + 1);
  const runs = new Uint8Array(header.length + groups);
  runs.set(header);
  for (let row = 0; row < nulls.length; row += 1) {
    if (nulls[row] === 1) continue;
    const at = header.length + (row >>> 3);
    runs[at] = (runs[at] ?? 0) | (1 << (row & 7));
  }
  return runs;
}

/** Numbers of dictionary entries as one run, in the narrowest of one, two or four bytes each. */
function indexes(cells: Int32Array, size: number): readonly Uint8Array[] {
  const width = size <= 2 ** 8 ? 1 : size <= 2 ** 16 ? 2 : 4;
  const groups = Math.ceil(cells.length / GROUP_OF_BITS);
  const padded = new ArrayBuffer(groups * GROUP_OF_BITS * width);
  const narrow = width === 1 ? new Uint8Array(padded) : width === 2 ? new Uint16Array(padded) : new Int32Array(padded);
  narrow.set(cells);
  return [Uint8Array.from([width * GROUP_OF_BITS, ...varint(groups * 2 + 1)]), new Uint8Array(padded)];
}
