/** Columns of metrics. */

import {
  capacityOf,
  type ColumnType,
  digitsOf,
  FAST_DIGITS,
  formatColumnType,
  parseDecimal,
  widen,
} from '../../model/column-type.ts';
import { type BodyWindow, MINUS, POINT, QUOTE, STOPPED, wholeValue, ZERO } from './json-tokens.ts';
import { type CellColumn, type ColumnGroup, widened, widenedFlags } from './parquet-file.ts';
import type { MetricCells } from './reading.ts';
import type { RejectedColumn } from './rejected-column.ts';

const TWO_TO_32 = 2 ** 32;
/** Digits that fit 32 bits, and that a double counts exactly. */
const SMALL_DIGITS = 9;
const EXACT_DIGITS = 15;
const WIDE_BYTES = 16;

const powersOfTen = Float64Array.from({ length: FAST_DIGITS + 1 }, (_, power) => 10 ** power);

/**
 * Metrics: numbers in quotes or bare, exact or not taken.
 *
 * Integers and decimals are built from their digits as whole numbers of the column's scale; doubles are the nearest ones to
 * the text. Up to nine digits, as nearly all have, are counted in 32-bit arithmetic while they are looked for. Texts of any other
 * form are parsed one by one.
 *
 * A number that the column does not hold makes it unfit if a wider type would hold it; any other text rejects its row.
 */
