/** Exact numbers: decimals as the service writes them, never through a float, their column types, and lossless widening. */

interface Digits {
  readonly whole: number;
  readonly fraction: number;
}

/** All its numbers may have these digits. A new kind is added here, in `number-column.ts` and in `parquet-file.ts`. */
export interface ColumnType extends Digits {
  readonly kind: 'BIGINT' | 'DOUBLE' | 'DECIMAL';
}

export const columnTypeNames = 'BIGINT, DOUBLE or DECIMAL(p,s)';
export const columnTypeForm = /^(BIGINT|DOUBLE|DECIMAL\(\d{1,2}, ?\d{1,2}\))$/;

/** DuckDB casts text to wider decimals two hundred times more slowly. */
export const FAST_DIGITS = 18;
/** Of the widest exact type, DECIMAL(38, s). */
export const MAX_DIGITS = 38;
/** Values with more are summed as BIGNUM integers: DuckDB fails if a sum of decimals exceeds 38 digits. */
const MAX_SUMMED_DIGITS = 30;

export const BIGINT: ColumnType = { kind: 'BIGINT', whole: FAST_DIGITS, fraction: 0 };
/** The greatest number has one digit more than all numbers may have. */
const BIGINT_DIGITS = FAST_DIGITS + 1;
/** Holds the nearest double to a number of any digits. */
export const DOUBLE: ColumnType = { kind: 'DOUBLE', whole: Infinity, fraction: Infinity };
export const decimalType = (width: number, scale: number): ColumnType => ({
  kind: 'DECIMAL',
  whole: width - scale,
  fraction: scale,
});
export const MONEY = decimalType(FAST_DIGITS, 6);

export const isExact = ({ kind }: ColumnType): boolean => kind !== 'DOUBLE';

export const isOfCounts = ({ kind }: ColumnType): boolean => kind === 'BIGINT';

export const isSummedWide = (type: ColumnType): boolean =>
  isExact(type) && type.whole + type.fraction > MAX_SUMMED_DIGITS;

export const formatColumnType = ({ kind, whole, fraction }: ColumnType): string =>
  kind === 'DECIMAL' ? `DECIMAL(${whole + fraction},${fraction})` : kind;

export function parseColumnType(text: string): ColumnType | null {
  const upper = text.toUpperCase().replaceAll(' ', '');
  if (upper === 'BIGINT') return BIGINT;
  if (upper === 'DOUBLE') return DOUBLE;
  const [width = 0, scale = 0] = /^DECIMAL\((\d+),(\d+)\)$/.exec(upper)?.slice(1).map(Number) ?? [];
  return width >= 1 && width <= MAX_DIGITS && scale <= width ? decimalType(width, scale) : null;
}

/** Returns a type that every engine reads, null for values other than numbers. */
export function publishedNumber(type: string): string | null {
  if (type === 'HUGEINT') return formatColumnType(decimalType(MAX_DIGITS, 0));
  return type === 'INTEGER' || parseColumnType(type) !== null ? type : null;
}

export function widen(type: ColumnType, needed: Digits): ColumnType | null {
  if (needed.whole <= type.whole && needed.fraction <= type.fraction) return type;
  // A BIGINT column may already hold values of 19 digits.
  const whole = Math.max(isOfCounts(type) ? BIGINT_DIGITS : type.whole, needed.whole);
  const scale = Math.max(type.fraction, needed.fraction);
  const width = Math.max(FAST_DIGITS, whole + scale);
  return width <= MAX_DIGITS ? decimalType(width, scale) : null;
}

/** As DuckDB needs for a union of these types. */
export function haveCommonType(types: readonly ColumnType[]): boolean {
  const whole = types.map((type) => (isOfCounts(type) ? BIGINT_DIGITS : type.whole));
  const fraction = types.map((type) => type.fraction);
  return Math.max(...whole) + Math.max(...fraction) <= MAX_DIGITS;
}

/** Returns DOUBLE if one of them is, and null if all are exact and no exact type holds every value. */
export function commonType(types: readonly [ColumnType, ...ColumnType[]]): ColumnType | null {
  if (!types.every(isExact)) return DOUBLE;
  return haveCommonType(types) ? types.reduce((sofar, type) => widen(sofar, type) ?? DOUBLE) : null;
}

interface Decimal {
  readonly negative: boolean;
  readonly whole: string;
  readonly fraction: string;
}

/** Beyond this a number is no measurement. */
const MAX_EXPONENT = 400;

const form = /^\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?\s*$/;

/** Returns null for `NaN`, separators, hexadecimal and exponents beyond ±400. */
export function parseDecimal(text: string): Decimal | null {
  const match = form.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponentText] = match;
  if (whole === '' && fraction === '') return null;
  const exponent = Number(exponentText ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT) return null;
  const point = whole.length + exponent;
  const digits = '0'.repeat(Math.max(0, -point)) + (whole + fraction).padEnd(point, '0');
  const cut = Math.max(0, point);
  const [left, right] = [digits.slice(0, cut), digits.slice(cut)];
  const number = { whole: left.replace(/^0+/, ''), fraction: right.replace(/0+$/, '') };
  const isZero = number.whole === '' && number.fraction === '';
  return { negative: sign === '-' && !isZero, ...number };
}

export function formatDecimal({ negative, whole, fraction }: Decimal): string {
  const point = fraction === '' ? '' : '.';
  return `${negative ? '-' : ''}${whole || '0'}${point}${fraction}`;
}

export const digitsOf = ({ whole, fraction }: Decimal): Digits => ({
  whole: whole.length,
  fraction: fraction.length,
});
