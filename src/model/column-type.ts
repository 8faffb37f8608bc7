/** Exact numbers: decimals as the service writes them, never through a float, their column types, and lossless widening. */

export type ColumnType =
  | { readonly kind: 'BIGINT' }
  | { readonly kind: 'DOUBLE' }
  | { readonly kind: 'DECIMAL'; readonly width: number; readonly scale: number };

export const BIGINT: ColumnType = { kind: 'BIGINT' };
export const DOUBLE: ColumnType = { kind: 'DOUBLE' };
/** DuckDB still casts it fast. */
export const MONEY: ColumnType = { kind: 'DECIMAL', width: 18, scale: 6 };

/** DuckDB casts text to wider decimals two hundred times more slowly. */
export const FAST_DIGITS = 18;

/** Returns SQL text: `BIGINT`, `DOUBLE`, `DECIMAL(18,6)`. */
export function formatColumnType(type: ColumnType): string {
  return type.kind === 'DECIMAL' ? `DECIMAL(${type.width},${type.scale})` : type.kind;
}

/** Reads the type that SQL text names. Returns null if metrics are not stored in that type. */
export function parseColumnType(text: string): ColumnType | null {
  const upper = text.toUpperCase().replaceAll(' ', '');
  if (upper === 'BIGINT' || upper === 'DOUBLE') return { kind: upper };
  const match = /^DECIMAL\((\d+),(\d+)\)$/.exec(upper);
  if (match === null) return null;
  const [width, scale] = [Number(match[1]), Number(match[2])];
  return width >= 1 && width <= MAX_DIGITS && scale <= width
    ? { kind: 'DECIMAL', width, scale }
    : null;
}

/** Returns the digits that a type holds before and after the point. */
export function capacityOf(type: ColumnType): {
  readonly whole: number;
  readonly fraction: number;
} {
  if (type.kind === 'BIGINT') return { whole: FAST_DIGITS, fraction: 0 };
  if (type.kind === 'DOUBLE') return { whole: Infinity, fraction: Infinity };
  return { whole: type.width - type.scale, fraction: type.scale };
}

/** Returns null if no exact type has enough digits. */
export function widen(
  type: ColumnType,
  needed: { readonly whole: number; readonly fraction: number },
): ColumnType | null {
  const has = capacityOf(type);
  if (needed.whole <= has.whole && needed.fraction <= has.fraction) return type;
  // A BIGINT column may already hold values of 19 digits.
  const whole = Math.max(type.kind === 'BIGINT' ? FAST_DIGITS + 1 : has.whole, needed.whole);
  const scale = Math.max(has.fraction, needed.fraction);
  const width = Math.max(FAST_DIGITS, whole + scale);
  return width <= MAX_DIGITS ? { kind: 'DECIMAL', width, scale } : null;
}

const BIGINT_DIGITS = 19;

/** As DuckDB needs for a union of these types. */
export function haveCommonType(types: readonly ColumnType[]): boolean {
  const whole = Math.max(
    ...types.map((type) => (type.kind === 'BIGINT' ? BIGINT_DIGITS : capacityOf(type).whole)),
  );
  const fraction = Math.max(...types.map((type) => capacityOf(type).fraction));
  return whole + fraction <= MAX_DIGITS;
}

/** Returns DOUBLE, which holds the nearest, if no exact type holds every value. */
export function commonType(types: readonly [ColumnType, ...ColumnType[]]): ColumnType {
  if (!haveCommonType(types)) return DOUBLE;
  const [first, ...others] = types;
  return others.reduce<ColumnType>(
    (sofar, type) => widen(sofar, capacityOf(type)) ?? DOUBLE,
    first,
  );
}

interface Decimal {
  readonly negative: boolean;
  /** Without leading zeros, so empty for a magnitude below one. */
  readonly whole: string;
  /** Without trailing zeros. */
  readonly fraction: string;
}

/** Of the widest exact type, DECIMAL(38, s). */
export const MAX_DIGITS = 38;

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

export function formatDecimal(decimal: Decimal): string {
  const fraction = decimal.fraction === '' ? '' : `.${decimal.fraction}`;
  return `${decimal.negative ? '-' : ''}${decimal.whole === '' ? '0' : decimal.whole}${fraction}`;
}

export function digitsOf(decimal: Decimal): { readonly whole: number; readonly fraction: number } {
  return { whole: decimal.whole.length, fraction: decimal.fraction.length };
}
