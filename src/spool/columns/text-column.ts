/**
 * Text dimensions, and the JSON objects that stand beside them: each distinct text is unescaped and checked once; every later
 * one costs a hash and a comparison, or only the comparison where it follows the same text as before.
 */

import { isUtf8 } from 'node:buffer';

import { canonicalJson } from '../../model/canonical-json.ts';
import {
  BACKSLASH,
  BodyWindow,
  CLOSING_BRACE,
  OPENING_BRACE,
  QUOTE,
  skipNull,
  skipValue,
  STOPPED,
} from './json-tokens.ts';
import { type ColumnGroup, type ParquetType, widened, widenedFlags } from './parquet-file.ts';
import { type KeyColumn, type KeyDigests, mixed, SEEDS } from './row-keys.ts';
import { endOfRun, FIRST_ENTRIES, grown, hashOf, TextDictionary } from './text-dictionary.ts';

const LETTER_N = 0x6e;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** Of one value at a time. */
const made = new BodyWindow();

export class TextColumn implements KeyColumn {
  readonly name: string;
  readonly type: ParquetType;
  readonly #opening: number;
  readonly #closing: number;
  readonly #holds: 'object' | 'value';
  readonly #dictionary = new TextDictionary();
  /** By entry, two words that tell what it says from what others say. */
  #digests = new Int32Array(FIRST_ENTRIES * 2);
  readonly #followers = new Followers();
  #entries = new Int32Array(0);
  #nulls = new Uint8Array(0);

  /**
   * `object` keeps what an object says, as canonical JSON; `value` takes whatever stands there: a text unescaped, anything else as
   * it is written. Null is NULL in both.
   */
  constructor(name: string, holds: 'object' | 'value') {
    this.name = name;
    this.#holds = holds;
    this.type = { kind: holds === 'object' ? 'JSON' : 'VARCHAR' };
    this.#opening = holds === 'object' ? OPENING_BRACE : QUOTE;
    this.#closing = holds === 'object' ? CLOSING_BRACE : QUOTE;
  }

  read(body: BodyWindow, at: number, row: number): number {
    const { bytes, view } = body;
    // A bare number may be the beginning of another.
    if (bytes[at] !== this.#opening) return this.#readOther(body, at, row);
    const { last, next } = this.#followers;
    let end = last < 0 ? STOPPED : this.#dictionary.endOf(body, at, last);
    if (end !== STOPPED) return this.#put(row, last, end);
    end = next < 0 ? STOPPED : this.#dictionary.endOf(body, at, next);
    if (end !== STOPPED) return this.#put(row, next, end);
    const stop = endOfRun(view, at + 1, this.#closing);
    if (bytes[stop] === this.#closing) {
      // An object that ends where a known one ends is that one: no JSON text is the beginning of another.
      const entry = this.#dictionary.find(body, at, stop + 1, hashOf(view, at, stop + 1));
      if (entry >= 0) return this.#put(row, entry, stop + 1);
    }
    return this.#readNew(body, at, row);
  }

  /** A text that is new, or that a run of plain bytes does not hold. */
  #readNew(body: BodyWindow, at: number, row: number): number {
    const end = skipValue(body, at);
    if (end === STOPPED) return STOPPED;
    const hash = hashOf(body.view, at, end);
    let entry = this.#dictionary.find(body, at, end, hash);
    if (entry < 0) {
      const text = body.bytes.subarray(at, end);
      if (!isUtf8(text)) return body.stop(at, 'a text that is not UTF-8');
      const said = this.#holds === 'object' ? canonical(decoder.decode(text)) : plain(text);
      if (said === null) return body.stop(at, `a value that JSON has not in ${this.name}`);
      entry = this.#add(text, hash, said);
    }
    return this.#put(row, entry, end);
  }

  /** Gives a cell a value that was made here; false where it is an object with a value that JSON has not. */
  put(row: number, value: string): boolean {
    const text = encoder.encode(value);
    const said = this.#holds === 'object' ? canonical(value) : text;
    if (said === null) return false;
    made.take(text, made.end);
    const hash = hashOf(made.view, 0, made.end);
    let entry = this.#dictionary.find(made, 0, made.end, hash);
    if (entry < 0) entry = this.#add(text, hash, said);
    this.#put(row, entry, 0);
    return true;
  }

  #add(text: Uint8Array, hash: number, said: Uint8Array): number {
    const entry = this.#dictionary.add(text, hash, said);
    this.#digest(entry, said);
    return entry;
  }

