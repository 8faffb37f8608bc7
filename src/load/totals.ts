/**
 * Sums compared with totals that the service states: what agrees within the digits that were stated, and what that shows of an
 * answer.
 */

import { parseDecimal } from '../model/column-type.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';

/** A metric of the rows of one part of a window. */
export interface MetricSum {
  readonly metric: string;
  /** Exact sum over the rows, as text; null when no row had a value. */
  readonly sum: string | null;
  /** The same after identical duplicates collapsed. */
  readonly distinctSum: string | null;
  /** Sum of the magnitudes, for the bound below. */
  readonly magnitude: number;
  /** Values other than zero. */
  readonly nonZero: number;
  /** Most digits after the point that a value is stated with. */
  readonly digits: number;
  /** Whether the metric is a count, whatever its column has become: counts must agree exactly. */
  readonly isCount: boolean;
  /** Whether it is only assumed, from its name, that it adds up. */
  readonly isAssumed: boolean;
}

/** The exact sums of the additive metrics of each part of a window, of no rows too. */
export type PartSums = readonly (readonly MetricSum[])[];

export interface Comparison {
  readonly metric: string;
  readonly sum: string;
  readonly total: string;
  readonly agrees: boolean;
  /** Whether it agrees so nearly that it leaves no room for rows that are missing: to the digits of its total, and to the cent. */
  readonly isExact: boolean;
  readonly isAssumed: boolean;
  readonly nonZero: number;
}

/** A total, and how far it may lie from the truth by the digits it is stated with. */
export interface Total {
  readonly text: string;
  readonly slack: number;
}

export type Totals = ReadonlyMap<string, Total>;

const halfUnit = (digits: number): number => 0.5 * 10 ** -digits;

/** Digits after the point as written: `1.50` has two, `1e-3` three. */
function digitsWritten(text: string): number {
  const [mantissa = '', exponent = '0'] = text.trim().toLowerCase().split('e');
  return Math.max(0, (mantissa.split('.')[1] ?? '').length - Number(exponent));
}

/** Totals as one answer states them; what is no number states nothing. */
export const statedTotals = (totals: ReadonlyMap<string, string>): Totals =>
  new Map(
    [...totals]
      .filter(([, text]) => parseDecimal(text) !== null)
      .map(([metric, text]) => [metric, { text, slack: halfUnit(digitsWritten(text)) }]),
  );

/** Relative error of one floating-point addition. */
const UNIT_ROUNDOFF = 2 ** -52;
/** Relative error of a sum of some million numbers. */
const SUM_ROUNDOFF = 1e-9;
/** Fewer values may add up to a total by chance, or because there is but one. */
const LEAST_VALUES = 5;
/** Money is stated with at least so many digits, written out or not. */
const LEAST_DIGITS = 2;

/**
 * Compares every metric for which the service stated a total. Counts must agree exactly, up to 2^53. Totals of money, and
 * counts above that, are floating point on the service's side, so they may differ by what adding that many numbers can
 * round; and rows and total are each off by at most half a unit of their last digit.
 */
export const compareTotals = (sums: readonly MetricSum[], totals: Totals, rowCount: number): Comparison[] =>
  sums.flatMap((each) => {
    const { metric, sum, isAssumed, nonZero } = each;
    const total = totals.get(metric);
    if (total === undefined) return [];
    return [{ metric, sum: sum ?? '0', total: total.text, ...agreement(each, total, rowCount), isAssumed, nonZero }];
  });

function agreement(
  { sum, distinctSum, isCount, magnitude, digits }: MetricSum,
  { text, slack }: Total,
  rowCount: number,
): Pick<Comparison, 'agrees' | 'isExact'> {
  const total = Number(text);
  const sums = [Number(sum), Number(distinctSum ?? sum)];
  const away = Math.min(...sums.map((each) => Math.abs(each - total)));
  const rows = Math.max(rowCount, 1);
  const floating = UNIT_ROUNDOFF * rows * Math.max(magnitude, Math.abs(total));
  if (isCount) {
    // No count is rounded, one with a fraction neither.
    const isWhole = sums.every(Number.isInteger) && Math.abs(total) <= Number.MAX_SAFE_INTEGER;
    const agrees = away <= (isWhole ? 0 : floating + slack);
    return { agrees, isExact: agrees };
  }
  const isExact = away <= floating + Math.min(slack, halfUnit(LEAST_DIGITS));
  const most = floating + slack + rows * halfUnit(Math.max(LEAST_DIGITS, digits));
  return { agrees: isExact || away <= most, isExact };
}

