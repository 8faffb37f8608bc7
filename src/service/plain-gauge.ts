/**
 * What has to be known of a document that flows by: its size, its ends, whether it goes on, whether long numbers or
 * halves of characters occur in it, and that no secret does.
 */

import { scrubStart, type Secret, SecretSearch } from '../config/secret.ts';
import { indiscreet, oversized } from './body-text.ts';
import { HalfSurrogates } from './half-surrogates.ts';

/** Enough to show what came instead of a document. */
const HEAD_BYTES = 1024;

/**
 * A bare number of 16 or more characters, hence every one with 16 or more significant digits, which a double may not
 * carry. Matches inside strings too: a false alarm costs a slower load, a miss costs digits.
 */
const LONG_NUMBER_LENGTH = 16;
const BACKSLASH = 0x5c;

/** 1 for the characters of a number, 2 for blanks, 4 for what a bare number can stand behind. */
const NUMBER = 1;
const BLANK = 2;
const OPENER = 4;
const kinds = new Uint8Array(256);
for (const character of Buffer.from('0123456789.eE+-')) kinds[character] = NUMBER;
for (const character of Buffer.from(' \t\r\n')) kinds[character] = BLANK;
for (const character of Buffer.from(':,[')) kinds[character] = OPENER;
/** A number begins with a digit, or with a sign before one. */
const isStart = (byte: number, next: number): boolean => isDigit(byte) || (byte === MINUS && isDigit(next));
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const MINUS = 0x2d;

