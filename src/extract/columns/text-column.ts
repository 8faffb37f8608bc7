/** Columns of repeating texts: each is read and checked once. Later ones cost a hash and a comparison, or less. */

import { isUtf8 } from 'node:buffer';

import { canonicalJson } from '../../model/canonical-json.ts';
import { CellColumn, widened } from './cell-column.ts';
import {
  BACKSLASH,
  BodyWindow,
  CLOSING_BRACE,
  isNull,
  jsonIn,
  NULL_BYTES,
  OPENING_BRACE,
  QUOTE,
  skipValue,
  STOPPED,
} from './json-tokens.ts';
import type { ColumnGroup, ParquetType } from './parquet-file.ts';
import { mixed } from './row-keys.ts';
import { endOfRun, FIRST_ENTRIES, hashOf, TextDictionary } from './text-dictionary.ts';

const encoder = new TextEncoder();

type Parse = (written: Uint8Array) => Uint8Array | null;

/** Holds one value at a time. */
const made = new BodyWindow();
const SEEDS = [0x2545f491, 0x5bd1e995] as const;

export abstract class DictionaryColumn extends CellColumn {
  protected readonly dictionary: TextDictionary;
  readonly #parse: Parse;
  readonly #opening: number;
  readonly #closing: number;
  /** By entry: two words that distinguish its value. */
  #digests = new Int32Array(FIRST_ENTRIES * 2);
  /** The last cell's entry, and the one that followed it before, as in sorted rows. -1 for none. */
  #last = -1;
  #expected = -1;
  /** By entry: the one that followed it, plus one. */
  #after = new Int32Array(FIRST_ENTRIES);

  protected constructor(name: string, type: ParquetType, parse: Parse) {
    super(name, type, 1);
    this.dictionary = new TextDictionary(!['VARCHAR', 'JSON'].includes(type.kind));
    this.#parse = parse;
    this.#opening = type.kind === 'JSON' ? OPENING_BRACE : QUOTE;
    this.#closing = type.kind === 'JSON' ? CLOSING_BRACE : QUOTE;
  }

  /** Returns the offset after a value that the column does not accept, or `STOPPED`. */
  protected abstract refuse(body: BodyWindow, at: number, end: number): number;

  read(body: BodyWindow, at: number, row: number): number {
    const { bytes, view } = body;
    if (bytes[at] !== this.#opening) return this.readOther(body, at, row);
    let end = this.#last < 0 ? STOPPED : this.dictionary.endOf(body, at, this.#last);
    if (end !== STOPPED) return this.#put(row, this.#last, end);
    end = this.#expected < 0 ? STOPPED : this.dictionary.endOf(body, at, this.#expected);
    if (end !== STOPPED) return this.#put(row, this.#expected, end);
    const stop = endOfRun(view, at + 1, this.#closing);
    if (bytes[stop] === this.#closing) {
      const entry = this.dictionary.find(body, at, stop + 1, hashOf(view, at, stop + 1));
      if (entry >= 0) return this.#put(row, entry, stop + 1);
    }
    return this.readNew(body, at, row);
  }

  protected readOther(body: BodyWindow, at: number, row: number): number {
    if (!isNull(body, at)) return this.readNew(body, at, row);
    this.nulls[row] = 1;
    return at + NULL_BYTES;
  }

  protected readNew(body: BodyWindow, at: number, row: number): number {
    const end = skipValue(body, at);
    if (end === STOPPED) return STOPPED;
    const entry = this.#entryOf(body, at, end);
    if (entry >= 0) return this.#put(row, entry, end);
    this.nulls[row] = 1;
    return this.refuse(body, at, end);
  }

  #entryOf(body: BodyWindow, at: number, end: number): number {
    const hash = hashOf(body.view, at, end);
    const existing = this.dictionary.find(body, at, end, hash);
    if (existing >= 0) return existing;
    const written = body.bytes.subarray(at, end);
    const value = isUtf8(written) ? this.#parse(written) : null;
    if (value === null) return -1;
    const entry = this.dictionary.add(written, hash, value);
    if (entry * 2 >= this.#digests.length)
      this.#digests = widened(this.#digests, this.#digests.length * 2);
    this.#digests.set(digestOf(value), entry * 2);
    return entry;
  }

  put(row: number, written: string): boolean {
    made.take(encoder.encode(written), made.end);
    const entry = this.#entryOf(made, 0, made.end);
    if (entry >= 0) this.#put(row, entry, 0);
    return entry >= 0;
  }

  #put(row: number, entry: number, end: number): number {
    this.cells[row] = entry;
    this.nulls[row] = 0;
    if (entry !== this.#last) this.#follow(entry);
    return end;
  }

  #follow(entry: number): void {
    if (entry >= this.#after.length) this.#after = widened(this.#after, this.#after.length * 2);
    if (this.#last >= 0) this.#after[this.#last] = entry + 1;
    this.#last = entry;
    this.#expected = (this.#after[entry] ?? 0) - 1;
  }

  mixInto(digests: Int32Array, rows: number): void {
    const [own, entries, nulls] = [this.#digests, this.cells, this.nulls];
    for (let row = 0; row < rows; row += 1) {
      const at = (entries[row] ?? 0) * 2;
      // A value with the digest of NULL only causes another check.
      const isNull = nulls[row] === 1;
      digests[row * 2] = mixed(digests[row * 2] ?? 0, isNull ? 0 : (own[at] ?? 0));
      digests[row * 2 + 1] = mixed(digests[row * 2 + 1] ?? 0, isNull ? 0 : (own[at + 1] ?? 0));
    }
  }

  override get textBytes(): number {
    return this.dictionary.textBytes;
  }

  override group(rows: number): ColumnGroup {
    return {
      ...super.group(rows),
      dictionary: { values: this.dictionary.plainValues, size: this.dictionary.size },
    };
  }

  override clear(): void {
    super.clear();
    this.dictionary.clear();
    this.#after.fill(0);
    this.#last = -1;
    this.#expected = -1;
  }
}

export class TextColumn extends DictionaryColumn {
  /** `JSON` stores canonical JSON, `VARCHAR` a text unescaped and anything else as written. */
  constructor(name: string, kind: 'JSON' | 'VARCHAR') {
    super(name, { kind }, kind === 'JSON' ? canonical : plain);
  }

  protected refuse(body: BodyWindow, at: number): number {
    return body.stop(at, `a value of ${this.name} that is not UTF-8, or not valid JSON`);
  }
}

function canonical(written: Uint8Array): Uint8Array | null {
  const object = jsonIn(written);
  return NO_JSON.test(object.replaceAll(STRING, '')) ? null : encoder.encode(canonicalJson(object));
}

const STRING = /"(?:[^"\\]|\\.)*"/g;
const NO_JSON = /NaN|Infinity/;

function plain(written: Uint8Array): Uint8Array {
  if (written[0] !== QUOTE) return written;
  if (!written.includes(BACKSLASH)) return written.subarray(1, -1);
  return encoder.encode(String(JSON.parse(jsonIn(written))));
}

function digestOf(bytes: Uint8Array) {
  let low = mixed(SEEDS[0], bytes.length);
  let high = mixed(SEEDS[1], bytes.length);
  for (const byte of bytes) {
    low = mixed(low, byte);
    high = mixed(high, byte);
  }
  return [low, high];
}