export class NumberColumn implements CellColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly textBytes = 0;
  readonly #isDouble: boolean;
  readonly #rejected: Pick<RejectedColumn, 'note'>;
  /** Digits before and after the point that the column holds. */
  readonly #whole: number;
  readonly #scale: number;
  /** Words of 32 bits per cell. */
  readonly #words: 2 | 4;
  #cells = new Int32Array(0);
  #doubles = new Float64Array(this.#cells.buffer);
  #wide = new DataView(this.#cells.buffer);
  #nulls = new Uint8Array(0);
  /** The type that holds every number so far for which there is one. */
  #needed: ColumnType;
  #digits = 0;

  constructor({ name, type }: MetricCells, rejected: Pick<RejectedColumn, 'note'>) {
    this.name = name;
    this.type = type;
    this.#needed = type;
    this.#rejected = rejected;
    const { whole, fraction } = capacityOf(type);
    this.#isDouble = type.kind === 'DOUBLE';
    this.#whole = whole;
    this.#scale = fraction;
    this.#words = type.kind === 'DECIMAL' && type.width > FAST_DIGITS ? 4 : 2;
  }

  /** The narrowest exact type that holds the numbers that the column does not hold, too; null where it holds all, or no type would. */
  get needed(): ColumnType | null {
    return this.#needed === this.type ? null : this.#needed;
  }

  /** The most digits after the point that a number has, without zeros at its end. */
  get digits(): number {
    return this.#digits;
  }

  read(body: BodyWindow, at: number, row: number): number {
    const { bytes } = body;
    const isQuoted = bytes[at] === QUOTE;
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
      if (fraction === 0) return this.#readText(body, at, row);
    }
    // Bare, `01` is no number and `1e5` goes on.
    const isPlain = isQuoted ? bytes[next] === QUOTE : isEnd(bytes[next]) && (whole < 2 || bytes[first] !== ZERO);
    if (whole === 0 || !isPlain) return this.#readText(body, at, row);
    this.#nulls[row] = 0;
    const end = isQuoted ? next + 1 : next;
    if (whole + fraction > SMALL_DIGITS || fraction > this.#scale || whole > this.#whole) {
      return this.#readLong(body, { at, first, whole, fraction, isNegative, row, end });
    }
    if (fraction > this.#digits) this.#countDigits(bytes, next, fraction);
    if (this.#isDouble) this.#doubles[row] = (isNegative ? -value : value) / (powersOfTen[fraction] ?? Number.NaN);
    else if (this.#words === 4) this.#storeLong(row, scaled(isNegative ? -value : value, this.#scale - fraction));
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
    if (this.#words === 4) {
      this.#wide.setBigInt64(row * WIDE_BYTES, value >> 64n);
      this.#wide.setBigInt64(row * WIDE_BYTES + 8, BigInt.asIntN(64, value));
      return;
    }
    this.#cells[row * 2] = Number(BigInt.asIntN(32, value));
    this.#cells[row * 2 + 1] = Number(value >> 32n);
  }

  /** A number with more digits than 32 bits count, or with zeros that the column has no place for. */
  #readLong(body: BodyWindow, number: LongNumber): number {
    const { at, first, whole, fraction, isNegative, row, end } = number;
    const lastDigit = first + whole + (fraction === 0 ? 0 : fraction + 1);
    if (fraction > this.#digits) this.#countDigits(body.bytes, lastDigit, fraction);
    if (this.#isDouble) {
      const isShort = whole + fraction <= EXACT_DIGITS;
      if (whole + fraction > MAX_DOUBLE_DIGITS) return this.#readText(body, at, row);
      const magnitude = isShort
        ? digitsBetween(body.bytes, first, lastDigit) / (powersOfTen[fraction] ?? Number.NaN)
        : Number(textBetween(body.bytes, first, lastDigit));
      this.#doubles[row] = isNegative ? -magnitude : magnitude;
      return end;
    }
    const kept = Math.min(fraction, this.#scale);
    if (whole > this.#whole || whole + kept > MAX_DOUBLE_DIGITS) return this.#readText(body, at, row);
    const lastKept = lastDigit - (fraction - kept);
    for (let zero = lastKept; zero < lastDigit; zero += 1) {
      if (body.bytes[zero] !== ZERO) return this.#readText(body, at, row);
    }
    const magnitude =
      whole + kept <= EXACT_DIGITS
        ? BigInt(digitsBetween(body.bytes, first, lastKept))
        : BigInt(textBetween(body.bytes, first, lastKept).replace('.', ''));
    this.#storeLong(row, scaled(isNegative ? -magnitude : magnitude, this.#scale - kept));
    return end;
  }

  /** Of a number that ends before `end` with so many digits after the point. */
  #countDigits(bytes: Uint8Array, end: number, fraction: number): void {
    let zeros = 0;
    while (zeros < fraction && bytes[end - zeros - 1] === ZERO) zeros += 1;
    this.#digits = Math.max(this.#digits, fraction - zeros);
  }

  /** A value of any form: NULL, a number in whatever writing, or what is none. */
  #readText(body: BodyWindow, at: number, row: number): number {
    const value = wholeValue(body, at);
    if (value === null) return STOPPED;
    const { end, written, said } = value;
    this.#nulls[row] = 1;
    if (written === 'null' || BLANK.test(said)) return end;
    const reason = this.#take(said, row);
    if (reason !== null) this.#rejected.note(this.name, said, reason);
    return end;
  }

  /** Stores the number that a text states; why its row is rejected, or null. */
  #take(text: string, row: number): string | null {
    const number = parseDecimal(text);
    if (number === null) return 'not a number';
    const digits = digitsOf(number);
    const { whole, fraction } = digits;
    this.#digits = Math.max(this.#digits, fraction);
    if (this.#isDouble) {
      const double = Number(text);
      if (!Number.isFinite(double)) return 'beyond the range of a double';
      this.#doubles[row] = double;
      this.#nulls[row] = 0;
      return null;
    }
    if (whole <= this.#whole && fraction <= this.#scale) {
      const magnitude = BigInt(number.whole + number.fraction.padEnd(this.#scale, '0') || '0');
      this.#storeLong(row, number.negative ? -magnitude : magnitude);
      this.#nulls[row] = 0;
      return null;
    }
    const wider = widen(this.#needed, digits);
    this.#needed = wider ?? this.#needed;
    if (wider !== null) return null;
    const limit = `${whole} digits before the point and ${fraction} after do not fit ${formatColumnType(this.#needed)}, nor any wider type`;
    return `${limit}; \`types: { ${this.name}: DOUBLE }\` stores the nearest doubles`;
  }

  blank(row: number): void {
    this.#nulls[row] = 1;
  }

  grow(rows: number): void {
    this.#cells = widened(this.#cells, rows * this.#words);
    this.#doubles = new Float64Array(this.#cells.buffer);
    this.#wide = new DataView(this.#cells.buffer);
    this.#nulls = widenedFlags(this.#nulls, rows);
  }

  group(rows: number): ColumnGroup {
    return {
      nulls: this.#nulls.subarray(0, rows),
      cells: this.#cells.subarray(0, rows * this.#words),
      words: this.#words,
      dictionary: null,
    };
  }

  clear(): void {
    // Every cell of the next rows is rewritten.
  }
}

/** Longer texts are parsed one by one. */
const MAX_DOUBLE_DIGITS = 200;
const BLANK = /^ *$/;

interface LongNumber {
  /** Of the value, and of its first digit. */
  readonly at: number;
  readonly first: number;
  /** Digits before and after the point. */
  readonly whole: number;
  readonly fraction: number;
  readonly isNegative: boolean;
  readonly row: number;
  /** Behind the number and its quotes. */
  readonly end: number;
}

/** Whether a bare number ends before this byte, or may end there: a zero byte stands behind what has come. */
const isEnd = (byte: number | undefined): boolean => byte !== 0x65 && byte !== 0x45;

const scaled = (value: bigint | number, power: number): bigint => BigInt(value) * 10n ** BigInt(power);

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
