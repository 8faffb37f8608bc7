/** The types a metric's column can have, and how one widens without loss. */

import { MAX_DIGITS } from './decimal.ts';

export type ColumnType =
  | { readonly kind: 'BIGINT' }
  | { readonly kind: 'DOUBLE' }
  | { readonly kind: 'DECIMAL'; readonly width: number; readonly scale: number };

export const BIGINT: ColumnType = { kind: 'BIGINT' };
export const DOUBLE: ColumnType = { kind: 'DOUBLE' };
/** Twelve digits before the point, six after; wider text casts are two hundred times slower in DuckDB. */
export const MONEY: ColumnType = { kind: 'DECIMAL', width: 18, scale: 6 };

/** DuckDB casts text to wider decimals two hundred times slower; such values take a path of their own. */
export const FAST_DIGITS = 18;

/** SQL text of a type: `BIGINT`, `DOUBLE`, `DECIMAL(18,6)`. */
export function formatColumnType(type: ColumnType): string {
  return type.kind === 'DECIMAL' ? `DECIMAL(${type.width},${type.scale})` : type.kind;
}

/** The type a SQL text names; null for a type metrics are not stored in. */
export function parseColumnType(text: string): ColumnType | null {
  const upper = text.toUpperCase().replaceAll(' ', '');
  if (upper === 'BIGINT' || upper === 'DOUBLE') return { kind: upper };
  const match = /^DECIMAL\((\d+),(\d+)\)$/.exec(upper);
  if (match === null) return null;
  const [width, scale] = [Number(match[1]), Number(match[2])];
  return width >= 1 && width <= MAX_DIGITS && scale <= width ? { kind: 'DECIMAL', width, scale } : null;
}

/** Digits an exact type holds before and after the point. */
export function capacityOf(type: ColumnType): { readonly whole: number; readonly fraction: number } {
  if (type.kind === 'BIGINT') return { whole: FAST_DIGITS, fraction: 0 };
  if (type.kind === 'DOUBLE') return { whole: Infinity, fraction: Infinity };
  return { whole: type.width - type.scale, fraction: type.scale };
}

/**
 * The narrowest exact type that holds everything `type` can hold and numbers of these digits besides; null when that
 * takes more digits than any type has.
 */
export function widen(
  type: ColumnType,
  needed: { readonly whole: number; readonly fraction: number },
): ColumnType | null {
  const has = capacityOf(type);
  if (needed.whole <= has.whole && needed.fraction <= has.fraction) return type;
  // A BIGINT column may hold any 19-digit value it was given before.
  const whole = Math.max(type.kind === 'BIGINT' ? FAST_DIGITS + 1 : has.whole, needed.whole);
  const scale = Math.max(has.fraction, needed.fraction);
  const width = Math.max(FAST_DIGITS, whole + scale);
  return width <= MAX_DIGITS ? { kind: 'DECIMAL', width, scale } : null;
}
