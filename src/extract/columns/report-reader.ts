/**
 * Reads a report in strict JSON: one object that has `rows` once. Each step reads one member or row, and is repeated when there
 * is more if it reaches the end of what has arrived. Readers do not check where the window ends: a zero byte follows, which
 * JSON never contains. A stop there means that more must arrive; any other refuses the document.
 */

import { createHash } from 'node:crypto';

import { ENVELOPE_MEMBERS, type Members } from '../envelope.ts';
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

const envelopeMembers: ReadonlySet<string> = new Set(ENVELOPE_MEMBERS);

/** Two pages of one report do not begin with as many of the same rows. */
const DIGESTED_ROWS = 20;

/** A longer row or member is refused, which bounds the memory. */
const MAX_STEP_BYTES = 64 * 1024 * 1024;
/** A longer step is repeated only with twice the bytes: otherwise the time would grow with their square. */
const LONG_STEP_BYTES = 1024 * 1024;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

function skipMark({ bytes }: BodyWindow, at: number): number {
  const other = BYTE_ORDER_MARK.findIndex((byte, index) => bytes[at + index] !== byte);
  return at + (other === -1 ? BYTE_ORDER_MARK.length : other);
}

type ReadRow = (body: BodyWindow, at: number) => number;

export class ReportReader {
  rows = 0;
  readonly #members = new Map<string, string>();
  readonly #firstRows = createHash('sha256');
  readonly #readRow: ReadRow;
  readonly #body = new BodyWindow();
  readonly #steps: Generator<undefined, void>;
  readonly #names = new Set<string>();
  #at = 0;
  #bytes = 0;
  #enough = 0;
  #isAtRows = false;
  #hasRows = false;
  #isWhole = false;

  constructor(readRow: ReadRow) {
    this.#readRow = readRow;
    this.#steps = this.#document();
  }

  take(chunk: Uint8Array): string | null {
    this.#bytes += chunk.length;
    this.#body.take(chunk, this.#at);
    this.#at = 0;
    return this.#body.end < this.#enough ? null : this.#goOn();
  }

  get members(): Members {
    return this.#members;
  }

  /** May be called once. */
  rowsDigest(): string {
    return this.#firstRows.digest('base64');
  }

  end(): string | null {
    const because = this.#enough > 0 ? this.#goOn() : null;
    if (because !== null) return because;
    if (this.#bytes === 0) return 'it was empty';
    if (!this.#isWhole) return `it ended too early, after ${this.#bytes} bytes`;
    return this.#hasRows ? null : 'it had no member rows';
  }

  #goOn(): string | null {
    this.#steps.next();
    const { because, end, stoppedAt } = this.#body;
    if (because !== null) return `${because}, at byte ${this.#bytes - end + stoppedAt}`;
    const rest = end - this.#at;
    this.#enough = rest > LONG_STEP_BYTES ? 2 * rest : 0;
    return rest > MAX_STEP_BYTES ? `one row or member of more than ${MAX_STEP_BYTES} bytes` : null;
  }

  *#document(): Generator<undefined, void> {
    const body = this.#body;
    while (this.#at === 0) {
      const start = skipMark(body, skipBlanks(body.bytes, 0));
      this.#at = Math.max(0, skipToken(body, start, OPENING_BRACE));
      if (this.#at === 0) yield;
    }
    const take = (name: string, value: number) => this.#takeMember(name, value);
    yield* this.#list(CLOSING_BRACE, (at) => readMember(body, at, take));
    this.#isWhole = true;
    for (;;) {
      this.#at = skipBlanks(body.bytes, this.#at);
      body.stop(this.#at, 'it had more data after the document');
      yield;
    }
  }

  /** Each step reads one item and the comma before it. */
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
    if (next === STOPPED) return STOPPED;
    if (this.rows < DIGESTED_ROWS) this.#firstRows.update(this.#body.bytes.subarray(at, next));
    this.rows += 1;
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
    if (envelopeMembers.has(name)) this.#members.set(name, value);
    return end;
  }
}
