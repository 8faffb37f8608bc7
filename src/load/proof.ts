/** The completeness proof: the rows' sums against the totals the service stated. Pure. */

import { parseDecimal } from '../model/decimal.ts';

export interface MetricSum {
  readonly metric: string;
  /** Exact sum over the rows, as text; null when no row had a value. */
  readonly sum: string | null;
  /** The same after identical duplicates collapsed. */
  readonly distinctSum: string | null;
  /** Sum of the magnitudes, for the bound below. */
  readonly magnitude: number;
  /** Whether the metric is a count: counts must agree exactly. */
  readonly isCount: boolean;
}

export interface Comparison {
  readonly metric: string;
  readonly sum: string;
  readonly total: string;
  readonly agrees: boolean;
}

/** Relative error of one floating-point addition. */
const UNIT_ROUNDOFF = 2 ** -52;

/**
 * Compares every metric for which the service stated a total. Counts must agree exactly, up to 2^53. Totals of money, and
 * counts above that, are floating point on the service's side, so they may differ by what adding that many numbers can
 * round, and by no more: with a thousand rows and a million of money that is less than a millionth.
 */
export function compareTotals(
  sums: readonly MetricSum[],
  totals: ReadonlyMap<string, string>,
  rowCount: number,
): Comparison[] {
  return sums.flatMap((metric) => {
    const total = totals.get(metric.metric);
    if (total === undefined || parseDecimal(total) === null) return [];
    const sum = metric.sum ?? '0';
    const agrees = [sum, metric.distinctSum ?? sum].some((each) => isSame(each, total, metric, rowCount));
    return [{ metric: metric.metric, sum, total, agrees }];
  });
}

function isSame(sum: string, total: string, metric: MetricSum, rowCount: number): boolean {
  if (Number(sum) === Number(total)) return true;
  if (metric.isCount && Math.abs(Number(total)) <= Number.MAX_SAFE_INTEGER) return false;
  const tolerance = UNIT_ROUNDOFF * Math.max(rowCount, 1) * Math.max(metric.magnitude, Math.abs(Number(total)));
  return Math.abs(Number(sum) - Number(total)) <= tolerance;
}

/** The totals of several answers to one window, added; a metric that one of them lacks is left out. */
export function addTotals(totals: readonly ReadonlyMap<string, string>[]): ReadonlyMap<string, string> {
  const [first, ...others] = totals;
  if (first === undefined) return new Map();
  if (others.length === 0) return first;
  const complete = [...first.keys()].filter((metric) => others.every((other) => other.has(metric)));
  return new Map(
    complete.map((metric) => [metric, String(totals.reduce((sum, each) => sum + Number(each.get(metric)), 0))]),
  );
}
