/**
 * The parts of a window held against its whole: what agrees with its own totals may still leave something out, as a value that
 * is in none of the parts.
 */

import { isPassing } from '../errors.ts';
import { metricFilters } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import { isFiltered, type Window } from '../model/window.ts';
import type { Spooled, WholeAnswer } from '../spool/spool.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { readStagedLabels } from './known-values.ts';
import type { MetricSum, PartSums } from './part-sums.ts';
import type { MetricColumn } from './target.ts';
import { addTotals, type Comparison, type Proof, type Total, type Totals, statedTotals } from './totals.ts';

/** Money is stated with two digits at least. */
const HALF_A_CENT = 0.005;

type Stated = Extract<WholeAnswer, { readonly rows: unknown }>;

/** What became of holding parts against their whole, each as a clause. */
export interface Held {
  /** What speaks against the parts. */
  readonly against: string | null;
  /** Why it cannot be told whether they are all there is, where nothing speaks against them. */
  readonly unheld: string | null;
}

/** Holds parts that agree with their own totals against the whole. */
export function holdParts(
  { window, whole }: Pick<Spooled, 'window' | 'whole'>,
  metrics: readonly MetricColumn[],
  sums: PartSums,
  proofs: readonly Pick<Proof, 'comparisons'>[],
): Held {
  if (!isFiltered(window)) return { against: proveWhole(sums, proofs, whole), unheld: null };
  if (whole === null) {
    const isSummed = certainMetrics(sums).size > 0;
    return { against: null, unheld: isSummed ? 'that was not asked for' : 'none of its metrics is known to add up' };
  }
  if ('because' in whole) {
    const isLater = whole.failure !== undefined && isPassing(whole.failure);
    return isLater ? { against: notHeld(whole.because), unheld: null } : { against: null, unheld: whole.because };
  }
  return holdUnfiltered(window, whole, sums, metrics);
}

/** What speaks against parts that agree with their own totals, as a clause; null when the whole agrees with them too. */
export function proveWhole(
  sums: PartSums,
  proofs: readonly Pick<Proof, 'comparisons'>[],
  whole: WholeAnswer | null,
): string | null {
  if (whole === null) return null;
  if ('because' in whole) return notHeld(whole.because);
  return differenceOf(sums, whole, (metric) => slackOf(metric, proofs));
}

/**
 * The same by what the service states of parts and whole without the filter of a metric. Rows that the filter leaves out may
 * be missing: where less of a count is than the filter asks of one row, no row of the slice is.
 */
function holdUnfiltered(
  { parts, slice }: Window,
  whole: Stated,
  sums: PartSums,
  metrics: readonly MetricColumn[],
): Held {
  const ofWhole = totalsIn(whole);
  const ofParts = parts.map((part) => whole.byPart?.get(part)).filter((part) => part !== undefined && 'rows' in part);
  const known = [...certainMetrics(sums)].filter((metric) => ofWhole.has(metric));
  const isSilent = parts.some((_, at) => hasValues([sums[at] ?? []]) && totalsIn(ofParts[at]).size === 0);
  if (ofParts.length < parts.length || isSilent || known.length === 0) {
    return { against: null, unheld: 'the service did not state the totals of each' };
  }
  const isAll = metrics.every(({ additive, isAssumed }) => additive && !isAssumed) && known.length === metrics.length;
  const counts = new Set(sums.flatMap((part) => part.filter(({ isCount }) => isCount).map(({ metric }) => metric)));
  const stated = ofParts.map((part) => statedSums(part, known, counts));
  const leasts = leastCounts(
    slice,
    known.filter((metric) => counts.has(metric)),
  );
  const isLeftOut = leasts.some(({ metric, least }) => {
    const ofMetric = stated.flatMap((part) => part.filter((sum) => sum.metric === metric));
    const missing = Number(ofWhole.get(metric)?.text) - ofMetric.reduce((all, { sum }) => all + Number(sum), 0);
    return missing >= 0 && missing < least;
  });
  const slackIn = (metric: string): number =>
    ofParts.reduce((all, part) => all + (totalsIn(part).get(metric)?.slack ?? 0) + part.rows.length * HALF_A_CENT, 0);
  const against = isLeftOut
    ? null
    : differenceOf(stated, whole, (metric) => slackIn(metric) + whole.rows.length * HALF_A_CENT);
  return {
    against: against === null ? null : `without the filter of a metric, ${against}`,
    unheld: isAll || leasts.length > 0 ? null : 'rows without a value in a metric that adds up show in no sum',
  };
}

/** What an answer states of each metric, else what its rows add up to. */
const totalsIn = (answer: Stated | undefined): Totals =>
  answer === undefined ? new Map() : new Map([...totalsOfRows(answer.rows), ...statedTotals(answer.totals)]);

/** What an answer states of a part, as the sums of its rows. */
function statedSums(answer: Stated, metrics: readonly string[], counts: ReadonlySet<string>): MetricSum[] {
  const totals = totalsIn(answer);
  return metrics.map((metric) => {
    const sum = totals.get(metric)?.text ?? '0';
    const magnitude = Math.abs(Number(sum));
    const isCount = counts.has(metric);
    return { metric, sum, distinctSum: sum, magnitude, nonZero: answer.rows.length, isCount, isAssumed: false };
  });
}

