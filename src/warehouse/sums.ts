/**
 * Sums of columns that no values make overflow: DuckDB ends the statement where a sum of decimals passes 38 digits.
 *
 * Values of up to 30 digits are summed as they are, which 10^8 of them cannot make overflow, more than one answer or one period
 * has. Wider ones are summed as integers of any length, in units of the last digit; turning them into those takes 4 s a million.
 */

import { type ColumnType, formatColumnType, MAX_DIGITS } from '../model/column-type.ts';

const MOST_SUMMED_DIGITS = 30;

const isWide = (type: ColumnType): type is Extract<ColumnType, { kind: 'DECIMAL' }> =>
  type.kind === 'DECIMAL' && type.width > MOST_SUMMED_DIGITS;

/** The exact sum of a column of this type, to be summed on or compared with others of it; `sumText` says what it comes to. */
export function exactSum(column: string, type: ColumnType): string {
  return isWide(type) ? `sum(cast(replace(cast(${column} as VARCHAR), '.', '') as BIGNUM))` : `sum(${column})`;
}

/** What an exact sum of values of this type comes to, as text: in full, or of more than 38 digits the nearest double. */
export function sumText(sum: string, type: ColumnType): string {
  if (!isWide(type)) return `${sum}::varchar`;
  const text = scaled(sum, type.scale);
  const exact = formatColumnType({ ...type, width: MAX_DIGITS });
  return `coalesce(try_cast(${text} as ${exact})::varchar, cast(${text} as DOUBLE)::varchar)`;
}

/** The same as a decimal, rounded to its scale; NULL where it does not fit. */
export function sumAsDecimal(sum: string, type: ColumnType, into: string): string {
  return `try_cast(${isWide(type) ? scaled(sum, type.scale) : sum} as ${into})`;
}

/** The sum of a column of this type as a double. */
export function doubleSum(column: string, type: ColumnType): string {
  return isWide(type) ? `sum(${column}::double)` : `sum(${column})::double`;
}

const scaled = (sum: string, scale: number): string => `(cast(${sum} as VARCHAR) || 'e-${scale}')`;
