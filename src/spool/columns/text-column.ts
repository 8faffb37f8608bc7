/** Text dimensions, and the JSON objects that stand beside them: each distinct text is unescaped and checked once. */

import { isUtf8 } from 'node:buffer';

import { STOPPED, type BodyWindow } from './body-window.ts';
import { widened, widenedFlags, type Column, type ColumnGroup } from './column.ts';
import { BACKSLASH, CLOSING_BRACE, OPENING_BRACE, QUOTE, skipNull, skipText, skipValue } from './json-skip.ts';
import type { ParquetType } from './parquet-file.ts';
import { hashOf, TextDictionary } from './text-dictionary.ts';

const LETTER_N = 0x6e;
const EACH_BYTE = 0x01010101;
const EACH_TOP_BIT = 0x80808080;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** The first offset from `at` on with a given byte, a backslash or a control character; four bytes at a time. */
export function endOfRun(view: DataView, at: number, byte: number): number {
  const each = Math.imul(byte, EACH_BYTE);
  for (let next = at; ; next += 4) {
    const word = view.getInt32(next, true);
    const ending = word ^ each;
    const escape = word ^ Math.imul(BACKSLASH, EACH_BYTE);
    // The lowest top bit left marks the first byte that is zero in one of the first two, or below a blank in the third.
    const found =
      (((ending - EACH_BYTE) & ~ending) |
        ((escape - EACH_BYTE) & ~escape) |
        ((word - Math.imul(0x20, EACH_BYTE)) & ~word)) &
      EACH_TOP_BIT;
    if (found !== 0) return next + ((31 - Math.clz32(found & -found)) >>> 3);
  }
}

export class TextColumn implements Column {
  readonly name: string;
  readonly type: ParquetType = { kind: 'VARCHAR' };
  readonly #opening: number;
  readonly #closing: number;
  readonly #isText: boolean;
  readonly #dictionary = new TextDictionary();
  #entries = new Int32Array(0);
  #nulls = new Uint8Array(0);

  /** `text` unescapes and takes null for NULL; `object` keeps the JSON text of an object as it stands. */
  constructor(name: string, holds: 'text' | 'object') {
    this.name = name;
    this.#isText = holds === 'text';
    this.#opening = this.#isText ? QUOTE : OPENING_BRACE;
    this.#closing = this.#isText ? QUOTE : CLOSING_BRACE;
  }

  read(body: BodyWindow, at: number, row: number): number {
    const { bytes, view } = body;
    if (bytes[at] !== this.#opening) return this.#readNull(body, at, row);
    const stop = endOfRun(view, at + 1, this.#closing);
    if (bytes[stop] === this.#closing) {
      // An object that ends where a known one ends is that one: no JSON text is the beginning of another.
      const entry = this.#dictionary.find(body, at, stop + 1, hashOf(view, at, stop + 1));
      if (entry >= 0) {
        this.#entries[row] = entry;
        this.#nulls[row] = 0;
        return stop + 1;
      }
    }
    return this.#readNew(body, at, row);
  }

  /** A text that is new, or that a run of plain bytes does not hold. */
  #readNew(body: BodyWindow, at: number, row: number): number {
    const end = this.#isText ? skipText(body, at) : skipValue(body, at);
    if (end === STOPPED) return STOPPED;
    const hash = hashOf(body.view, at, end);
    let entry = this.#dictionary.find(body, at, end, hash);
    if (entry < 0) {
      const text = body.bytes.subarray(at, end);
      if (!isUtf8(text)) return body.stop(at, 'a text that is not UTF-8');
      if (!this.#isText && hasInexactNumbers(text)) return body.stop(at, `a long or broken number in ${this.name}`);
      entry = this.#dictionary.add(text, hash, this.#isText ? unescaped(text) : text);
    }
    this.#entries[row] = entry;
    this.#nulls[row] = 0;
    return end;
  }

  #readNull(body: BodyWindow, at: number, row: number): number {
    if (!this.#isText) return body.stop(at, `no object in ${this.name}`);
    if (body.bytes[at] !== LETTER_N) return body.stop(at, `no text in ${this.name}`);
    this.#nulls[row] = 1;
    return skipNull(body, at);
  }

  get heldBytes(): number {
    return this.#dictionary.heldBytes;
  }

  grow(rows: number): void {
    this.#entries = widened(this.#entries, rows);
    const before = this.#nulls.length;
    // NULL until it is read: rows may lack an optional column.
    this.#nulls = widenedFlags(this.#nulls, rows).fill(1, before);
  }

  group(rows: number): ColumnGroup {
    return {
      nulls: this.#nulls.subarray(0, rows),
      cells: this.#entries.subarray(0, rows),
      words: 1,
      dictionary: { values: this.#dictionary.plainValues, size: this.#dictionary.size },
    };
  }

  clear(): void {
    this.#dictionary.clear();
    this.#nulls.fill(1);
  }
}

/** Whether a bare number in an object is one that engines write in another way than it was read, or round. */
function hasInexactNumbers(object: Uint8Array): boolean {
  return /\d[.eE]|\d{19}/.test(decoder.decode(object).replaceAll(/"(?:[^"\\]|\\.)*"/g, ''));
}

/** What a whole and checked JSON text says, in UTF-8. */
function unescaped(text: Uint8Array): Uint8Array {
  if (!text.includes(BACKSLASH)) return text.subarray(1, -1);
  const said: unknown = JSON.parse(decoder.decode(text));
  return encoder.encode(String(said));
}
