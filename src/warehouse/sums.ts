/**
 * Sums of columns that no values make overflow: DuckDB ends the statement where a sum of decimals passes 38 digits.
 *
 * Values of up to 30 digits are summed as they are, which 10^8 of them cannot make overflow, more than one answer or one period
 * has. Wider ones are summed as integers of any length, in units of the last digit; turning them into those takes 4 s a million.
 */

import type { ColumnType } from '../model/column-type.ts';

const MOST_SUMMED_DIGITS = 30;

const isWide = (type: ColumnType): type is Extract<ColumnType, { kind: 'DECIMAL' }> =>
  type.kind === 'DECIMAL' && type.width > MOST_SUMMED_DIGITS;

/** The exact sum of a column of this type, to be summed on or compared with others of it; `sumText` says what it comes to. */
export function exactSum(column: string, type: ColumnType): string {
  return isWide(type) ? `sum(cast(replace(cast(${column} as VARCHAR), '.', '') as BIGNUM))` : `sum(${column})`;
}

/** What an exact sum of values of this type comes to, as text, whatever digits it has. */
export function sumText(sum: string, type: ColumnType): string {
  return isWide(type) ? scaled(sum, type.scale) : `${sum}::varchar`;
}

/** The same as a decimal, rounded to its scale; NULL where it does not fit. */
export function sumAsDecimal(sum: string, type: ColumnType, into: string): string {
  return `try_cast(${isWide(type) ? scaled(sum, type.scale) : sum} as ${into})`;
}

/** The sum of a column of this type as a double. */
export function doubleSum(column: string, type: ColumnType): string {
  return isWide(type) ? `sum(${column}::double)` : `sum(${column})::double`;
}

/** A number of units as text, with the point where it belongs. */
function scaled(units: string, scale: number): string {
  const text = `cast(${units} as VARCHAR)`;
  if (scale === 0) return text;
  const pointed = `regexp_replace(regexp_replace(${text}, '^-?', '\\0${'0'.repeat(scale)}'), '\\d{${scale}}$', '.\\0')`;
  return `regexp_replace(${pointed}, '^(-?)0+(\\d)', '\\1\\2')`;
}