  #put(row: number, entry: number, end: number): number {
    this.#entries[row] = entry;
    this.#nulls[row] = 0;
    if (entry !== this.#followers.last) this.#followers.follow(entry);
    return end;
  }

  /** Makes a cell NULL, whatever an unfinished row left there. */
  blank(row: number): void {
    this.#nulls[row] = 1;
  }

  #digest(entry: number, said: Uint8Array): void {
    if (entry * 2 === this.#digests.length) this.#digests = grown(this.#digests);
    const [low, high] = digestOf(said);
    this.#digests[entry * 2] = low;
    this.#digests[entry * 2 + 1] = high;
  }

  addTo(keys: KeyDigests, rows: number): void {
    const [digests, entries, nulls] = [this.#digests, this.#entries, this.#nulls];
    for (let row = 0; row < rows; row += 1) {
      const at = (entries[row] ?? 0) * 2;
      // No text's digest has to differ from NULL's: that would only be looked at once more.
      if (nulls[row] === 1) keys.add(row, 0, 0);
      else keys.add(row, digests[at] ?? 0, digests[at + 1] ?? 0);
    }
  }

  /** NULL, or a value of another kind. */
  #readOther(body: BodyWindow, at: number, row: number): number {
    if (body.bytes[at] === LETTER_N) {
      this.#nulls[row] = 1;
      return skipNull(body, at);
    }
    const end = this.#readNew(body, at, row);
    // A bare number at the end of what has arrived may go on.
    return end === body.end ? body.stop(end, '') : end;
  }

  get textBytes(): number {
    return this.#dictionary.textBytes;
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
    this.#followers.clear();
    this.#nulls.fill(1);
  }
}

/** What an object's whole and checked JSON text says; null where it holds what JSON has not. */
function canonical(object: string): Uint8Array | null {
  return NO_JSON.test(object.replaceAll(STRING, '')) ? null : encoder.encode(canonicalJson(object));
}

const STRING = /"(?:[^"\\]|\\.)*"/g;
const NO_JSON = /NaN|Infinity/;

/** What a text says, unescaped; any other value as it is written. */
const plain = (value: Uint8Array): Uint8Array => (value[0] === QUOTE ? unescaped(value) : value);

/** What a whole and checked JSON text says, in UTF-8. */
function unescaped(text: Uint8Array): Uint8Array {
  if (!text.includes(BACKSLASH)) return text.subarray(1, -1);
  const said: unknown = JSON.parse(decoder.decode(text));
  return encoder.encode(String(said));
}

/** Two words that hardly any other bytes have. */
function digestOf(bytes: Uint8Array): readonly [low: number, high: number] {
  let low = mixed(SEEDS[0], bytes.length);
  let high = mixed(SEEDS[1], bytes.length);
  for (const byte of bytes) {
    low = mixed(low, byte);
    high = mixed(high, byte);
  }
  return [low, high];
}

/** What came after each entry the last time another one did: rows that are sorted, or come in one order every day, repeat it. */
class Followers {
  /** The entry that came last, and the one that came after it; -1 for none. */
  last = -1;
  next = -1;
  /** By entry, the number of another plus one. */
  #after = new Int32Array(FIRST_ENTRIES);

  /** Another entry than the last came. */
  follow(entry: number): void {
    if (entry >= this.#after.length) this.#after = grown(this.#after);
    if (this.last >= 0) this.#after[this.last] = entry + 1;
    this.last = entry;
    this.next = (this.#after[entry] ?? 0) - 1;
  }

  clear(): void {
    this.last = -1;
    this.next = -1;
    this.#after.fill(0);
  }
}
