/**
 * A report document in strict JSON, from its first byte to its last: one object, with `rows` in it once.
 *
 * Bodies come in pieces of any size. Each step reads one member or one row, or stops at the end of what has arrived and is
 * repeated when there is more. Readers do not check where the window ends: a zero byte stands behind its last one,
 * which JSON has nowhere, so every reader stops there by itself. A stop at that byte means that more is to come; any other is
 * a document that is not taken.
 *
 * Looser than the standard where services are: `NaN` and `Infinity` are values. Whether a text is UTF-8 is checked
 * once, when it is first read.
 */

import { besideRows } from '../beside-rows.ts';
import {
  BodyWindow,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  readMember,
  skipBlanks,
  skipToken,
  skipValue,
  STOPPED,
  textIn,
} from './json-tokens.ts';

const telling: ReadonlySet<string> = new Set(besideRows);

/** A row or a member longer than this is not taken; it bounds the memory. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;
/** What is longer is read again only when twice as much of it has arrived: the time would grow with its square. */
const LONG_STEP_BYTES = 1024 * 1024;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Behind what has arrived of a byte order mark. */
function skipMark({ bytes }: BodyWindow, at: number): number {
  const other = BYTE_ORDER_MARK.findIndex((byte, index) => bytes[at + index] !== byte);
  return at + (other === -1 ? BYTE_ORDER_MARK.length : other);
}

/** Reads the row at an offset: the offset behind it, or stopped. */
type ReadRow = (body: BodyWindow, at: number) => number;

export class ReportReader {
  rows = 0;
  /** By name, the members that say something about the answer, as JSON. */
  readonly members = new Map<string, string>();
  readonly #readRow: ReadRow;
  readonly #body = new BodyWindow();
  readonly #steps: Generator<undefined, void>;
  readonly #names = new Set<string>();
  #at = 0;
  #bytes = 0;
  /** Bytes that have to be there before the next step. */
  #enough = 0;
  /** Whether the member that was read last is the opening of the rows. */
  #isAtRows = false;
  #hasRows = false;
  #isWhole = false;

  constructor(readRow: ReadRow) {
    this.#readRow = readRow;
    this.#steps = this.#document();
  }

  /** Takes the next piece of the body; why it is not taken, or null. */
  take(chunk: Uint8Array): string | null {
    this.#bytes += chunk.length;
    this.#body.take(chunk, this.#at);
    this.#at = 0;
    return this.#body.end < this.#enough ? null : this.#goOn();
  }

  /** Why the document is not one whole report, after its last piece; null for one that is. */
  end(): string | null {
    const because = this.#enough > 0 ? this.#goOn() : null;
    if (because !== null) return because;
    if (this.#bytes === 0) return 'it was empty';
    if (!this.#isWhole) return `it ended too early, after ${this.#bytes} bytes`;
    return this.#hasRows ? null : 'it held no rows';
  }

  #goOn(): string | null {
    this.#steps.next();
    const { because, end, stoppedAt } = this.#body;
    if (because !== null) return `${because}, at byte ${this.#bytes - end + stoppedAt}`;
    const rest = end - this.#at;
    this.#enough = rest > LONG_STEP_BYTES ? 2 * rest : 0;
    return rest > MAX_STEP_BYTES ? `one row or member of more than ${MAX_STEP_BYTES} bytes` : null;
  }

  /** Reads the document; yields wherever a step stops. */
  *#document(): Generator<undefined, void> {
    const body = this.#body;
    while (this.#at === 0) {
      this.#at = Math.max(0, skipToken(body, skipMark(body, skipBlanks(body.bytes, 0)), OPENING_BRACE));
      if (this.#at === 0) yield;
    }
    const take = (name: string, value: number): number => this.#takeMember(name, value);
    yield* this.#list(CLOSING_BRACE, (at) => readMember(body, at, take));
    this.#isWhole = true;
    for (;;) {
      this.#at = skipBlanks(body.bytes, this.#at);
      body.stop(this.#at, 'it held something behind the document');
      yield;
    }
  }

  /** Reads a list up to its closing token, one item and the comma before it a step. */
  *#list(closing: number, read: (at: number) => number): Generator<undefined, void> {
    const body = this.#body;
    for (let isFirst = true; ;) {
      let next = skipBlanks(body.bytes, this.#at);
      const isEnd = body.bytes[next] === closing;
      if (isEnd) next += 1;
      else {
        if (!isFirst) next = skipToken(body, next, COMMA);
        if (next !== STOPPED) next = read(next);
      }
      if (next === STOPPED) {
        yield;
        continue;
      }
      this.#at = next;
      if (isEnd) return;
      isFirst = false;
      if (this.#isAtRows) {
        this.#isAtRows = false;
        yield* this.#list(CLOSING_BRACKET, (at) => this.#takeRow(at));
      }
    }
  }

  #takeRow(at: number): number {
    const next = this.#readRow(this.#body, at);
    if (next !== STOPPED) this.rows += 1;
    return next;
  }

  #takeMember(name: string, start: number): number {
    const body = this.#body;
    if (this.#names.has(name)) return body.stop(start, `it stated ${JSON.stringify(name)} twice`);
    const isRows = name === 'rows' && body.bytes[start] === OPENING_BRACKET;
    const end = isRows ? skipToken(body, start, OPENING_BRACKET) : skipValue(body, start);
    if (end === STOPPED) return STOPPED;
    const value = isRows ? '' : textIn(body, start, end);
    if (value === null) return STOPPED;
    this.#names.add(name);
    this.#isAtRows = isRows;
    this.#hasRows ||= isRows;
    if (telling.has(name)) this.members.set(name, value);
    return end;
  }
}
