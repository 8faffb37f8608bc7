/** JSON as bytes: where its tokens end, in a window that more may come behind. */

import { isUtf8 } from 'node:buffer';

/** What readers return instead of an offset when they stop. */
export const STOPPED = -1;

/** Many answers are small, and what is thrown away after each is work for the collector. */
const FIRST_CAPACITY = 16 * 1024;
/** Readers look at most this far past the last byte. */
const PADDING = 16;

export class BodyWindow {
  bytes = new Uint8Array(FIRST_CAPACITY + PADDING);
  view = new DataView(this.bytes.buffer);
  /** Where the unread bytes end; a zero byte stands here. */
  end = 0;
  #stoppedAt = 0;
  #because = '';

  /** Drops what stands before `from` and puts a chunk behind the rest, which moves to the front. */
  take(chunk: Uint8Array, from: number): void {
    const rest = this.end - from;
    const needed = rest + chunk.length + PADDING;
    const old = this.bytes;
    if (needed > old.length) {
      this.bytes = new Uint8Array(Math.max(needed, old.length * 2));
      this.view = new DataView(this.bytes.buffer);
      this.bytes.set(old.subarray(from, this.end));
    } else {
      old.copyWithin(0, from, this.end);
    }
    this.bytes.set(chunk, rest);
    this.end = rest + chunk.length;
    this.bytes.fill(0, this.end, this.end + PADDING);
  }

  /** Notes where and why a reader stops. */
  stop(at: number, because: string): typeof STOPPED {
    this.#stoppedAt = at;
    this.#because = because;
    return STOPPED;
  }

  /** Why the last reader stopped; null when only the end of the window stopped it. */
  get because(): string | null {
    return this.#stoppedAt >= this.end ? null : this.#because;
  }

  /** Where it did. */
  get stoppedAt(): number {
    return this.#stoppedAt;
  }
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;
export const OPENING_BRACKET = 0x5b;
export const CLOSING_BRACKET = 0x5d;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const ZERO = 0x30;
const FIRST_PRINTABLE = 0x20;

const MAX_DEPTH = 512;

const encoder = new TextEncoder();
/** Services write `NaN` and `Infinity` where JSON has no word for them; where one belongs to no column it is refused later. */
const words = ['null', 'true', 'false', 'NaN', 'Infinity'].map((word) => encoder.encode(word));
const infinity = encoder.encode('Infinity');
const LETTER_I = 0x49;
const shortEscapes = new Set(encoder.encode('"\\/bfnrt'));
const LETTER_U = 0x75;

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= ZERO + 9;

/** The first offset from `at` on that is no blank between tokens. */
export function skipBlanks(bytes: Uint8Array, at: number): number {
  let next = at;
  for (;;) {
    const byte = bytes[next];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return next;
    next += 1;
  }
}

/** Behind one given token with blanks around it, or stopped. */
export function skipToken(body: BodyWindow, at: number, token: number): number {
  const next = skipBlanks(body.bytes, at);
  if (body.bytes[next] !== token) return body.stop(next, `no ${String.fromCharCode(token)} where one belongs`);
  return skipBlanks(body.bytes, next + 1);
}

/** Behind the text that begins with the quote at `at`. */
export function skipText(body: BodyWindow, at: number): number {
  const { bytes } = body;
  if (bytes[at] !== QUOTE) return body.stop(at, 'no text where one belongs');
  let next = at + 1;
  for (;;) {
    const byte = bytes[next] ?? 0;
    if (byte === QUOTE) return next + 1;
    if (byte < FIRST_PRINTABLE) return body.stop(next, 'a control character in a text');
    next = byte === BACKSLASH ? skipEscape(body, next) : next + 1;
    if (next === STOPPED) return STOPPED;
  }
}

function skipEscape(body: BodyWindow, at: number): number {
  const kind = body.bytes[at + 1] ?? 0;
  if (kind !== LETTER_U) return shortEscapes.has(kind) ? at + 2 : body.stop(at + 1, 'an unknown escape');
  const unit = codeUnit(body, at);
  if (unit === STOPPED) return STOPPED;
  if (unit >= 0xdc00 && unit <= 0xdfff) return body.stop(at, 'a lone surrogate');
  if (unit < 0xd800 || unit > 0xdbff) return at + 6;
  const low = codeUnit(body, at + 6);
  if (low === STOPPED) return STOPPED;
  return low >= 0xdc00 && low <= 0xdfff ? at + 12 : body.stop(at, 'a lone surrogate');
}

/** The code unit of an escape `\uXXXX`. */
function codeUnit(body: BodyWindow, at: number): number {
  const { bytes } = body;
  if (bytes[at] !== BACKSLASH) return body.stop(at, 'a lone surrogate');
  if (bytes[at + 1] !== LETTER_U) return body.stop(at + 1, 'a lone surrogate');
  let unit = 0;
  for (let index = at + 2; index < at + 6; index += 1) {
    const digit = Number.parseInt(String.fromCharCode(bytes[index] ?? 0), 16);
    if (Number.isNaN(digit)) return body.stop(index, 'an unfinished escape');
    unit = unit * 16 + digit;
  }
  return unit;
}

/** Behind the value at `at`. A bare number that ends with the window is taken for whole; what follows it decides. */
export function skipValue(body: BodyWindow, at: number, depth = 0): number {
  const byte = body.bytes[at] ?? 0;
  if (byte === QUOTE) return skipText(body, at);
  if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
    if (depth === MAX_DEPTH) return body.stop(at, `nesting deeper than ${MAX_DEPTH}`);
    return skipNested(body, at, depth);
  }
  if (byte === MINUS && body.bytes[at + 1] === LETTER_I) return skipWord(body, at + 1, infinity);
  if (byte === MINUS || isDigit(byte)) return skipNumber(body, at);
  const word = words.find(([first]) => first === byte);
  return word === undefined ? body.stop(at, 'no value where one belongs') : skipWord(body, at, word);
}

