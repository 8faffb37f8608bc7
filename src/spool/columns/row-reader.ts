/** Rows of a document into columns, as the first of them has taught. */

import { isUtf8 } from 'node:buffer';

import type { Column } from './parquet-file.ts';
import {
  BodyWindow,
  CLOSING_BRACE,
  COLON,
  COMMA,
  OPENING_BRACE,
  skipBlanks,
  skipText,
  skipToken,
  skipValue,
  STOPPED,
} from './json-tokens.ts';
import type { Envelope } from './reading.ts';
import type { TextColumn } from './text-column.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const WORD_BYTES = 4;

/** A key, and the column its values go to. */
class Key {
  readonly column: Column;
  /** With its quotes. */
  readonly #name: Uint8Array;
  readonly #isFirst: boolean;
  /** Bytes that stood in the first row from the value before to this one. */
  readonly length: number;
  /** They themselves in words, the last of which overlaps the one before. */
  readonly #words: Int32Array;

  constructor(column: Column, written: Uint8Array, isFirst: boolean) {
    this.column = column;
    this.#name = encoder.encode(JSON.stringify(column.name));
    this.#isFirst = isFirst;
    this.length = written.length;
    const view = new DataView(written.buffer, written.byteOffset, written.length);
    this.#words = Int32Array.from({ length: Math.ceil(written.length / WORD_BYTES) }, (_, at) =>
      view.getInt32(Math.min(at * WORD_BYTES, written.length - WORD_BYTES), true),
    );
  }

  /** Where the value behind the key begins, or stopped. */
  skip(body: BodyWindow, at: number): number {
    const { view } = body;
    const words = this.#words;
    const last = words.length - 1;
    // The window may end before the key does; reading past its end would throw.
    if (at + this.length > body.end) return this.#skipLoose(body, at);
    for (let index = 0; index < last; index += 1) {
      if (view.getInt32(at + index * WORD_BYTES, true) !== words[index]) return this.#skipLoose(body, at);
    }
    const end = at + this.length;
    return view.getInt32(end - WORD_BYTES, true) === words[last] ? end : this.#skipLoose(body, at);
  }

  /** The same with other blanks than in the first row. */
  #skipLoose(body: BodyWindow, at: number): number {
    let next = skipToken(body, at, this.#isFirst ? OPENING_BRACE : COMMA);
    if (next === STOPPED) return STOPPED;
    for (const byte of this.#name) {
      if (body.bytes[next] !== byte) return body.stop(next, `a row without ${this.column.name} where the first had it`);
      next += 1;
    }
    return skipToken(body, next, COLON);
  }
}

/**
 * Rows into columns.
 *
 * The first row of a body says which keys there are, in which order and with which blanks; later rows are compared with
 * it as bytes. A row with other keys, or in another order, is not taken.
 */
export class RowReader {
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #required: readonly string[];
  #keys: readonly Key[] | null = null;

  /** Columns of `optional` names may be missing from the rows. */
  constructor(columns: readonly Column[], optional: ReadonlySet<string>) {
    this.#columns = new Map(columns.map((column) => [column.name, column]));
    this.#required = columns.map(({ name }) => name).filter((name) => !optional.has(name));
  }

  /** Forgets the keys: the next row is the first of another body. */
  forget(): void {
    this.#keys = null;
  }

  /** Reads the row that begins at `at` into the columns' cells `row`: the offset behind it, or stopped. */
  read(body: BodyWindow, at: number, row: number): number {
    this.#keys ??= this.#learn(body, at);
    const keys = this.#keys;
    if (keys === null) return STOPPED;
    let next = at;
    for (const key of keys) {
      next = key.skip(body, next);
      if (next === STOPPED) return STOPPED;
      next = key.column.read(body, next, row);
      if (next === STOPPED) return STOPPED;
    }
    if (body.bytes[next] === CLOSING_BRACE) return next + 1;
    next = skipBlanks(body.bytes, next);
    return body.bytes[next] === CLOSING_BRACE ? next + 1 : body.stop(next, 'a row with other keys than the first');
  }

