/** Finds where JSON tokens end, in a window of bytes that may receive more. */

import { isUtf8 } from 'node:buffer';

/** Returned by readers instead of an offset if they stop. */
export const STOPPED = -1;

/** Small, as many answers are. */
const FIRST_CAPACITY = 16 * 1024;
/** Readers look at most this far past the last byte. */
const PADDING = 16;

export class BodyWindow {
  bytes = new Uint8Array(FIRST_CAPACITY + PADDING);
  view = new DataView(this.bytes.buffer);
  /** The offset after the last byte, where a zero byte follows. */
  end = 0;
  #stoppedAt = 0;
  #because = '';

  take(chunk: Uint8Array, from: number): void {
    const at = this.extend(chunk.length, from);
    this.bytes.set(chunk, at);
    this.bytes.fill(0, this.end, this.end + PADDING);
  }

  /** Drops the bytes before `from` and makes room after the rest. Returns where it begins. */
  extend(bytes: number, from = 0): number {
    const rest = this.end - from;
    const needed = rest + bytes + PADDING;
    const old = this.bytes;
    if (needed > old.length) {
      this.bytes = new Uint8Array(Math.max(needed, old.length * 2));
      this.view = new DataView(this.bytes.buffer);
      this.bytes.set(old.subarray(from, this.end));
    } else if (from > 0) {
      old.copyWithin(0, from, this.end);
    }
    this.end = rest + bytes;
    return rest;
  }

  stop(at: number, because: string): typeof STOPPED {
    this.#stoppedAt = at;
    this.#because = because;
    return STOPPED;
  }

  /** Why the last reader stopped, unless it only reached the end of the window. */
  get because(): string | null {
    return this.#stoppedAt >= this.end ? null : this.#because;
  }

  get stoppedAt(): number {
    return this.#stoppedAt;
  }
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
const COLON = 0x3a;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;
export const OPENING_BRACKET = 0x5b;
export const CLOSING_BRACKET = 0x5d;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const ZERO = 0x30;
const FIRST_PRINTABLE = 0x20;

const MAX_DEPTH = 512;

/** `null` as a little-endian word. */
const NULL_WORD = 0x6c6c756e;
export const NULL_BYTES = 4;

const ESCAPE = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/;
const MAX_ESCAPE = 6;

/** Services write `NaN` and `Infinity`, which JSON does not have. */
const BARE = /^(?:null|true|false|NaN|-?(?:Infinity|(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?))$/;
const isOfBare = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[-+.\dA-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

export const isNull = ({ view }: BodyWindow, at: number): boolean =>
  view.getInt32(at, true) === NULL_WORD;

export function skipBlanks(bytes: Uint8Array, at: number): number {
  let next = at;
  for (;;) {
    const byte = bytes[next];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return next;
    next += 1;
  }
}

export function skipToken(body: BodyWindow, at: number, token: number): number {
  const next = skipBlanks(body.bytes, at);
  if (body.bytes[next] !== token)
    return body.stop(next, `no ${String.fromCharCode(token)} where one belongs`);
  return skipBlanks(body.bytes, next + 1);
}

function skipText(body: BodyWindow, at: number): number {
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
  const longest = at + MAX_ESCAPE;
  const escape = ESCAPE.exec(String.fromCharCode(...body.bytes.subarray(at, longest)));
  if (escape !== null) return at + escape[0].length;
  return body.stop(longest > body.end ? body.end : at, 'an unknown escape');
}

export function skipValue(body: BodyWindow, at: number, depth = 0): number {
  const byte = body.bytes[at];
  if (byte === QUOTE) return skipText(body, at);
  if (byte !== OPENING_BRACE && byte !== OPENING_BRACKET) return skipBare(body, at);
  if (depth === MAX_DEPTH) return body.stop(at, `nesting deeper than ${MAX_DEPTH}`);
  const skip = (value: number) => skipValue(body, value, depth + 1);
  if (byte === OPENING_BRACKET) return skipList(body, at, CLOSING_BRACKET, skip);
  return readMembers(body, at, (_, value) => skip(value));
}

function skipBare(body: BodyWindow, at: number): number {
  let next = at;
  while (isOfBare[body.bytes[next] ?? 0] === 1) next += 1;
  if (next === body.end) return body.stop(next, '');
  return BARE.test(decoder.decode(body.bytes.subarray(at, next)))
    ? next
    : body.stop(at, 'no value of JSON');
}

function skipList(body: BodyWindow, at: number, closing: number, read: (at: number) => number) {
  const { bytes } = body;
  let next = skipBlanks(bytes, at + 1);
  if (bytes[next] === closing) return next + 1;
  for (;;) {
    next = read(next);
    if (next === STOPPED) return STOPPED;
    next = skipBlanks(bytes, next);
    if (bytes[next] === closing) return next + 1;
    next = skipToken(body, next, COMMA);
    if (next === STOPPED) return STOPPED;
  }
}

/** `take` returns the offset after a member's value, or `STOPPED`. */
export function readMembers(
  body: BodyWindow,
  at: number,
  take: (name: string, value: number) => number,
): number {
  if (body.bytes[at] !== OPENING_BRACE) return body.stop(at, 'no object where one belongs');
  return skipList(body, at, CLOSING_BRACE, (key) => readMember(body, key, take));
}

export function readMember(
  body: BodyWindow,
  at: number,
  take: (name: string, value: number) => number,
): number {
  const end = skipText(body, at);
  if (end === STOPPED) return STOPPED;
  const value = skipToken(body, end, COLON);
  if (value === STOPPED) return STOPPED;
  const written = textIn(body, at, end);
  return written === null ? STOPPED : take(String(JSON.parse(written)), value);
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns a value as a text, without quotes and escapes. */
export function wholeValue(body: BodyWindow, at: number) {
  const end = skipValue(body, at);
  const written = end === STOPPED ? null : textIn(body, at, end);
  if (written === null) return null;
  return { end, unquoted: written.startsWith('"') ? String(JSON.parse(written)) : written };
}

/** The reader stops at what is not UTF-8. */
export function textIn(body: BodyWindow, from: number, to: number): string | null {
  const text = body.bytes.subarray(from, to);
  if (isUtf8(text)) return jsonIn(text);
  body.stop(from, 'a text that is not UTF-8');
  return null;
}

/** U+FFFD replaces half a surrogate pair, which DuckDB refuses. */
export function jsonIn(utf8: Uint8Array): string {
  const json = decoder.decode(utf8);
  if (!json.includes(String.raw`\u`)) return json;
  return json.replaceAll(ESCAPES, (escape) =>
    HALF_SURROGATE.test(escape) ? String.raw`\ufffd` : escape,
  );
}

/** Any escape. The two halves of a surrogate pair count as one. */
const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|.)/g;
const HALF_SURROGATE = /^\\u[dD][89a-fA-F]..$/;
