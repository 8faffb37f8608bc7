/** Columns of metrics. */

import { capacityOf, isOfDouble, parseDecimal } from '../../model/column-type.ts';
import { type BodyWindow, MINUS, POINT, QUOTE, skipNull, STOPPED, ZERO } from './json-tokens.ts';
import { type Column, type ColumnGroup, type ParquetType, widened, widenedFlags } from './parquet-file.ts';
import type { SliceColumns } from './reading.ts';

const SPACE = 0x20;
const LETTER_N = 0x6e;
const TWO_TO_32 = 2 ** 32;
/** Digits that fit 32 bits, that a double counts exactly, and that 64 bits hold. */
const SMALL_DIGITS = 9;
const EXACT_DIGITS = 15;
/** Longer texts of doubles are not taken. */
const MAX_DOUBLE_DIGITS = 200;

const powersOfTen = Float64Array.from({ length: 19 }, (_, power) => 10 ** power);

/**
 * Metrics: numbers in quotes or bare, exact or not taken.
 *
 * Integers and decimals are built from their digits as whole numbers of the column's scale; doubles are the nearest ones to
 * the text, and where the column is to be exact only those that say it to the last digit. Up to nine digits, as nearly all
 * have, are counted in 32-bit arithmetic while they are looked for.
 */
export class NumberColumn implements Column {
  readonly name: string;
  readonly type: ParquetType;
  readonly heldBytes = 0;
  readonly #isDouble: boolean;
  readonly #isExact: boolean;
  /** Digits before and after the point that the column holds. */
  readonly #whole: number;
  readonly #scale: number;
  #cells = new Int32Array(0);
  #doubles = new Float64Array(this.#cells.buffer);
  #nulls = new Uint8Array(0);

  constructor({ name, type, isExact = false }: SliceColumns['metrics'][number]) {
    this.name = name;
    this.type = type;
    const { whole, fraction } = capacityOf(type);
    this.#isDouble = type.kind === 'DOUBLE';
    this.#isExact = isExact;
    this.#whole = this.#isDouble ? MAX_DOUBLE_DIGITS : whole;
    this.#scale = this.#isDouble ? MAX_DOUBLE_DIGITS : fraction;
  }

  read(body: BodyWindow, at: number, row: number): number {
    const { bytes } = body;
    const opening = bytes[at] ?? 0;
    const isQuoted = opening === QUOTE;
    if (opening === LETTER_N) return this.#readNull(row, skipNull(body, at));
    const start = isQuoted ? at + 1 : at;
    const isNegative = bytes[start] === MINUS;
    const first = isNegative ? start + 1 : start;
    let next = first;
    let value = 0;
    let digit = (bytes[next] ?? 0) - ZERO;
    while (digit >= 0 && digit <= 9) {
      value = (Math.imul(value, 10) + digit) | 0;
      next += 1;
      digit = (bytes[next] ?? 0) - ZERO;
    }
    const whole = next - first;
    let fraction = 0;
    if (bytes[next] === POINT) {
      next += 1;
      const point = next;
      digit = (bytes[next] ?? 0) - ZERO;
      while (digit >= 0 && digit <= 9) {
        value = (Math.imul(value, 10) + digit) | 0;
        next += 1;
        digit = (bytes[next] ?? 0) - ZERO;
      }
      fraction = next - point;
      if (fraction === 0) return body.stop(next, 'a point without digits behind it');
    }
    if (whole === 0) {
      if (isQuoted && next === start) return this.#readBlank(body, start, row);
      return body.stop(next, 'no number in a metric');
    }
    if (isQuoted) {
      if (bytes[next] !== QUOTE) return body.stop(next, 'no plain number in a metric');
    } else if (bytes[first] === ZERO) {
      if (whole > 1) return body.stop(first, 'a bare number with leading zeros');
      // Bare, it is an integer to DuckDB, without a sign; in quotes a double's.
      if (this.#isDouble && isNegative && fraction === 0) return body.stop(next, 'a bare negative zero');
    }
    this.#nulls[row] = 0;
    const end = isQuoted ? next + 1 : next;
    if (whole + fraction > SMALL_DIGITS || fraction > this.#scale || whole > this.#whole) {
      return this.#readLong(body, { first, whole, fraction, isNegative, row, end });
    }
    if (this.#isDouble) this.#doubles[row] = (isNegative ? -value : value) / (powersOfTen[fraction] ?? Number.NaN);
    else this.#store(row, (isNegative ? -value : value) * (powersOfTen[this.#scale - fraction] ?? Number.NaN));
    return end;
  }

  #store(row: number, value: number): void {
    // Nine digits times a power of ten that 18 digits hold have few enough significant bits for a double, whatever their size.
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      this.#storeLong(row, BigInt(value));
    } else {
      this.#cells[row * 2] = value | 0;
      this.#cells[row * 2 + 1] = Math.floor(value / TWO_TO_32);
    }
  }