  /** The keys of the row at `at`; null when it stops, or is not a row of exactly the requested keys. */
  #learn(body: BodyWindow, at: number): readonly Key[] | null {
    const keys: Key[] = [];
    let next = at;
    do {
      const key = this.#learnKey(body, next, keys);
      if (key === null) return null;
      keys.push(key);
      next = skipValue(body, next + key.length);
      if (next === STOPPED) return null;
    } while (body.bytes[skipBlanks(body.bytes, next)] === COMMA);
    const closing = skipBlanks(body.bytes, next);
    if (body.bytes[closing] !== CLOSING_BRACE) {
      body.stop(closing, 'a row that does not end');
      return null;
    }
    const missing = this.#required.find((name) => keys.every(({ column }) => column.name !== name));
    if (missing === undefined) return keys;
    body.stop(at, `rows without ${missing}`);
    return null;
  }

  #learnKey(body: BodyWindow, at: number, before: readonly Key[]): Key | null {
    const { bytes } = body;
    const isFirst = before.length === 0;
    const quote = skipToken(body, at, isFirst ? OPENING_BRACE : COMMA);
    if (quote === STOPPED) return null;
    const end = skipText(body, quote);
    if (end === STOPPED) return null;
    const value = skipToken(body, end, COLON);
    if (value === STOPPED) return null;
    // Known names are ASCII without escapes, so a key of other bytes is no known name.
    const name = String.fromCharCode(...bytes.subarray(quote + 1, Math.min(end - 1, quote + 1024)));
    const column = this.#columns.get(name);
    if (column === undefined) body.stop(quote, 'rows with a key that was not requested');
    else if (before.some((known) => known.column === column)) body.stop(quote, `rows that state ${name} twice`);
    else return new Key(column, bytes.slice(at, value), isFirst);
    return null;
  }
}

/**
 * Rows of any shape into columns of texts: keys in any order, some missing, others that were not requested, which go to a column
 * of their own as one JSON object.
 */
export class LooseRowReader {
  readonly #columns: ReadonlyMap<string, TextColumn>;
  readonly #extra: TextColumn;
  readonly #left: ReadonlySet<string>;
  readonly #extraBody = new BodyWindow();
  #keys = new Set<string>();
  #common: ReadonlySet<string> | null = null;
  #lastKeys = '';

  constructor(columns: readonly TextColumn[], extra: TextColumn, left: readonly string[]) {
    this.#left = new Set(left);
    this.#columns = new Map(columns.map((column) => [column.name, column]));
    this.#extra = extra;
  }

  /** The keys of the rows so far; the next row is the first of another body. */
  takeKeys(): Pick<Envelope, 'keys' | 'commonKeys'> {
    const found = { keys: [...this.#keys], commonKeys: [...(this.#common ?? [])] };
    this.#keys = new Set();
    this.#common = null;
    this.#lastKeys = '';
    return found;
  }

  /** Reads the row that begins at `at` into the columns' cells `row`: the offset behind it, or stopped. */
  read(body: BodyWindow, at: number, row: number): number {
    const names = new Set<string>();
    const extra: string[] = [];
    for (const column of this.#columns.values()) column.blank(row);
    this.#extra.blank(row);
    let next = skipToken(body, at, OPENING_BRACE);
    if (next === STOPPED) return STOPPED;
    while (body.bytes[next] !== CLOSING_BRACE) {
      const end = skipText(body, next);
      if (end === STOPPED) return STOPPED;
      const written = textOf(body, next, end);
      if (written === null) return body.stop(next, 'a key that is not UTF-8');
      const name = String(JSON.parse(written));
      if (names.has(name)) return body.stop(next, `a row of it stated ${JSON.stringify(name)} twice`);
      names.add(name);
      const value = skipToken(body, end, COLON);
      if (value === STOPPED) return STOPPED;
      const behind = this.#columns.get(name)?.read(body, value, row) ?? skipValue(body, value);
      if (behind === STOPPED) return STOPPED;
      if (!this.#columns.has(name) && !this.#left.has(name)) {
        const text = textOf(body, value, behind);
        if (text === null) return body.stop(value, 'a value that is not UTF-8');
        extra.push(`${written}:${text}`);
      }
      next = skipBlanks(body.bytes, behind);
      if (body.bytes[next] === CLOSING_BRACE) break;
      next = skipToken(body, next, COMMA);
      if (next === STOPPED) return STOPPED;
      if (body.bytes[next] === CLOSING_BRACE) return body.stop(next, 'a comma without a key behind it');
    }
    if (extra.length > 0 && !this.#readExtra(extra, row)) return body.stop(at, 'a value that JSON has not');
    this.#see(names);
    return next + 1;
  }

  #readExtra(extra: readonly string[], row: number): boolean {
    this.#extraBody.take(encoder.encode(`{${extra.join(',')}}`), this.#extraBody.end);
    return this.#extra.read(this.#extraBody, 0, row) !== STOPPED;
  }

  #see(names: ReadonlySet<string>): void {
    const all = JSON.stringify([...names]);
    if (all === this.#lastKeys) return;
    this.#lastKeys = all;
    for (const name of names) this.#keys.add(name);
    this.#common = new Set([...(this.#common ?? names)].filter((name) => names.has(name)));
  }
}

/** The bytes in `[from, to)` as text; null where they are not UTF-8. */
function textOf({ bytes }: BodyWindow, from: number, to: number): string | null {
  const text = bytes.subarray(from, to);
  return isUtf8(text) ? decoder.decode(text) : null;
}
