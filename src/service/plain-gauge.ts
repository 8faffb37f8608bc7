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
const LONG_NUMBER = /[:,[]\s*-?\d[\d.eE+-]{15,}/;
const NUMBER_CHARACTERS = '0123456789.eE+-';
const BLANKS = ' \t\r\n';
const NUMBER_STARTS = ':,[';

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
  /** The beginning of a number that the last chunk may have cut. */
  #carry = '';

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
    const text = chunk.toString('latin1');
    this.#first ??= /[^ \t\r\n\u00ef\u00bb\u00bf]/.exec(text)?.[0] ?? null;
    this.#last = lastNonBlank(text) ?? this.#last;
    this.#halves.take(text);
    if (!this.#hasLongNumbers) this.#search(this.#carry + text);
  }

  #search(text: string): void {
    this.#hasLongNumbers = LONG_NUMBER.test(text);
    this.#carry = this.#hasLongNumbers ? '' : unfinishedNumber(text);
  }
}

function lastNonBlank(text: string): string | null {
  const end = skipBack(text, text.length, BLANKS);
  return end === 0 ? null : text.charAt(end - 1);
}

/** The number that the end of the text may have cut, with the character before it and without blanks between. */
function unfinishedNumber(text: string): string {
  const start = skipBack(text, text.length, NUMBER_CHARACTERS);
  const before = skipBack(text, start, BLANKS);
  const opener = before === 0 ? '' : text.charAt(before - 1);
  return opener !== '' && NUMBER_STARTS.includes(opener) ? opener + text.slice(start) : '';
}

/** The position after the last character before `end` that is not one of `characters`; 0 when all are. */
function skipBack(text: string, end: number, characters: string): number {
  let position = end;
  while (position > 0 && characters.includes(text.charAt(position - 1))) position -= 1;
  return position;
}

/** Room for the totals and warnings of hundreds of metrics beside it. */
const END_BYTES = 256 * 1024;

/** Inside a text the quote before the name would be escaped. */
const MEMBER = /(?<!\\)"pagination"\s*:\s*/g;

class PaginationScan {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;

  /** Takes the next plain bytes. */
  see(chunk: Buffer): void {
    if (this.#headBytes < END_BYTES) {
      // Copies: slices would keep the memory of whole chunks.
      this.#head.push(Buffer.from(chunk.subarray(0, END_BYTES - this.#headBytes)));
      this.#headBytes += chunk.length;
    }
    this.#tail.push(Buffer.from(chunk.subarray(Math.max(0, chunk.length - END_BYTES))));
    this.#tailBytes += chunk.length;
    while (this.#tail.length > 1 && this.#tailBytes - (this.#tail[0]?.length ?? 0) >= END_BYTES) {
      this.#tailBytes -= this.#tail.shift()?.length ?? 0;
    }
  }

  /** What the document says of its pages, parsed; null when it says nothing. */
  get found(): unknown {
    return paginationIn(Buffer.concat(this.#tail)) ?? paginationIn(Buffer.concat(this.#head)) ?? null;
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