/** Behind a keyword. */
function skipWord(body: BodyWindow, at: number, word: Uint8Array): number {
  for (let index = 0; index < word.length; index += 1) {
    if (body.bytes[at + index] !== word[index]) return body.stop(at + index, 'an unknown word');
  }
  return at + word.length;
}

/** Behind the word `null`. */
export const skipNull = (body: BodyWindow, at: number): number =>
  skipWord(body, at, words[0] ?? encoder.encode('null'));

function skipNumber(body: BodyWindow, at: number): number {
  const { bytes } = body;
  const digits = (from: number): number => {
    let next = from;
    while (isDigit(bytes[next] ?? 0)) next += 1;
    return next;
  };
  const first = bytes[at] === MINUS ? at + 1 : at;
  let next = digits(first);
  if (next === first || (bytes[first] === ZERO && next > first + 1)) return body.stop(next, 'not a number of JSON');
  if (bytes[next] === POINT) {
    const fraction = next + 1;
    next = digits(fraction);
    if (next === fraction) return body.stop(next, 'not a number of JSON');
  }
  if (bytes[next] === 0x65 || bytes[next] === 0x45) {
    const sign = bytes[next + 1];
    const exponent = next + (sign === 0x2b || sign === MINUS ? 2 : 1);
    next = digits(exponent);
    if (next === exponent) return body.stop(next, 'an exponent without digits');
  }
  return next;
}

/** Behind the object or the array at `at`. */
function skipNested(body: BodyWindow, at: number, depth: number): number {
  const isObject = body.bytes[at] === OPENING_BRACE;
  const closing = isObject ? CLOSING_BRACE : CLOSING_BRACKET;
  let next = skipBlanks(body.bytes, at + 1);
  if (body.bytes[next] === closing) return next + 1;
  for (;;) {
    if (isObject) {
      next = skipText(body, next);
      if (next === STOPPED) return STOPPED;
      next = skipToken(body, next, COLON);
      if (next === STOPPED) return STOPPED;
    }
    next = skipValue(body, next, depth + 1);
    if (next === STOPPED) return STOPPED;
    next = skipBlanks(body.bytes, next);
    if (body.bytes[next] === closing) return next + 1;
    next = skipToken(body, next, COMMA);
    if (next === STOPPED) return STOPPED;
  }
}

/**
 * Behind the object at `at`. `take` reads each value, by its key and where it begins, and returns the offset behind it, or stopped.
 */
export function readMembers(body: BodyWindow, at: number, take: (name: string, value: number) => number): number {
  const { bytes } = body;
  let next = skipToken(body, at, OPENING_BRACE);
  if (next === STOPPED) return STOPPED;
  while (bytes[next] !== CLOSING_BRACE) {
    const end = skipText(body, next);
    if (end === STOPPED) return STOPPED;
    const written = textIn(body, next, end);
    if (written === null) return body.stop(next, 'a key that is not UTF-8');
    const value = skipToken(body, end, COLON);
    if (value === STOPPED) return STOPPED;
    const behind = take(String(JSON.parse(written)), value);
    if (behind === STOPPED) return STOPPED;
    next = skipBlanks(bytes, behind);
    if (bytes[next] === CLOSING_BRACE) break;
    next = skipToken(body, next, COMMA);
    if (next === STOPPED) return STOPPED;
    if (bytes[next] === CLOSING_BRACE) return body.stop(next, 'a comma without a key behind it');
  }
  return next + 1;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The value at `at`: as it is written, and what it says, a text unescaped; null where the reader stops. */
export function wholeValue(
  body: BodyWindow,
  at: number,
): { readonly end: number; readonly written: string; readonly said: string } | null {
  const end = skipValue(body, at);
  const isWhole = end !== STOPPED && end < body.end;
  const written = isWhole ? textIn(body, at, end) : null;
  if (written !== null) return { end, written, said: body.bytes[at] === QUOTE ? String(JSON.parse(written)) : written };
  // A bare number at the end of what has arrived may go on.
  if (end !== STOPPED) body.stop(isWhole ? at : end, 'a text that is not UTF-8');
  return null;
}

/** The bytes in `[from, to)` as text; null where they are not UTF-8. */
export function textIn({ bytes }: BodyWindow, from: number, to: number): string | null {
  const text = bytes.subarray(from, to);
  return isUtf8(text) ? decoder.decode(text) : null;
}
