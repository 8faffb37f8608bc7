/**
 * Text dimensions, and the JSON objects that stand beside them: each distinct text is unescaped and checked once; every later
 * one costs a hash and a comparison, or only the comparison where it follows the same text as before.
 */

import { isUtf8 } from 'node:buffer';

import { canonicalJson } from '../../model/canonical-json.ts';
import {
  BACKSLASH,
  type BodyWindow,
  CLOSING_BRACE,
  OPENING_BRACE,
  QUOTE,
  skipNull,
  skipText,
  skipValue,
  STOPPED,
} from './report-reader.ts';
import { type ColumnGroup, type ParquetType, widened, widenedFlags } from './parquet-file.ts';
import { type KeyColumn, type KeyDigests, mixed, SEEDS } from './row-keys.ts';

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

export class TextColumn implements KeyColumn {
  readonly name: string;
  readonly type: ParquetType;
  readonly #opening: number;
  readonly #closing: number;
  readonly #isText: boolean;
  readonly #dictionary = new TextDictionary();
  /** By entry, two words that tell what it says from what others say. */
  #digests = new Int32Array(FIRST_ENTRIES * 2);
  readonly #followers = new Followers();
  #entries = new Int32Array(0);
  #nulls = new Uint8Array(0);

  /** `text` unescapes and takes null for NULL; `object` keeps what an object says, as canonical JSON. */
  constructor(name: string, holds: 'text' | 'object') {
    this.name = name;
    this.#isText = holds === 'text';
    this.type = { kind: this.#isText ? 'VARCHAR' : 'JSON' };
    this.#opening = this.#isText ? QUOTE : OPENING_BRACE;
    this.#closing = this.#isText ? QUOTE : CLOSING_BRACE;
  }

  read(body: BodyWindow, at: number, row: number): number {
    const { bytes, view } = body;
    const { last, next } = this.#followers;
    let end = last < 0 ? STOPPED : this.#dictionary.endOf(body, at, last);
    if (end !== STOPPED) return this.#put(row, last, end);
    end = next < 0 ? STOPPED : this.#dictionary.endOf(body, at, next);
    if (end !== STOPPED) return this.#put(row, next, end);
    if (bytes[at] !== this.#opening) return this.#readNull(body, at, row);
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
    const end = this.#isText ? skipText(body, at) : skipValue(body, at);
    if (end === STOPPED) return STOPPED;
    const hash = hashOf(body.view, at, end);
    let entry = this.#dictionary.find(body, at, end, hash);
    if (entry < 0) {
      const text = body.bytes.subarray(at, end);
      if (!isUtf8(text)) return body.stop(at, 'a text that is not UTF-8');
      const said = this.#isText ? unescaped(text) : canonical(decoder.decode(text));
      if (said === null) return body.stop(at, `a number with a fraction or exponent in ${this.name}`);
      entry = this.#dictionary.add(text, hash, said);
      this.#digest(entry, said);
    }
    return this.#put(row, entry, end);
  }

  #put(row: number, entry: number, end: number): number {
    this.#entries[row] = entry;
    this.#nulls[row] = 0;
    if (entry !== this.#followers.last) this.#followers.follow(entry);
    return end;
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
    this.#followers.clear();
    this.#nulls.fill(1);
  }
}

/** What an object's whole and checked JSON text says; null where the engine may round a number. */
function canonical(object: string): Uint8Array | null {
  return FRACTION.test(object.replaceAll(STRING, '')) ? null : encoder.encode(canonicalJson(object));
}

const STRING = /"(?:[^"\\]|\\.)*"/g;
const FRACTION = /\d[.eE]/;

/** What a whole and checked JSON text says, in UTF-8. */
function unescaped(text: Uint8Array): Uint8Array {
  if (!text.includes(BACKSLASH)) return text.subarray(1, -1);
  const said: unknown = JSON.parse(decoder.decode(text));
  return encoder.encode(String(said));
}

const FIRST_ENTRIES = 64;
const FIRST_BYTES = 4096;
/** Comparisons look four bytes at a time. */
const PADDING = 8;
const LENGTH_BYTES = 4;

/** Bytes that are only added to. */
class Heap {
  bytes = new Uint8Array(FIRST_BYTES);
  view = new DataView(this.bytes.buffer);
  length = 0;

  /** Adds bytes; where they begin. */
  add(added: Uint8Array): number {
    const at = this.#extend(added.length);
    this.bytes.set(added, at);
    return at;
  }