/** UTF-8's byte order mark, which says nothing and may stand before any text. */
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export class PlainGauge {
  readonly #maxBytes: number;
  readonly #secrets: SecretSearch;
  readonly #halves = new HalfSurrogates();
  readonly #pages = new PaginationScan();
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #bytes = 0;
  #first: string | null = null;
  #last: string | null = null;
  #hasLongNumbers = false;
  /** The end of the last chunk, from what may stand before a number that it cut. */
  #carry: Buffer = Buffer.alloc(0);

  constructor(maxBytes: number, secrets: readonly Secret[]) {
    this.#maxBytes = maxBytes;
    this.#secrets = new SecretSearch(secrets);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the byte order mark that the document begins with; 0 for none. */
  get markBytes(): number {
    return Buffer.concat(this.#head).indexOf(MARK) === 0 ? MARK.length : 0;
  }

  /** Whether half of a surrogate pair is escaped. */
  get hasHalves(): boolean {
    return this.#halves.hasFound;
  }

  /** The first character that is neither blank nor a byte order mark; null for a blank document. */
  get first(): string | null {
    return this.#first;
  }

  /** The last character that is not blank; null for a blank document. */
  get last(): string | null {
    return this.#last;
  }

  get hasLongNumbers(): boolean {
    return this.#hasLongNumbers;
  }

  /** What the document says of further pages, parsed; null when it says nothing. */
  get pagination(): unknown {
    return this.#pages.found;
  }

  /** The beginning of the document. */
  get head(): string {
    const text = Buffer.concat(this.#head).toString('utf8');
    return this.#bytes > this.#headBytes ? scrubStart(text) : text;
  }

  /** Takes the next plain bytes; throws `SOURCE_OVERSIZED` beyond the cap, `DATA_MALFORMED` at the end of a secret. */
  see(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) throw oversized(this.#maxBytes);
    if (this.#secrets.finds(chunk)) throw indiscreet(this.#bytes);
    this.#pages.see(chunk);
    if (this.#headBytes < HEAD_BYTES) {
      // A copy: a slice would keep the whole chunk in memory.
      const part = Buffer.from(chunk.subarray(0, HEAD_BYTES - this.#headBytes));
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    // One character a byte: numbers and blanks are ASCII, and no part of another character looks like them.
    this.#first ??= /[^ \t\r\n\u00ef\u00bb\u00bf]/.exec(chunk.toString('latin1'))?.[0] ?? null;
    const end = skipBack(chunk, chunk.length, BLANK);
    if (end > 0) this.#last = String.fromCharCode(chunk[end - 1] ?? 0);
    if (this.#halves.isOpen || chunk.includes(BACKSLASH)) this.#halves.take(chunk.toString('latin1'));
    if (!this.#hasLongNumbers) this.#search(this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]));
  }

  #search(bytes: Buffer): void {
    this.#hasLongNumbers = hasLongNumber(bytes);
    this.#carry = this.#hasLongNumbers ? Buffer.alloc(0) : Buffer.from(unfinishedNumber(bytes));
  }
}

/** Looks at one byte in so many, as every run of that many bytes holds one of them. */
function hasLongNumber(bytes: Buffer): boolean {
  for (let at = LONG_NUMBER_LENGTH - 1; at < bytes.length; at += LONG_NUMBER_LENGTH) {
    if (kinds[bytes[at] ?? 0] !== NUMBER) continue;
    const start = skipBack(bytes, at, NUMBER);
    let end = at + 1;
    while (end < bytes.length && kinds[bytes[end] ?? 0] === NUMBER) end += 1;
    if (end - start >= LONG_NUMBER_LENGTH && isBareNumber(bytes, start)) return true;
    // The next byte to look at is the first that this run does not hold.
    at += Math.floor((end - at - 1) / LONG_NUMBER_LENGTH) * LONG_NUMBER_LENGTH;
  }
  return false;
}

function isBareNumber(bytes: Buffer, start: number): boolean {
  const before = skipBack(bytes, start, BLANK);
  return kinds[bytes[before - 1] ?? 0] === OPENER && isStart(bytes[start] ?? 0, bytes[start + 1] ?? 0);
}

/** The number that the end of the bytes may have cut, from the character before it on. */
function unfinishedNumber(bytes: Buffer): Buffer {
  const before = skipBack(bytes, skipBack(bytes, bytes.length, NUMBER), BLANK);
  return kinds[bytes[before - 1] ?? 0] === OPENER ? bytes.subarray(before - 1) : bytes.subarray(bytes.length);
}

/** The position after the last byte before `end` that is not of a kind; 0 when all are. */
function skipBack(bytes: Buffer, end: number, kind: number): number {
  let position = end;
  while (position > 0 && kinds[bytes[position - 1] ?? 0] === kind) position -= 1;
  return position;
}

/** Room for the totals and warnings of hundreds of metrics beside it. */
const END_BYTES = 256 * 1024;

/** Inside a text the quote before the name would be escaped. */
const MEMBER = /(?<!\\)"pagination"\s*:\s*/g;

class PaginationScan {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** A ring, made when the document has become longer than its head. */
  #tail: Buffer | null = null;
  #seen = 0;

  /** Takes the next plain bytes. */
  see(chunk: Buffer): void {
    if (this.#headBytes < END_BYTES) {
      // Copies: slices would keep the memory of whole chunks.
      const part = Buffer.from(chunk.subarray(0, END_BYTES - this.#headBytes));
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    if (this.#seen + chunk.length > END_BYTES) this.#keepTail(chunk);
    this.#seen += chunk.length;
  }

  #keepTail(chunk: Buffer): void {
    if (this.#tail === null) {
      this.#tail = Buffer.alloc(END_BYTES);
      // What came so far is all in the head.
      Buffer.concat(this.#head).subarray(0, this.#seen).copy(this.#tail);
    }
    const from = Math.max(0, chunk.length - END_BYTES);
    const at = (this.#seen + from) % END_BYTES;
    const copied = chunk.copy(this.#tail, at, from);
    chunk.copy(this.#tail, 0, from + copied);
  }

  /** What the document says of its pages, parsed; null when it says nothing. */
  get found(): unknown {
    const head = Buffer.concat(this.#head);
    if (this.#tail === null) return paginationIn(head) ?? null;
    const at = this.#seen % END_BYTES;
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
    return paginationIn(tail) ?? paginationIn(head) ?? null;
  }
}

function paginationIn(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  let found: unknown;
  for (const { 0: member, index } of text.matchAll(MEMBER)) {
    const value = text.slice(index + member.length, valueEnd(text, index + member.length));
    try {
      found = JSON.parse(value);
    } catch {
      // The member was cut by the end of what is kept, or is none.
    }
  }
  return found;
}

/** The position after the JSON value that begins at a position. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = textEnd(text, at);
    else if (character === '{' || character === '[') depth += 1;
    else if (depth === 0 && /[,}\]\s]/.test(character)) return at;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0 && /["}\]]/.test(text.charAt(at))) return at + 1;
  }
  return text.length;
}

/** The position of the quote that ends the text which begins at a position. */
function textEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text.charAt(at) === '\\') at += 1;
    else if (text.charAt(at) === '"') return at;
  }
  return text.length;
}
