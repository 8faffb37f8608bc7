/** The distinct texts of a column, and how they are found among bytes, four bytes at a time. */

import { widened } from './cell-column.ts';
import { BACKSLASH, BodyWindow, STOPPED } from './json-tokens.ts';

const EACH_BYTE = 0x01010101;
const EACH_TOP_BIT = 0x80808080;

/** Returns the next offset with this byte, a backslash or a control character. */
export function endOfRun(view: DataView, at: number, byte: number): number {
  const each = Math.imul(byte, EACH_BYTE);
  for (let next = at; ; next += 4) {
    const word = view.getInt32(next, true);
    const ending = word ^ each;
    const escape = word ^ Math.imul(BACKSLASH, EACH_BYTE);
    // The lowest remaining top bit marks the first byte that is zero in the first two terms, or below a space in the third.
    const marks =
      (((ending - EACH_BYTE) & ~ending) |
        ((escape - EACH_BYTE) & ~escape) |
        ((word - Math.imul(0x20, EACH_BYTE)) & ~word)) &
      EACH_TOP_BIT;
    if (marks !== 0) return next + ((31 - Math.clz32(marks & -marks)) >>> 3);
  }
}

export const FIRST_ENTRIES = 64;
const LENGTH_BYTES = 4;

/** A mask of one to three bytes of a little-endian word. */
const firstBytes = (count: number) => (1 << (count * 8)) - 1;

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

/** Texts are found by their bytes as they are in the body. Values follow one another in Parquet's plain encoding. */
export class TextDictionary {
  size = 0;
  readonly #texts = new BodyWindow();
  readonly #values = new BodyWindow();
  readonly #hasLengths: boolean;
  /** By hash: the number of an entry, plus one. */
  #slots = new Int32Array(FIRST_ENTRIES * 2);
  #hashes = new Int32Array(FIRST_ENTRIES);
  #starts = new Int32Array(FIRST_ENTRIES);
  #lengths = new Int32Array(FIRST_ENTRIES);

  /** Values of one size are stored without their lengths. */
  constructor(areOfOneSize: boolean) {
    this.#hasLengths = !areOfOneSize;
  }

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
    const texts = this.#texts.view;
    const shift = (this.#starts[entry] ?? 0) - from;
    let at = from;
    for (; at + 4 <= to; at += 4) {
      if (view.getInt32(at, true) !== texts.getInt32(at + shift, true)) return false;
    }
    if (at === to) return true;
    return (
      ((view.getInt32(at, true) ^ texts.getInt32(at + shift, true)) & firstBytes(to - at)) === 0
    );
  }

  /** Returns the offset after an entry. No JSON text is the beginning of another. */
  endOf(body: BodyWindow, from: number, entry: number): number {
    const to = from + (this.#lengths[entry] ?? 0);
    return to <= body.end && this.#isSame(body.view, from, to, entry) ? to : STOPPED;
  }

  add(text: Uint8Array, hash: number, value: Uint8Array): number {
    const entry = this.size;
    if (entry === this.#hashes.length) this.#grow();
    this.#hashes[entry] = hash;
    this.#starts[entry] = add(this.#texts, text);
    this.#lengths[entry] = text.length;
    if (this.#hasLengths) {
      const at = this.#values.extend(LENGTH_BYTES);
      this.#values.view.setUint32(at, value.length, true);
    }
    add(this.#values, value);
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
    this.#hashes = widened(this.#hashes, this.#hashes.length * 2);
    this.#starts = widened(this.#starts, this.#starts.length * 2);
    this.#lengths = widened(this.#lengths, this.#lengths.length * 2);
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let entry = 0; entry < this.size; entry += 1) this.#place(entry);
  }

  /** Valid until the next change. */
  get plainValues(): Uint8Array {
    return this.#values.bytes.subarray(0, this.#values.end);
  }

  get textBytes(): number {
    return this.#texts.end + this.#values.end;
  }

  clear(): void {
    this.size = 0;
    this.#texts.end = 0;
    this.#values.end = 0;
    this.#slots.fill(0);
  }
}

function add(to: BodyWindow, added: Uint8Array): number {
  const at = to.extend(added.length);
  to.bytes.set(added, at);
  return at;
}