/** The counts of which a filter asks more than nothing of each row, and how much. */
function leastCounts({ parameters }: Slice, counts: readonly string[]): { metric: string; least: number }[] {
  const bounds = counts.flatMap((metric) =>
    metricFilters.flatMap((suffix) => {
      const name = `${metric}__${suffix}`;
      return Object.hasOwn(parameters, name) ? [{ metric, least: leastPassing[suffix](Number(parameters[name])) }] : [];
    }),
  );
  return bounds.filter(({ least }) => least > 0);
}

/** By filter, the least count that passes; 0 where none or nothing says. */
const leastPassing: Readonly<Record<(typeof metricFilters)[number], (bound: number) => number>> = {
  lt: () => 0,
  lte: () => 0,
  gt: (bound) => Math.floor(bound) + 1,
  gte: (bound) => bound,
  eq: (bound) => bound,
  ne: (bound) => (bound === 0 ? 1 : 0),
};

const notHeld = (because: string): string => `its parts could not be held against the whole: ${because}`;

function differenceOf(sums: PartSums, whole: Stated, slackOf: (metric: string) => number): string | null {
  const totals = statedTotals(whole.totals);
  // Of a metric that was found to add up meanwhile no totals were asked for; the values tell then.
  const hasNoValues = [...whole.values.values()].every(({ size }) => size === 0);
  if (totals.size === 0 && whole.rows.length === 0 && hasNoValues && hasValues(sums)) {
    return 'its parts could not be held against the whole, which stated neither totals nor rows';
  }
  for (const metric of certainMetrics(sums)) {
    const ofMetric = sums.flatMap((part) => part.filter((sum) => sum.metric === metric));
    // A part's own total is the better sum where its rows are stated with fewer digits.
    const sum = ofMetric.reduce((all, part) => all + Number(part.distinctSum ?? part.sum ?? 0), 0);
    const magnitude = ofMetric.reduce((all, part) => all + part.magnitude, 0);
    const stated = totals.get(metric) ?? atLeast(metric, whole.rows, sum, ofMetric);
    const slack = slackOf(metric) + stated.slack + Number.EPSILON * Math.max(magnitude, Math.abs(sum));
    const isCount = ofMetric.every((part) => part.isCount) && Number.isInteger(sum);
    const away = Math.abs(sum - Number(stated.text));
    if (away > (isCount ? 0 : slack)) {
      const said = totals.has(metric) ? "the whole's total was" : "the whole's rows to";
      return `the ${metric} of its parts added up to ${sum}, ${said} ${stated.text}: a value may be in neither part`;
    }
  }
  return null;
}

/** What the whole has rows of and its parts have none of, as a clause; null when they have all, or nothing was asked. */
export async function lostValue(
  warehouse: Warehouse,
  whole: WholeAnswer | null,
  windowNo: number,
): Promise<string | null> {
  if (whole === null || 'because' in whole) return null;
  for (const [dimension, values] of whole.values) {
    const held = await readStagedLabels(warehouse, dimension, windowNo);
    const lost = [...values].find((value) => !held.has(value));
    if (lost !== undefined)
      return `the whole has rows whose ${dimension} is ${lost ?? 'NULL'}, and its parts have none`;
  }
  return null;
}

const hasValues = (sums: PartSums): boolean => sums.some((part) => part.some(({ nonZero }) => nonZero > 0));

/**
 * The total that the whole's rows by date show where it states none. They may be cut themselves, so they can show that the
 * parts lack something and never that they have too much. Rows are stated with two digits at least.
 */
function atLeast(
  metric: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  sum: number,
  ofMetric: readonly MetricSum[],
): Total {
  const ofRows = rows.reduce((all, row) => all + (Number(row[metric] ?? 0) || 0), 0);
  const values = rows.length + ofMetric.reduce((all, { nonZero }) => all + nonZero, 0);
  return { text: String(Math.max(ofRows, sum)), slack: values * HALF_A_CENT };
}

/** The metrics that are known to add up. */
export function certainMetrics(sums: PartSums): Set<string> {
  return new Set(sums.flatMap((part) => part.filter(({ isAssumed }) => !isAssumed).map(({ metric }) => metric)));
}

/** How far the parts' sums lie from their own totals, which the arithmetic of the service allows. */
function slackOf(metric: string, proofs: readonly Pick<Proof, 'comparisons'>[]): number {
  const mine: Comparison[] = proofs.flatMap((proof) => proof.comparisons.filter((each) => each.metric === metric));
  return mine.reduce((sum, each) => sum + Math.abs(Number(each.sum) - Number(each.total)), 0);
}

/** What rows add up to, as totals state it. */
export function totalsOfRows(rows: readonly Readonly<Record<string, unknown>>[]): Totals {
  const stated = rows.map((row) =>
    statedTotals(new Map(Object.entries(row).map(([name, value]) => [name, String(value)]))),
  );
  return addTotals(stated);
}