  #storeLong(row: number, value: bigint): void {
    this.#cells[row * 2] = Number(BigInt.asIntN(32, value));
    this.#cells[row * 2 + 1] = Number(value >> 32n);
  }

  /** A number with more digits than 32 bits count, or with zeros that the column has no place for. */
  #readLong(body: BodyWindow, number: LongNumber): number {
    const { first, whole, fraction, isNegative, row, end } = number;
    const lastDigit = first + whole + (fraction === 0 ? 0 : fraction + 1);
    if (this.#isDouble) {
      if (whole + fraction > MAX_DOUBLE_DIGITS) return body.stop(first, `a double of ${whole + fraction} digits`);
      if (whole + fraction > EXACT_DIGITS) {
        const text = textBetween(body.bytes, first, lastDigit);
        const number = this.#isExact ? parseDecimal(text) : null;
        if (number !== null && !isOfDouble(number)) return body.stop(first, 'a number that no double says');
        this.#doubles[row] = isNegative ? -Number(text) : Number(text);
        return end;
      }
      const magnitude = digitsBetween(body.bytes, first, lastDigit) / (powersOfTen[fraction] ?? Number.NaN);
      this.#doubles[row] = isNegative ? -magnitude : magnitude;
      return end;
    }
    const surplus = Math.max(0, fraction - this.#scale);
    const lastKept = lastDigit - surplus;
    for (let at = lastKept; at < lastDigit; at += 1) {
      if (body.bytes[at] !== ZERO) return body.stop(at, `${fraction} digits after the point`);
    }
    const isOnlyZero = whole === 1 && body.bytes[first] === ZERO;
    if (whole > this.#whole && !isOnlyZero) return body.stop(first, `${whole} digits before the point`);
    const power = this.#scale - (fraction - surplus);
    const magnitude =
      whole + fraction - surplus <= EXACT_DIGITS
        ? BigInt(digitsBetween(body.bytes, first, lastKept))
        : BigInt(textBetween(body.bytes, first, lastKept).replace('.', ''));
    this.#storeLong(row, (isNegative ? -magnitude : magnitude) * 10n ** BigInt(power));
    return end;
  }

  /** NULL: a text of no or only blanks. */
  #readBlank(body: BodyWindow, start: number, row: number): number {
    let next = start;
    while (body.bytes[next] === SPACE) next += 1;
    if (body.bytes[next] !== QUOTE) return body.stop(next, 'no plain number in a metric');
    return this.#readNull(row, next + 1);
  }

  #readNull(row: number, end: number): number {
    if (end !== STOPPED) this.#nulls[row] = 1;
    return end;
  }

  grow(rows: number): void {
    this.#cells = widened(this.#cells, rows * 2);
    this.#doubles = new Float64Array(this.#cells.buffer);
    this.#nulls = widenedFlags(this.#nulls, rows);
  }

  group(rows: number): ColumnGroup {
    return {
      nulls: this.#nulls.subarray(0, rows),
      cells: this.#cells.subarray(0, rows * 2),
      words: 2,
      dictionary: null,
    };
  }

  clear(): void {
    // Every cell of the next rows is rewritten.
  }
}

interface LongNumber {
  /** Of its first digit. */
  readonly first: number;
  /** Digits before and after the point. */
  readonly whole: number;
  readonly fraction: number;
  readonly isNegative: boolean;
  readonly row: number;
  /** Behind the number and its quotes. */
  readonly end: number;
}

/** The digits in `[from, to)` as one whole number, past the point; exact up to 15 digits. */
function digitsBetween(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte !== POINT) value = value * 10 + (byte - ZERO);
  }
  return value;
}

const textBetween = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, to));
