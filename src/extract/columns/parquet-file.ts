/**
 * Writes a Parquet file, group by group: uncompressed, one page per column and group, every column optional, as it is read
 * once, soon, on the same machine. The footer is in Thrift's compact protocol.
 */

import { closeSync, openSync, rmSync, writeFileSync, writevSync } from 'node:fs';

import { type ColumnType, FAST_DIGITS } from '../../model/column-type.ts';

/** Valid until the column it comes from reads on. */
export interface ColumnGroup {
  /** 1 where a cell is NULL. */
  readonly nulls: Uint8Array;
  /** Meaningless for NULL cells. With a dictionary: the numbers of its entries. */
  readonly cells: Int32Array;
  /** 32-bit words per value. Four hold a 16-byte number, the highest byte first. */
  readonly words: 1 | 2 | 4;
  /** Distinct values in Parquet's plain encoding, and how many. */
  readonly dictionary: { readonly values: Uint8Array; readonly size: number } | null;
}

interface WrittenColumn {
  readonly name: string;
  readonly type: ParquetType;
  group(rows: number): ColumnGroup;
}

export type ParquetType =
  | ColumnType
  | { readonly kind: 'VARCHAR' | 'JSON' | 'DATE' | 'TIMESTAMP' | 'INTEGER' };

const encoder = new TextEncoder();

/** Encodes in groups of seven bits, the lowest first. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

/** A value in Thrift's compact protocol, with the number of its wire type. */
interface Value {
  readonly type: number;
  readonly bytes: readonly number[];
}

const STRUCT = 12;
/** A list this long or longer does not fit the four bits beside the type. */
const MAX_IN_FOUR_BITS = 15;

/** For numbers that are not negative. */
const i32 = (value: number) => ({ type: 5, bytes: varint(2 * value) });
const i64 = (value: number) => ({ type: 6, bytes: varint(2 * value) });
/** The field value false, which the wire type itself states. */
const no: Value = { type: 2, bytes: [] };

function text(value: string): Value {
  const bytes = encoder.encode(value);
  return { type: 8, bytes: [...varint(bytes.length), ...bytes] };
}

function list(values: readonly Value[]): Value {
  const { length } = values;
  const type = values[0]?.type ?? STRUCT;
  const header =
    length < MAX_IN_FOUR_BITS ? [(length << 4) | type] : [0xf0 | type, ...varint(length)];
  return { type: 9, bytes: [...header, ...values.flatMap(({ bytes }) => bytes)] };
}

type Field = readonly [id: number, value: Value];

/** The fields must be in ascending order of their ids. */
function struct(...fields: readonly Field[]): Value {
  const bytes: number[] = [];
  let lastId = 0;
  for (const [id, value] of fields) {
    bytes.push(((id - lastId) << 4) | value.type);
    for (const byte of value.bytes) bytes.push(byte);
    lastId = id;
  }
  return { type: STRUCT, bytes: [...bytes, 0] };
}

/** Constants of the format's enumerations (parquet.thrift). */
const physical = { int32: 1, int64: 2, double: 5, bytes: 6, fixed: 7 } as const;
const converted = { utf8: 0, decimal: 5, date: 6, json: 19 } as const;
const encodings = { plain: 0, levels: 3, dictionary: 8 } as const;
const pages = { data: 0, dictionary: 2 } as const;
const OPTIONAL = 1;
const UNCOMPRESSED = 0;
const LOGICAL_TIMESTAMP = 8;
const MICROS = 2;
const VERSION = 1;

const magic = encoder.encode('PAR1');
const GROUP_OF_BITS = 8;

/** Decimals with more digits than 64 bits hold take 16 bytes. */
const WIDE_BYTES = 16;

interface Schema {
  readonly kept: number;
  readonly annotated: readonly Field[];
}

const localMicros = struct([1, no], [2, struct([MICROS, struct()])]);
const schemas = {
  BIGINT: { kept: physical.int64, annotated: [] },
  INTEGER: { kept: physical.int32, annotated: [] },
  DOUBLE: { kept: physical.double, annotated: [] },
  VARCHAR: { kept: physical.bytes, annotated: [[6, i32(converted.utf8)]] },
  JSON: { kept: physical.bytes, annotated: [[6, i32(converted.json)]] },
  DATE: { kept: physical.int32, annotated: [[6, i32(converted.date)]] },
  TIMESTAMP: { kept: physical.int64, annotated: [[10, struct([LOGICAL_TIMESTAMP, localMicros])]] },
} as const satisfies Readonly<Record<Exclude<ParquetType['kind'], 'DECIMAL'>, Schema>>;

function schemaOf(type: ParquetType): Schema {
  if (type.kind !== 'DECIMAL') return schemas[type.kind];
  const { fraction: scale } = type;
  const width = type.whole + scale;
  return {
    kept: width > FAST_DIGITS ? physical.fixed : physical.int64,
    annotated: [
      [6, i32(converted.decimal)],
      [7, i32(scale)],
      [8, i32(width)],
    ],
  };
}

export const isWide = (type: ColumnType): boolean => schemaOf(type).kept === physical.fixed;

export class ParquetFile {
  readonly #path: string;
  readonly #columns: readonly WrittenColumn[];
  readonly #file: number;
  readonly #groups: Value[] = [];
  #bytes = 0;
  #rows = 0;

  /** The file must not exist yet. Every method throws the errors of the file system. */
  constructor(path: string, columns: readonly WrittenColumn[]) {
    this.#path = path;
    this.#columns = columns;
    this.#file = openSync(path, 'wx', 0o600);
    this.#write([magic]);
  }

