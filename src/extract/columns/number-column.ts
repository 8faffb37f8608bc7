/** Columns of metrics. */

import {
  type ColumnType,
  digitsOf,
  FAST_DIGITS,
  formatColumnType,
  isExact,
  parseDecimal,
  widen,
} from '../../model/column-type.ts';
import { CellColumn } from './cell-column.ts';
import {
  type BodyWindow,
  isNull,
  MINUS,
  NULL_BYTES,
  POINT,
  QUOTE,
  STOPPED,
  wholeValue,
  ZERO,
} from './json-tokens.ts';
import { isWide } from './parquet-file.ts';
import type { Reason, SliceColumns } from './reading.ts';

const TWO_TO_32 = 2 ** 32;
/** Decimal digits that a double represents exactly. */
const EXACT_DIGITS = 15;
const MAX_DOUBLE_DIGITS = 200;
const WIDE_BYTES = 16;
const BLANK = /^ *$/;

const powersOfTen = Float64Array.from({ length: FAST_DIGITS + 1 }, (_, power) => 10 ** power);

/** Whether a bare number ends before this byte. It may go on with an exponent, or after what has arrived, a zero byte. */
const isEnd = (byte: number | undefined) => byte !== 0x65 && byte !== 0x45 && byte !== 0;

/**
 * Nearly all numbers have up to 15 digits and are computed during the scan. A number that only a wider type holds makes the
 * column unfit. Any other text is a reason to reject its row.
 */
export class NumberColumn extends CellColumn {
  readonly #isDouble: boolean;
  readonly #isWide: boolean;
  readonly #reasons: Reason[];
  readonly #whole: number;
  readonly #scale: number;
  #doubles = new Float64Array(0);
  #wide = new DataView(new ArrayBuffer(0));
  /** Holds every number so far, except those that no type holds. */
  #needed: ColumnType;
  #digits = 0;

  constructor({ id, type }: SliceColumns['metrics'][number], reasons: Reason[]) {
    super(id, type, isWide(type) ? 4 : 2);
    this.#needed = type;
    this.#reasons = reasons;
    this.#isDouble = !isExact(type);
    this.#isWide = isWide(type);
    this.#whole = type.whole;
    this.#scale = type.fraction;
  }

  get needed(): ColumnType | null {
    return this.#needed === this.type ? null : this.#needed;
  }

  /** The most digits after the point since the last call, without trailing zeros. */
  takeDigits(): number {
    const digits = this.#digits;
    this.#digits = 0;
    return digits;
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
      value = value * 10 + digit;
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
        value = value * 10 + digit;
        next += 1;
        digit = (bytes[next] ?? 0) - ZERO;
      }
      fraction = next - point;
      if (fraction === 0) return this.#readText(body, at, row);
    }
    // Without quotes, `01` is not a number and `1e5` continues.
    const isPlain = isQuoted
      ? bytes[next] === QUOTE
      : isEnd(bytes[next]) && (whole < 2 || bytes[first] !== ZERO);
    if (whole === 0 || !isPlain) return this.#readText(body, at, row);
    const end = isQuoted ? next + 1 : next;
    const digits = whole + fraction;
    if (digits > EXACT_DIGITS) {
      if (!this.#isDouble || digits > MAX_DOUBLE_DIGITS) return this.#readText(body, at, row);
      if (fraction > this.#digits) this.#countDigits(bytes, next, fraction);
      this.#doubles[row] = Number(String.fromCharCode(...bytes.subarray(start, next)));
      this.nulls[row] = 0;
      return end;
    }
    if (fraction > this.#digits) this.#countDigits(bytes, next, fraction);
    for (; fraction > this.#scale && value % 10 === 0; fraction -= 1) value /= 10;
    if (fraction > this.#scale || whole > this.#whole) return this.#readText(body, at, row);
    this.nulls[row] = 0;
    if (isNegative) value = -value;
    if (this.#isDouble) this.#doubles[row] = value / (powersOfTen[fraction] ?? Number.NaN);
    else this.#store(row, value, this.#scale - fraction);
    return end;
  }

  #store(row: number, value: number, power: number): void {
    const product = value * (powersOfTen[power] ?? Infinity);
    if (this.#isWide || Math.abs(product) > Number.MAX_SAFE_INTEGER) {
      this.#storeLong(row, BigInt(value) * 10n ** BigInt(power));
    } else {
      this.cells[row * 2] = product | 0;
      this.cells[row * 2 + 1] = Math.floor(product / TWO_TO_32);
    }
  }

  #storeLong(row: number, value: bigint): void {
    if (this.#isWide) {
      this.#wide.setBigInt64(row * WIDE_BYTES, value >> 64n);
      this.#wide.setBigInt64(row * WIDE_BYTES + 8, BigInt.asIntN(64, value));
    } else {
      this.cells[row * 2] = Number(BigInt.asIntN(32, value));
      this.cells[row * 2 + 1] = Number(value >> 32n);
    }
  }

  #countDigits(bytes: Uint8Array, end: number, fraction: number): void {
    let zeros = 0;
    while (zeros < fraction && bytes[end - zeros - 1] === ZERO) zeros += 1;
    this.#digits = Math.max(this.#digits, fraction - zeros);
  }

  #readText(body: BodyWindow, at: number, row: number): number {
    this.nulls[row] = 1;
    if (isNull(body, at)) return at + NULL_BYTES;
    const value = wholeValue(body, at);
    if (value === null) return STOPPED;
    const { end, unquoted } = value;
    if (BLANK.test(unquoted)) return end;
    const reason = this.#take(unquoted, row);
    if (reason !== null)
      this.#reasons.push({ metric: this.name, reason: `${this.name}: ${reason}: ${unquoted}` });
    return end;
  }

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
      this.nulls[row] = 0;
      return null;
    }
    if (whole <= this.#whole && fraction <= this.#scale) {
      const magnitude = BigInt(number.whole + number.fraction.padEnd(this.#scale, '0') || '0');
      this.#storeLong(row, number.negative ? -magnitude : magnitude);
      this.nulls[row] = 0;
      return null;
    }
    const wider = widen(this.#needed, digits);
    this.#needed = wider ?? this.#needed;
    if (wider !== null) return null;
    const limit = `${whole} digits before the point and ${fraction} after do not fit ${formatColumnType(this.#needed)}, nor any wider type`;
    return `${limit}; \`types: { ${this.name}: DOUBLE }\` stores the nearest doubles`;
  }

  override grow(rows: number): void {
    super.grow(rows);
    this.#doubles = new Float64Array(this.cells.buffer);
    this.#wide = new DataView(this.cells.buffer);
  }
}