export interface Proof {
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  /** The comparison that speaks most plainly against the answer; null unless the verdict is `unproven`. */
  readonly against: Comparison | null;
  /** One that agrees only as far as rounding allows, where none tells more; else null. */
  readonly rounded: Comparison | null;
  /** Assumed metrics that the answer shows not to add up, or to do so. */
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
}

/**
 * What comparisons show. A metric that is only assumed to add up counts where it agrees, and where all of them disagree. What
 * agrees only as far as rounding allows proves nothing by itself: rows of less than that may be missing.
 */
export function proofOf(comparisons: readonly Comparison[]): Proof {
  const certain = comparisons.filter(({ isAssumed }) => !isAssumed);
  const assumed = comparisons.filter(({ isAssumed }) => isAssumed);
  const disagreeing = assumed.filter(({ agrees }) => !agrees);
  const telling = certain.length === 0 ? assumed : certain;
  const isSomething = ({ total, sum }: Comparison): boolean => Number(total) !== 0 || Number(sum) !== 0;
  const isShown = telling.some((each) => each.isExact && isSomething(each));
  const against = certain.find(({ agrees }) => !agrees) ?? (isShown ? null : (disagreeing[0] ?? null));
  // A few values agree by chance: rows that are missing may have had none of them, and the odd metric may be right.
  const isThin = disagreeing.length > 0 && telling.every((each) => !each.agrees || each.nonZero < LEAST_VALUES);
  const rounded = isShown ? null : (telling.find((each) => each.agrees && !each.isExact) ?? null);
  const isSilent = comparisons.length === 0 || isThin || rounded !== null;
  const verdict = against !== null ? 'unproven' : isSilent ? 'unverifiable' : 'proven';
  const shown = (some: readonly Comparison[]): string[] =>
    verdict === 'proven' ? some.map(({ metric }) => metric) : [];
  const addsUp = shown(assumed.filter((each) => each.agrees && each.nonZero >= LEAST_VALUES));
  return { verdict, comparisons, against, rounded, notAdditive: shown(disagreeing), addsUp };
}

/**
 * The totals of the pages of one answer: stated once for all of them, or by each for its own rows. Both readings where they
 * differ; a metric that one page lacks is left out. Which it is, only the metrics that are summed tell: what the service says of
 * others proves nothing, and may be another estimate each time.
 */
export function totalsOfPages(pages: readonly Totals[], summed: ReadonlySet<string>): Totals[] {
  const [first, ...others] = pages;
  if (first === undefined || others.length === 0) return [first ?? new Map()];
  const telling = [...new Set(pages.flatMap((page) => [...page.keys()]))].filter((metric) => summed.has(metric));
  const isRepeated = telling.every((metric) =>
    others.every((page) => isSameTotal(first.get(metric), page.get(metric))),
  );
  return isRepeated && telling.length > 0 ? [first, addTotals(pages)] : [addTotals(pages)];
}

/** Whether two totals are the same number, but for the order in which floating-point numbers were added up. */
function isSameTotal(one: Total | undefined, other: Total | undefined): boolean {
  const [a, b] = [Number(one?.text), Number(other?.text)];
  return Math.abs(a - b) <= SUM_ROUNDOFF * Math.max(1, Math.abs(a), Math.abs(b));
}

/** The totals of several answers, added; a metric that one of them lacks is left out. */
export function addTotals(totals: readonly Totals[]): Totals {
  const [first = new Map<string, Total>(), ...others] = totals;
  if (others.length === 0) return first;
  const added = [...first].flatMap(([metric]) => {
    const all = totals.flatMap((each) => each.get(metric) ?? []);
    const text = String(all.reduce((sum, total) => sum + Number(total.text), 0));
    const slack = all.reduce((sum, total) => sum + total.slack, 0);
    return all.length === totals.length ? [[metric, { text, slack }] as const] : [];
  });
  return new Map(added);
}