  writeGroup(rows: number): void {
    const start = this.#bytes;
    const chunks = this.#columns.map((column) => this.#writeColumn(column, rows));
    this.#groups.push(struct([1, list(chunks)], [2, i64(this.#bytes - start)], [3, i64(rows)]));
    this.#rows += rows;
  }

  #writeColumn(column: WrittenColumn, rows: number): Value {
    const { nulls, cells, words, dictionary } = column.group(rows);
    const present = withoutNulls(cells, nulls, words);
    const start = this.#bytes;
    const isIndexed = dictionary !== null && dictionary.size > 0;
    if (isIndexed) {
      const header = struct([1, i32(dictionary.size)], [2, i32(encodings.plain)]);
      this.#write(page(7, pages.dictionary, header, [dictionary.values]));
    }
    const dataStart = this.#bytes;
    const encoding = i32(isIndexed ? encodings.dictionary : encodings.plain);
    const levels = i32(encodings.levels);
    const header = struct([1, i32(rows)], [2, encoding], [3, levels], [4, levels]);
    const values = isIndexed ? indexes(present, dictionary.size) : [bytesOf(present)];
    this.#write(
      page(5, pages.data, header, [...presence(nulls, present.length === cells.length), ...values]),
    );
    const size = i64(this.#bytes - start);
    const place = struct(
      [1, i32(schemaOf(column.type).kept)],
      [2, list([i32(encodings.plain), encoding, levels])],
      [3, list([text(column.name)])],
      [4, i32(UNCOMPRESSED)],
      [5, i64(rows)],
      [6, size],
      [7, size],
      [9, i64(dataStart)],
      ...(isIndexed ? [[11, i64(start)] as const] : []),
    );
    return struct([2, i64(start)], [3, place]);
  }

  finish(): void {
    const columns = [
      struct([4, text('rows')], [5, i32(this.#columns.length)]),
      ...this.#columns.map(element),
    ];
    const footer = struct(
      [1, i32(VERSION)],
      [2, list(columns)],
      [3, i64(this.#rows)],
      [4, list(this.#groups)],
    );
    this.#write([Uint8Array.from(footer.bytes), lengthOf(footer.bytes), magic]);
    closeSync(this.#file);
  }

  abandon(): void {
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }

  #write(parts: readonly Uint8Array[]): void {
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    const written = writevSync(this.#file, parts);
    // A disk may take less than it was given.
    if (written < bytes) writeFileSync(this.#file, Buffer.concat(parts).subarray(written));
    this.#bytes += bytes;
  }
}

function page(place: number, kind: number, header: Value, parts: readonly Uint8Array[]) {
  const size = i32(parts.reduce((sum, { length }) => sum + length, 0));
  const { bytes } = struct([1, i32(kind)], [2, size], [3, size], [place, header]);
  return [Uint8Array.from(bytes), ...parts];
}

const element = ({ name, type }: WrittenColumn): Value => {
  const { kept, annotated } = schemaOf(type);
  const length = kept === physical.fixed ? [[2, i32(WIDE_BYTES)] as const] : [];
  return struct([1, i32(kept)], ...length, [3, i32(OPTIONAL)], [4, text(name)], ...annotated);
};

const bytesOf = (cells: Int32Array) =>
  new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength);

function withoutNulls(cells: Int32Array, nulls: Uint8Array, words: number): Int32Array {
  if (!nulls.includes(1)) return cells;
  const present = new Int32Array(cells.length);
  let length = 0;
  for (let row = 0; row < nulls.length; row += 1) {
    if (nulls[row] === 1) continue;
    for (let word = 0; word < words; word += 1)
      present[length + word] = cells[row * words + word] ?? 0;
    length += words;
  }
  return present.subarray(0, length);
}

/** Definition levels, 1 for a value and 0 for NULL, after their length: one run of ones, or of bits, the lowest first. */
function presence(nulls: Uint8Array, isFull: boolean): readonly Uint8Array[] {
  const groups = Math.ceil(nulls.length / GROUP_OF_BITS);
  const header = varint(isFull ? nulls.length * 2 : groups * 2 + 1);
  const levels = isFull ? Uint8Array.of(1) : new Uint8Array(groups);
  const listed = isFull ? 0 : nulls.length;
  for (let row = 0; row < listed; row += 1) {
    if (nulls[row] === 0) levels[row >>> 3] = (levels[row >>> 3] ?? 0) | (1 << (row & 7));
  }
  return [lengthOf({ length: header.length + levels.length }), Uint8Array.from(header), levels];
}

function lengthOf({ length }: { readonly length: number }): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, length, true);
  return bytes;
}

/** One run, in the narrowest of one, two or four bytes each. */
function indexes(cells: Int32Array, size: number): readonly Uint8Array[] {
  const width = size <= 2 ** 8 ? 1 : size <= 2 ** 16 ? 2 : 4;
  const groups = Math.ceil(cells.length / GROUP_OF_BITS);
  const padded = new ArrayBuffer(groups * GROUP_OF_BITS * width);
  const narrow =
    width === 1
      ? new Uint8Array(padded)
      : width === 2
        ? new Uint16Array(padded)
        : new Int32Array(padded);
  narrow.set(cells);
  return [
    Uint8Array.from([width * GROUP_OF_BITS, ...varint(groups * 2 + 1)]),
    new Uint8Array(padded),
  ];
}