  /** Adds a number of four bytes, the lowest first. */
  addNumber(added: number): void {
    const at = this.#extend(LENGTH_BYTES);
    this.view.setUint32(at, added, true);
  }

  #extend(bytes: number): number {
    const at = this.length;
    const needed = at + bytes + PADDING;
    if (needed > this.bytes.length) {
      const old = this.bytes;
      this.bytes = new Uint8Array(Math.max(needed, old.length * 2));
      this.view = new DataView(this.bytes.buffer);
      this.bytes.set(old);
    }
    this.length = at + bytes;
    return at;
  }
}

const grown = (old: Int32Array): Int32Array<ArrayBuffer> => {
  const larger = new Int32Array(old.length * 2);
  larger.set(old);
  return larger;
};

/** The bits of a little-endian word that belong to its first `count` bytes, one to three. */
const firstBytes = (count: number): number => (1 << (count * 8)) - 1;

/** A hash of the bytes in `[from, to)`. */
export function hashOf(view: DataView, from: number, to: number): number {
  let hash = to - from;
  let at = from;
  for (; at + 4 <= to; at += 4) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  if (at < to) {
    hash = Math.imul(hash ^ (view.getInt32(at, true) & firstBytes(to - at)), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
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

/**
 * The distinct texts of a column, known again by their bytes as they stand in the body.
 *
 * Whatever is dear about a text, unescaping, checking UTF-8, parsing a date, happens once per distinct text. Values lie one
 * behind the other as Parquet's plain encoding wants them.
 */
export class TextDictionary {
  /** How many distinct texts there are. */
  size = 0;
  readonly #texts = new Heap();
  readonly #values = new Heap();
  /** Slot by hash: the number of an entry, plus one. */
  #slots = new Int32Array(FIRST_ENTRIES * 2);
  #hashes = new Int32Array(FIRST_ENTRIES);
  #starts = new Int32Array(FIRST_ENTRIES);
  #lengths = new Int32Array(FIRST_ENTRIES);

  /** The number of the entry with the bytes in `[from, to)`, whose hash is given; -1 when there is none. */
  find(body: BodyWindow, from: number, to: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = (slots[slot] ?? 0) - 1;
      if (entry < 0) return -1;
      if (this.#hashes[entry] === hash && this.#isSame(body.view, from, to, entry)) return entry;
    }
  }

  #isSame(view: DataView, from: number, to: number, entry: number): boolean {
    if (this.#lengths[entry] !== to - from) return false;
    const known = this.#texts.view;
    const shift = (this.#starts[entry] ?? 0) - from;
    let at = from;
    for (; at + 4 <= to; at += 4) {
      if (view.getInt32(at, true) !== known.getInt32(at + shift, true)) return false;
    }
    if (at === to) return true;
    return ((view.getInt32(at, true) ^ known.getInt32(at + shift, true)) & firstBytes(to - at)) === 0;
  }

  /** Behind the entry where it stands at `from`, stopped where it does not: no JSON text is the beginning of another. */
  endOf(body: BodyWindow, from: number, entry: number): number {
    const to = from + (this.#lengths[entry] ?? 0);
    return to <= body.end && this.#isSame(body.view, from, to, entry) ? to : STOPPED;
  }

  /** Adds an entry that `find` did not find, with the value it stands for; its number. */
  add(text: Uint8Array, hash: number, value: Uint8Array): number {
    const entry = this.size;
    if (entry === this.#hashes.length) this.#grow();
    this.#hashes[entry] = hash;
    this.#starts[entry] = this.#texts.add(text);
    this.#lengths[entry] = text.length;
    this.#values.addNumber(value.length);
    this.#values.add(value);
    this.size += 1;
    this.#place(entry);
    return entry;
  }

  #place(entry: number): void {
    const mask = this.#slots.length - 1;
    let slot = (this.#hashes[entry] ?? 0) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = entry + 1;
  }

  #grow(): void {
    this.#hashes = grown(this.#hashes);
    this.#starts = grown(this.#starts);
    this.#lengths = grown(this.#lengths);
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let entry = 0; entry < this.size; entry += 1) this.#place(entry);
  }

  /** The values in the order of their numbers, each behind its length in four bytes. Valid until the next change. */
  get plainValues(): Uint8Array {
    return this.#values.bytes.subarray(0, this.#values.length);
  }

  /** Bytes held for texts and values. */
  get heldBytes(): number {
    return this.#texts.length + this.#values.length;
  }

  /** Forgets every text and keeps the memory. */
  clear(): void {
    this.size = 0;
    this.#texts.length = 0;
    this.#values.length = 0;
    this.#slots.fill(0);
  }
}
