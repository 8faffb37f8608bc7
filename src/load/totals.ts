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

/** A total, and how far it may lie from the truth by the digits it is stated with. */
export interface Total {
  readonly text: string;
  readonly slack: number;
}

export type Totals = ReadonlyMap<string, Total>;

/** Totals as one answer states them; what is no number states nothing. */
export function statedTotals(totals: ReadonlyMap<string, string>): Totals {
  return new Map(
    [...totals]
      .filter(([, text]) => parseDecimal(text) !== null)
      .map(([metric, text]) => [metric, { text, slack: halfUnit(digitsWritten(text)) }]),
  );
}

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
 * round; and rows and total are each off by at most half a unit of their last digit. `digitsOf` says how many digits after
 * the point the rows have; it is asked only where that can matter.
 */
export async function compareTotals(
  sums: readonly MetricSum[],
  totals: Totals,
  rowCount: number,
  digitsOf: (metric: string) => Promise<number>,
): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const metric of sums) {
    const total = totals.get(metric.metric);
    if (total === undefined) continue;
    const sum = metric.sum ?? '0';
    const found = await agreement([sum, metric.distinctSum ?? sum], total, metric, rowCount, digitsOf);
    const { isAssumed, nonZero } = metric;
    comparisons.push({ metric: metric.metric, sum, total: total.text, ...found, isAssumed, nonZero });
  }
  return comparisons;
}

async function agreement(
  sums: readonly string[],
  { text, slack }: Total,
  metric: MetricSum,
  rowCount: number,
  digitsOf: (metric: string) => Promise<number>,
): Promise<Pick<Comparison, 'agrees' | 'isExact'>> {
  const total = Number(text);
  const away = Math.min(...sums.map((sum) => Math.abs(Number(sum) - total)));
  if (away === 0) return { agrees: true, isExact: true };
  const isWhole = sums.every((sum) => Number.isInteger(Number(sum)));
  if (metric.isCount && isWhole && Math.abs(total) <= Number.MAX_SAFE_INTEGER) return { agrees: false, isExact: false };
  const rows = Math.max(rowCount, 1);
  const floating = UNIT_ROUNDOFF * rows * Math.max(metric.magnitude, Math.abs(total));
  // No count is rounded, one with a fraction neither.
  const near = floating + (metric.isCount ? slack : Math.min(slack, halfUnit(LEAST_DIGITS)));
  const isExact = away <= near;
  if (isExact || metric.isCount) return { agrees: isExact, isExact };
  // Rows are stated with two digits at least: what is farther away than that allows needs no closer look.
  if (away > slack + rows * halfUnit(LEAST_DIGITS) + floating) return { agrees: false, isExact };
  const ofRows = rows * halfUnit(Math.max(LEAST_DIGITS, await digitsOf(metric.metric)));
  return { agrees: away <= slack + ofRows + floating, isExact };
}

const halfUnit = (digits: number): number => 0.5 * 10 ** -digits;

/** Digits after the point as written: `1.50` has two, `1e-3` three. */
function digitsWritten(text: string): number {
  const [mantissa = '', exponent = '0'] = text.trim().toLowerCase().split('e');
  return Math.max(0, (mantissa.split('.')[1] ?? '').length - Number(exponent));
}

/**
 * What comparisons show. A metric that is only assumed to add up counts where it agrees, and where all of them disagree. What
 * agrees only as far as rounding allows proves nothing by itself: rows of less than that may be missing.
 */
export function proofOf(comparisons: readonly Comparison[]): Proof {
  const certain = comparisons.filter(({ isAssumed }) => !isAssumed);
  const assumed = comparisons.filter(({ isAssumed }) => isAssumed);
  const says = ({ total, sum }: Comparison): boolean => Number(total) !== 0 || Number(sum) !== 0;
  const isShown = (some: readonly Comparison[]): boolean => some.some((each) => each.isExact && says(each));
  const wrong = certain.find(({ agrees }) => !agrees) ?? null;
  const odd = assumed.filter(({ agrees }) => !agrees);
  const isShownByOthers = isShown(certain) || (certain.length === 0 && isShown(assumed));
  const against = wrong ?? (isShownByOthers ? null : (odd[0] ?? null));
  // A few values agree by chance: rows that are missing may have had none of them, and the odd metric may be right.
  const others = certain.length === 0 ? assumed : certain;
  const isThin = odd.length > 0 && others.every((each) => !each.agrees || each.nonZero < LEAST_VALUES);
  const rounded = isShown(others) ? null : (others.find((each) => each.agrees && !each.isExact) ?? null);
  const isSilent = comparisons.length === 0 || isThin || rounded !== null;
  const verdict = against !== null ? 'unproven' : isSilent ? 'unverifiable' : 'proven';
  const isProven = verdict === 'proven';
  return {
    verdict,
    comparisons,
    against,
    rounded,
    notAdditive: isProven ? odd.map(({ metric }) => metric) : [],
    addsUp: isProven
      ? assumed.filter((each) => each.agrees && each.nonZero >= LEAST_VALUES).map(({ metric }) => metric)
      : [],
  };
}

/** How far each metric that speaks against an answer lies from its total. */
export function differencesOf(comparisons: readonly Comparison[]): ReadonlyMap<string, number> {
  return new Map(
    comparisons
      .filter(({ agrees }) => !agrees)
      .map(({ metric, sum, total }) => [metric, Math.abs(Number(sum) - Number(total))]),
  );
}

/**
 * The totals of the pages of one answer: stated once for all of them, or by each for its own rows. Both readings where they
 * differ; a metric that one page lacks is left out. Which it is, only the metrics that are summed tell: what the service says of
 * others proves nothing, and may be another estimate each time.
 */
export function totalsOfPages(pages: readonly Totals[], summed: ReadonlySet<string>): Totals[] {
  const [first, ...others] = pages;
  if (first === undefined) return [new Map()];
  if (others.length === 0) return [first];
  const telling = [...new Set(pages.flatMap((page) => [...page.keys()]))].filter((metric) => summed.has(metric));
  const isRepeated = telling.every((metric) =>
    others.every((other) => isSameTotal(first.get(metric), other.get(metric))),
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
  const [first, ...others] = totals;
  if (first === undefined) return new Map();
  if (others.length === 0) return first;
  const complete = [...first.keys()].filter((metric) => others.every((other) => other.has(metric)));
  return new Map(
    complete.map((metric) => {
      const all = totals.map((each) => each.get(metric) ?? { text: '0', slack: 0 });
      return [
        metric,
        {
          text: String(all.reduce((sum, { text }) => sum + Number(text), 0)),
          slack: all.reduce((sum, { slack }) => sum + slack, 0),
        },
      ];
    }),
  );
}
