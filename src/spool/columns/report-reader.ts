/**
 * A report document in strict JSON, from its first byte to its last: one object, with `rows` in it once.
 *
 * Bodies come in pieces of any size. Each step reads one member or one row, or stops at the end of what has come and
 * starts over when there is more. Readers do not ask where the part that came ends: a zero byte stands behind the last one,
 * which JSON has nowhere, so every reader stops there by itself. A stop at that byte means that more is to come; any other is
 * a document that is not taken.
 *
 * Looser than the standard where services are: `NaN` and `Infinity` are values. Whether the bytes are UTF-8 is asked elsewhere,
 * once per distinct text.
 */

import { besideRows } from '../beside-rows.ts';
import {
  BodyWindow,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  skipBlanks,
  skipText,
  skipToken,
  skipValue,
  STOPPED,
  textIn,
} from './json-tokens.ts';

const telling: ReadonlySet<string> = new Set(besideRows);

/** A row or a member longer than this is not taken; it bounds the memory. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;
/** What is longer is looked at anew only when twice as much of it has come: the time would grow with its square. */
const LONG_STEP_BYTES = 1024 * 1024;

const LETTER_N = 0x6e;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Behind what has come of a byte order mark. */
function skipMark({ bytes }: BodyWindow, at: number): number {
  const other = BYTE_ORDER_MARK.findIndex((byte, index) => bytes[at + index] !== byte);
  return at + (other === -1 ? BYTE_ORDER_MARK.length : other);
}

/** Takes rows one after the other. */
export interface RowSink {
  /** The row at `at`: the offset behind it, or stopped. */
  takeRow(body: BodyWindow, at: number): number;
}

type Place = 'before' | 'at a member' | 'at the first row' | 'at a row' | 'behind a row' | 'behind a member' | 'after';

export class ReportReader {
  readonly #sink: RowSink;
  readonly #body = new BodyWindow();
  readonly #members = new Map<string, string>();
  readonly #names = new Set<string>();
  #place: Place = 'before';
  #at = 0;
  #bytes = 0;
  #rows = 0;
  #hasRows = false;
  /** Bytes that have to have come before the next step. */
  #enough = 0;

  constructor(sink: RowSink) {
    this.#sink = sink;
  }

  /** Takes the next piece of the body; why it is given up, or null. */
  take(chunk: Uint8Array): string | null {
    this.#bytes += chunk.length;
    this.#body.take(chunk, this.#at);
    this.#at = 0;
    if (this.#body.end < this.#enough) return null;
    return this.#read();
  }

  #read(): string | null {
    for (;;) {
      const next = this.#step(this.#at);
      if (next === STOPPED) break;
      this.#at = next;
    }
    const { because, end, stoppedAt } = this.#body;
    if (because !== null) return `${because}, at byte ${this.#bytes - end + stoppedAt}`;
    const rest = end - this.#at;
    this.#enough = rest > LONG_STEP_BYTES ? 2 * rest : 0;
    return rest > MAX_STEP_BYTES ? `one row or member of more than ${MAX_STEP_BYTES} bytes` : null;
  }

  /** What stood beside the rows, with why the document is not one whole report where it ended too early or had no rows. */
  end(): { readonly rows: number; readonly members: ReadonlyMap<string, string>; readonly because: string | null } {
    const because = this.#enough > 0 ? this.#read() : null;
    return { rows: this.#rows, members: this.#members, because: because ?? this.#lacks() };
  }

  #lacks(): string | null {
    if (this.#place === 'before') return 'it was empty';
    if (this.#place !== 'after') return `it ended too early, after ${this.#bytes} bytes`;
    return this.#hasRows ? null : 'it held no rows';
  }

  #step(from: number): number {
    const body = this.#body;
    const at = skipBlanks(body.bytes, from);
    switch (this.#place) {
      case 'before':
        return this.#goTo('at a member', skipToken(body, skipMark(body, at), OPENING_BRACE));
      case 'at a member':
        return this.#readMember(at);
      case 'at the first row': {
        const isEmpty = body.bytes[at] === CLOSING_BRACKET;
        return isEmpty ? this.#goTo('behind a member', at + 1) : this.#readRows(at);
      }
      case 'at a row':
        return this.#readRows(at);
      case 'behind a row':
        return this.#behind(at, CLOSING_BRACKET, 'at a row', 'behind a member');
      case 'behind a member':
        return this.#behind(at, CLOSING_BRACE, 'at a member', 'after');
      case 'after':
    }
    return at === from ? body.stop(at, 'it held something behind the document') : at;
  }

  #goTo(place: Place, next: number): number {
    if (next !== STOPPED) this.#place = place;
    return next;
  }

  /** Behind a comma or the closing token of a list. */
  #behind(at: number, closing: number, another: Place, after: Place): number {
    if (this.#body.bytes[at] === closing) return this.#goTo(after, at + 1);
    return this.#goTo(another, skipToken(this.#body, at, COMMA));
  }

  /** Whole rows, as many as have come. */
  #readRows(at: number): number {
    const body = this.#body;
    let next = at;
    for (;;) {
      const end = this.#sink.takeRow(body, next);
      if (end === STOPPED) return next === at ? STOPPED : this.#goTo('at a row', next);
      this.#rows += 1;
      if (body.bytes[end] !== COMMA) return this.#goTo('behind a row', end);
      next = skipBlanks(body.bytes, end + 1);
    }
  }

  #readMember(at: number): number {
    const body = this.#body;
    const nameEnd = skipText(body, at);
    if (nameEnd === STOPPED) return STOPPED;
    const start = skipToken(body, nameEnd, COLON);
    if (start === STOPPED) return STOPPED;
    const text = textIn(body, at, nameEnd);
    if (text === null) return body.stop(at, 'a member that is not UTF-8');
    const name = String(JSON.parse(text));
    if (this.#names.has(name)) return body.stop(at, `it stated ${JSON.stringify(name)} twice`);
    if (name === 'rows' && body.bytes[start] !== LETTER_N) {
      const next = skipToken(body, start, OPENING_BRACKET);
      if (next === STOPPED) return STOPPED;
      this.#names.add(name);
      this.#hasRows = true;
      return this.#goTo('at the first row', next);
    }
    const end = skipValue(body, start);
    if (end === STOPPED) return STOPPED;
    // A bare number at the end of what has arrived may go on.
    if (end === body.end) return body.stop(end, '');
    const value = textIn(body, start, end);
    if (value === null) return body.stop(start, 'a member that is not UTF-8');
    this.#names.add(name);
    if (telling.has(name)) this.#members.set(name, value);
    return this.#goTo('behind a member', end);
  }
}
