/** Decimal numbers as text, exactly: what the service writes, without a detour through a float. */

export interface Decimal {
  readonly negative: boolean;
  /** Integer digits without leading zeros; empty for a magnitude below one. */
  readonly whole: string;
  /** Fraction digits without trailing zeros. */
  readonly fraction: string;
}

/** The widest exact type of the warehouse, DECIMAL(38, s). */
export const MAX_DIGITS = 38;

/** Beyond this a number is no measurement, and writing out its zeros would only cost memory. */
const MAX_EXPONENT = 400;

const form = /^\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?\s*$/;

/**
 * The number a text states, or null when it is not one. Accepts a sign, a fraction, an exponent and surrounding blanks;
 * refuses `NaN`, `Infinity`, separators, hexadecimal, and exponents beyond ±400.
 */
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

/** The plain text of a decimal, without an exponent: `-12.5`, `0`, `0.0000001`. */
export function formatDecimal(decimal: Decimal): string {
  const fraction = decimal.fraction === '' ? '' : `.${decimal.fraction}`;
  return `${decimal.negative ? '-' : ''}${decimal.whole === '' ? '0' : decimal.whole}${fraction}`;
}

/** Digits a decimal needs before and after the point. */
export function digitsOf(decimal: Decimal): { readonly whole: number; readonly fraction: number } {
  return { whole: decimal.whole.length, fraction: decimal.fraction.length };
}
