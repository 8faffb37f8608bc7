/**
 * What has to be known of a document that flows by: its size, its ends, whether it goes on, whether halves of characters
 * occur in it, and that no secret does.
 */

import { scrubStart, type Secret, SecretSearch } from '../config/secret.ts';
import { indiscreet, oversized } from './body-text.ts';
import { HalfSurrogates } from './half-surrogates.ts';

/** Enough to show what came instead of a document. */
const HEAD_BYTES = 1024;

const BACKSLASH = 0x5c;
const BLANKS = new Set(Buffer.from(' \t\r\n'));

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
    // One character a byte: blanks are ASCII, and no part of another character looks like them.
    this.#first ??= /[^ \t\r\n\u00ef\u00bb\u00bf]/.exec(chunk.toString('latin1'))?.[0] ?? null;
    const end = endOf(chunk);
    if (end > 0) this.#last = String.fromCharCode(chunk[end - 1] ?? 0);
    if (this.#halves.isOpen || chunk.includes(BACKSLASH)) this.#halves.take(chunk.toString('latin1'));
  }
}

/** The position after the last byte that is not blank; 0 when all are. */
function endOf(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0 && BLANKS.has(bytes[end - 1] ?? 0)) end -= 1;
  return end;
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
