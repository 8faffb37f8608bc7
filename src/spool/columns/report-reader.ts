/**
 * A report document, from its first byte to its last: one object, with `rows` in it once.
 *
 * Bodies come in pieces of any size. Each step reads one member or one row, or stops at the end of what has come and
 * starts over when there is more.
 */

import { isUtf8 } from 'node:buffer';

import {
  BodyWindow,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  skipBlanks,
  skipText,
  skipToken,
  skipValue,
  STOPPED,
} from './json-bytes.ts';
import type { Column } from './parquet-file.ts';
import type { Envelope } from './reading.ts';

/** Members that say something about the answer as a whole. */
const telling = new Set([
  'totals',
  'warnings',
  'data_warnings',
  'pagination',
  'error',
  'errors',
  'error_code',
  'detail',
]);

/** A row or a member longer than this is not taken; it bounds the memory. */
const MAX_STEP_BYTES = 1024 * 1024;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Takes rows one after the other. */
export interface RowSink {
  /** The row at `at`: the offset behind it, or stopped. */
  takeRow(body: BodyWindow, at: number): number;
}

type Place = 'before' | 'at a member' | 'at the first row' | 'at a row' | 'behind a row' | 'behind a member' | 'after';

export class ReportReader {
  readonly #sink: RowSink;
  readonly #body = new BodyWindow();
  readonly #members = new Map<string, string>();
  readonly #names = new Set<string>();
  #place: Place = 'before';
  #at = 0;
  #bytes = 0;
  #rows = 0;

  constructor(sink: RowSink) {
    this.#sink = sink;
  }

  /** Takes the next piece of the body; why it is given up, or null. */
  take(chunk: Uint8Array): string | null {
    this.#bytes += chunk.length;
    this.#body.take(chunk, this.#at);
    this.#at = 0;
    for (;;) {
      const next = this.#step(this.#at);
      if (next === STOPPED) break;
      this.#at = next;
    }
    if (this.#body.because !== null) return this.#body.because;
    return this.#body.end - this.#at > MAX_STEP_BYTES ? 'one row or member of more than 1 MiB' : null;
  }

  /** What stood beside the rows, or why the body is given up: it ended too early or had no rows. */
  end(): Envelope | string {
    if (this.#place !== 'after') return this.#bytes === 0 ? 'an empty body' : 'a body that ends too early';
    if (!this.#names.has('rows')) return 'no rows';
    return {
      rows: this.#rows,
      bytes: this.#bytes,
      members: this.#members,
      others: [...this.#names].filter((name) => name !== 'rows' && !telling.has(name)),
    };
  }

  #step(from: number): number {
    const body = this.#body;
    const at = skipBlanks(body.bytes, from);
    switch (this.#place) {
      case 'before':
        return this.#goTo('at a member', skipToken(body, at, OPENING_BRACE));
      case 'at a member':
        return this.#readMember(at);
      case 'at the first row': {
        const isEmpty = body.bytes[at] === CLOSING_BRACKET;
        return isEmpty ? this.#goTo('behind a member', at + 1) : this.#readRows(at);
      }
      case 'at a row':
        return this.#readRows(at);
      case 'behind a row':
        return this.#behind(at, CLOSING_BRACKET, 'at a row', 'behind a member');
      case 'behind a member':
        return this.#behind(at, CLOSING_BRACE, 'at a member', 'after');
      case 'after':
    }
    return at === from ? body.stop(at, 'something behind the document') : at;
  }

  #goTo(place: Place, next: number): number {
    if (next !== STOPPED) this.#place = place;
    return next;
  }

  /** Behind a comma or the closing token of a list. */
  #behind(at: number, closing: number, another: Place, after: Place): number {
    if (this.#body.bytes[at] === closing) return this.#goTo(after, at + 1);
    return this.#goTo(another, skipToken(this.#body, at, COMMA));
  }

  /** Whole rows, as many as have come. */
  #readRows(at: number): number {
    const body = this.#body;
    let next = at;
    for (;;) {
      const end = this.#sink.takeRow(body, next);
      if (end === STOPPED) return next === at ? STOPPED : this.#goTo('at a row', next);
      this.#rows += 1;
      if (body.bytes[end] !== COMMA) return this.#goTo('behind a row', end);
      next = skipBlanks(body.bytes, end + 1);
    }
  }

  #readMember(at: number): number {
    const body = this.#body;
    const nameEnd = skipText(body, at);
    if (nameEnd === STOPPED) return STOPPED;
    const start = skipToken(body, nameEnd, COLON);
    if (start === STOPPED) return STOPPED;
    const name = this.#textOf(at + 1, nameEnd - 1);
    if (name === null || name.includes('\\')) return body.stop(at, 'a member whose name is escaped or not UTF-8');
    if (this.#names.has(name)) return body.stop(at, 'a member that is stated twice');
    if (name === 'rows') {
      const next = skipToken(body, start, OPENING_BRACKET);
      if (next !== STOPPED) this.#names.add(name);
      return this.#goTo('at the first row', next);
    }
    const end = skipValue(body, start);
    if (end === STOPPED) return STOPPED;
    // A bare number at the end of what has come may go on.
    if (end === body.end) return body.stop(end, '');
    const value = this.#textOf(start, end);
    if (value === null) return body.stop(start, 'a member that is not UTF-8');
    this.#names.add(name);
    if (telling.has(name)) this.#members.set(name, value);
    return this.#goTo('behind a member', end);
  }

  #textOf(from: number, to: number): string | null {
    const bytes = this.#body.bytes.subarray(from, to);
    return isUtf8(bytes) ? decoder.decode(bytes) : null;
  }
}

const encoder = new TextEncoder();
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
