/**
 * How values are written: as text, exactly, with the service's quirks (observed: Answers).
 *
 * Now and then a value is a JSON number, an integer ends in `.0`, a value without information is an empty text or null.
 * Which form a cell has depends on what the cell is and says, not on chance.
 */

import { choose, mix } from './hash.ts';
import { inUnits } from './metric.ts';
import type { Metric } from './metric.ts';

export type Cell = string | number | null;

/** One cell in so many has another form than the usual one. */
const ODD_EVERY = 50;
const MICRO_DIGITS = 6;
const MIN_DIGITS = 2;
const MICRO = 10 ** MICRO_DIGITS;

/** Micro-units as a decimal of 2 to 6 digits, exactly; zero is `0.0`. */
export function moneyText(micros: number): string {
  if (micros === 0) return '0.0';
  const size = Math.abs(micros);
  const digits = String(size % MICRO)
    .padStart(MICRO_DIGITS, '0')
    .replace(/0+$/, '')
    .padEnd(MIN_DIGITS, '0');
  return `${micros < 0 ? '-' : ''}${Math.floor(size / MICRO)}.${digits}`;
}

/** A cell of a report; `seed` belongs to its row. */
export function writeValue(metric: Metric, value: number | null, seed: number): Cell {
  if (value === null) return (seed & 1) === 0 ? null : '';
  const form = choose(mix(seed, value), ODD_EVERY);
  if (form === 0) return inUnits(metric, value);
  if (metric.unit === 'micros') return moneyText(value);
  return metric.unit === 'count' && form === 1 ? `${value}.0` : String(value);
}

/** A cell whose cumulative value is withheld: not to be told from a true zero, or from nothing. */
export function writeWithheld(seed: number): Cell {
  return (seed & 1) === 0 ? '0.0' : null;
}
