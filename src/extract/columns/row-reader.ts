/**
 * Reads rows into columns. The first row of a body with exactly the requested keys shows their order and whitespace. Later
 * rows are compared with it as bytes. A row that differs is read member by member.
 */

import type { CellColumn } from './cell-column.ts';
import {
  type BodyWindow,
  CLOSING_BRACE,
  QUOTE,
  readMembers,
  skipBlanks,
  skipValue,
  STOPPED,
  textIn,
} from './json-tokens.ts';
import { ATTR_DEPENDENCY, type Reason } from './reading.ts';
import type { TextColumn } from './text-column.ts';

const WORD_BYTES = 4;
/** If so many rows at the start of a body have other keys than requested, the rest is assumed to. */
const MAX_OTHERS = 4;

/** The bytes before a value in the first row, and its column. */
class Key {
  readonly column: CellColumn;
  readonly length: number;
  /** The last word may overlap the one before. */
  readonly #words: Int32Array;

  constructor(column: CellColumn, written: Uint8Array) {
    this.column = column;
    this.length = written.length;
    const view = new DataView(written.buffer, written.byteOffset, written.length);
    this.#words = Int32Array.from({ length: Math.ceil(written.length / WORD_BYTES) }, (_, at) =>
      view.getInt32(Math.min(at * WORD_BYTES, written.length - WORD_BYTES), true),
    );
  }

  skip({ view, end }: BodyWindow, at: number): number {
    const words = this.#words;
    const last = words.length - 1;
    const value = at + this.length;
    // Reading past the end of the window would throw.
    if (value > end) return STOPPED;
    for (let index = 0; index < last; index += 1) {
      if (view.getInt32(at + index * WORD_BYTES, true) !== words[index]) return STOPPED;
    }
    return view.getInt32(value - WORD_BYTES, true) === words[last] ? value : STOPPED;
  }
}

interface RowColumns {
  readonly columns: readonly CellColumn[];
  readonly extra: TextColumn;
  readonly rejected: TextColumn;
  readonly reasons: Reason[];
  readonly dropped: ReadonlySet<string>;
}

export const statedTwice = (name: string): string =>
  `a row of it stated ${JSON.stringify(name)} twice`;

export class RowReader {
  readonly #into: RowColumns;
  readonly #columns: ReadonlyMap<string, CellColumn>;
  hasExtra = false;
  hasRejected = false;
  #keys: readonly Key[] | null = null;
  /** Rows with exactly these keys, and all others. */
  #alikeRows = 0;
  #otherRows = 0;
  /** By key, how many of the other rows have it. */
  readonly #counts = new Map<string, number>();

  constructor(into: RowColumns) {
    this.#into = into;
    this.#columns = new Map(into.columns.map((column) => [column.name, column]));
  }

  /** Clears them, too: the next row is of another body. */
  takeKeys() {
    for (const { column } of this.#keys ?? []) this.#count(column.name, this.#alikeRows);
    const rows = this.#alikeRows + this.#otherRows;
    const present = [...this.#counts].filter(([, count]) => count > 0);
    const common = present.filter(([, count]) => count === rows);
    this.#keys = null;
    this.#alikeRows = 0;
    this.#otherRows = 0;
    this.#counts.clear();
    return { keys: present.map(([name]) => name), commonKeys: common.map(([name]) => name) };
  }

  #count(name: string, rows: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + rows);
  }

  read(body: BodyWindow, at: number, row: number): number {
    const { reasons } = this.#into;
    if (reasons.length > 0) reasons.length = 0;
    if (this.#otherRows < MAX_OTHERS) this.#keys ??= this.#readKeys(body, at);
    let end = this.#keys === null ? STOPPED : readAlike(this.#keys, body, at, row);
    if (end === STOPPED) {
      if (reasons.length > 0) reasons.length = 0;
      end = this.#readMembers(body, at, row);
    } else {
      this.#alikeRows += 1;
    }
    if (end !== STOPPED && reasons.length > 0) this.#reject(body, at, row);
    return end;
  }

  /** Keeps the requested members, values as texts, and the object of ids as it is. */
  #reject(body: BodyWindow, at: number, row: number): void {
    const members: string[] = [];
    readMembers(body, at, (name, value) => {
      const end = skipValue(body, value);
      const written = end === STOPPED ? null : textIn(body, value, end);
      if (written === null || !this.#columns.has(name)) return end;
      const isText = body.bytes[value] === QUOTE || written === 'null' || name === ATTR_DEPENDENCY;
      members.push(`${JSON.stringify(name)}:${isText ? written : JSON.stringify(written)}`);
      return end;
    });
    const { rejected, reasons } = this.#into;
    rejected.put(row, JSON.stringify({ row: `{${members.join(',')}}`, reasons }));
    this.hasRejected = true;
  }

  #readMembers(body: BodyWindow, at: number, row: number): number {
    const { columns, extra, dropped } = this.#into;
    const names = new Set<string>();
    const others: string[] = [];
    for (const column of columns) column.blank(row);
    const end = readMembers(body, at, (name, value) => {
      if (names.has(name)) return body.stop(value, statedTwice(name));
      names.add(name);
      const column = this.#columns.get(name);
      if (column !== undefined) return column.read(body, value, row);
      const behind = skipValue(body, value);
      const text = behind === STOPPED ? null : textIn(body, value, behind);
      if (text === null) return STOPPED;
      if (!dropped.has(name)) others.push(`${JSON.stringify(name)}:${text}`);
      return behind;
    });
    if (end === STOPPED) return STOPPED;
    if (others.length > 0) {
      this.hasExtra = true;
      if (!extra.put(row, `{${others.join(',')}}`))
        return body.stop(at, 'a value that is not valid JSON');
    }
    for (const name of names) this.#count(name, 1);
    this.#otherRows += 1;
    return end;
  }

  #readKeys(body: BodyWindow, at: number): readonly Key[] | null {
    const keys = new Map<string, Key>();
    let from = at;
    const end = readMembers(body, at, (name, value) => {
      const column = this.#columns.get(name);
      if (column === undefined || keys.has(name)) return STOPPED;
      keys.set(name, new Key(column, body.bytes.slice(from, value)));
      from = skipValue(body, value);
      return from;
    });
    const isKnown = ({ name }: CellColumn) => keys.has(name) || name === ATTR_DEPENDENCY;
    const isWhole = end !== STOPPED && this.#into.columns.every(isKnown);
    return isWhole ? [...keys.values()] : null;
  }
}

function readAlike(keys: readonly Key[], body: BodyWindow, at: number, row: number): number {
  let next = at;
  for (const key of keys) {
    next = key.skip(body, next);
    if (next === STOPPED) return STOPPED;
    next = key.column.read(body, next, row);
    if (next === STOPPED) return STOPPED;
  }
  next = skipBlanks(body.bytes, next);
  return body.bytes[next] === CLOSING_BRACE ? next + 1 : STOPPED;
}
