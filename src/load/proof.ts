/**
 * The completeness proof: the rows' sums against the totals the service stated, each part by its own, the parts together by
 * the whole's.
 *
 * Strict about rows: a count that is documented to add up must agree exactly. Fair about arithmetic: money agrees within
 * what the digits stated allow, and a metric that only seems to add up is no evidence against the others.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { type Day, lastDay } from '../model/calendar.ts';
import { filtersMetric } from '../model/dimension.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { type Part, subjectOf, type Window } from '../model/window.ts';
import type { WholeAnswer } from '../spool/spool.ts';
import { count } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Doubt, PartAnswer, Sound } from './answers.ts';
import type { Found } from './check.ts';
import type { MetricSum } from './part-sums.ts';
import { readStagedLabels, readStagedValues } from './known-values.ts';
import type { LoadRequest, LoadResult, LoadWarning, Shortfall } from './load-result.ts';
import { fractionDigits } from './sums-sql.ts';
import {
  addTotals,
  type Comparison,
  type Proof,
  type Total,
  compareTotals,
  differencesOf,
  proofOf,
  statedTotals,
  totalsOfPages,
} from './totals.ts';

/** A window that may be loaded, and what its totals have shown. */
export interface ProvenWindow {
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
  readonly warnings: readonly LoadWarning[];
}

/** The verdict on a window's completeness, or what is to be done instead of loading it. */
export async function proveWindow(
  sound: Sound,
  { warehouse, target }: LoadRequest,
  { sums, rejects }: Found,
): Promise<ProvenWindow | LoadResult> {
  const { spooled, windowNo, parts } = sound;
  const { slice } = target;
  const { window } = spooled;
  const proofs = await Promise.all(
    parts.map(async (part, partNo) => provePart(warehouse, part, sums[partNo] ?? [], { windowNo, partNo })),
  );
  const shortfalls = new Map<Part, Shortfall>();
  const unfollowed = doubtedRows(parts);
  const isRefuted =
    unfollowed.length > 0 && isShownByYear(sums, proofs, spooled.byYear, { years: yearsIn(window), unfollowed });
  let first: string | null = null;
  for (const [partNo, { against, doubt, comparisons }] of proofs.entries()) {
    const part = window.parts[partNo];
    const isDoubted = doubt !== null && !(isRefuted && doubt.refutedBy === 'the whole');
    if (part === undefined || (against === null && !isDoubted)) continue;
    first ??=
      against === null
        ? `the answer was not complete: ${doubt?.because ?? ''}`
        : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;
    shortfalls.set(part, {
      rows: parts[partNo]?.rowCount ?? 0,
      differences: differencesOf(comparisons),
      isCut: against === null,
      isAssumed: against?.isAssumed === true,
    });
  }
  const isDivided = first === null && window.parts.length > 1;
  // Of rows that are left out no labels are staged.
  const lost = async (): Promise<string | null> =>
    rejects === undefined ? lostValue(warehouse, spooled.whole, windowNo) : null;
  const whole = isDivided ? (proveWhole(sums, proofs, spooled.whole) ?? (await lost())) : null;
  const because = first ?? whole;
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  // What was left out may be all that a metric has: nothing is concluded but from what disagrees.
  if (because === null && rejects !== undefined) return { ...nothingProven, verdict: 'unverifiable' };
  if (because === null) {
    const isUnverifiable = proofs.some(
      ({ verdict }, at) => verdict === 'unverifiable' && (parts[at]?.rowCount ?? 0) > 0,
    );
    // A row without a value in what adds up may be on a page that nobody read.
    const isHidden = isRefuted && target.columns.metrics.some(({ additive, isAssumed }) => !additive || isAssumed);
    const verdict = isUnverifiable || isHidden || comparisons.length === 0 ? 'unverifiable' : 'proven';
    const [notAdditive, addsUp] = [
      proofs.flatMap((proof) => proof.notAdditive),
      proofs.flatMap((proof) => proof.addsUp),
    ];
    return { verdict, comparisons, notAdditive, addsUp, warnings: isRefuted ? [unreadPages(parts)] : [] };
  }
  const message = `${subjectOf(window)}: ${because}.`;
  if (slice.completeness === 'warn') {
    const text = `The answer was loaded although it was not shown to be complete: ${because}.`;
    return { ...nothingProven, verdict: 'unproven', comparisons, warnings: [{ code: 'UNPROVEN', message: text }] };
  }
  const isUnheld = first === null ? spooled.whole !== null && 'because' in spooled.whole : unfollowed.length > 0;
  const isUnseen = isUnheld && certainMetrics(sums).size === 0;
  const isFiltered = unfollowed.length > 0 && Object.keys(slice.parameters).some(filtersMetric);
  const hint = isFiltered ? FILTERED_HINT : isUnseen ? UNSEEN_HINT : UNPROVEN_HINT;
  const failure = new Failure('DATA_INCOMPLETE', message, { hint });
  // The parts agree with their own totals and not with the whole's: dividing them further cannot help.
  if (first === null) {
    const isStated = spooled.whole !== null && !('because' in spooled.whole);
    return { kind: 'failed', window, failure, ...(isStated ? { losesRows: true } : {}) };
  }
  const rows = new Map(window.parts.map((part, at) => [part, parts[at]?.rowCount ?? 0]));
  // Days divide a window of several periods.
  const values = window.periods.length > 1 ? new Map() : await readStagedValues(warehouse, target, windowNo);
  return { kind: 'split', window, failure, shortfalls, values, rows };
}

const UNPROVEN_HINT =
  'Run again later; where it stays so, `additive: { name: false }` says which metric does not add up, and `completeness: warn` loads all the same.';
/** What came is compared with the report by the year, which such a filter would look at as one row. */
const FILTERED_HINT =
  'Take the filter of a metric out of the slice, and filter its table instead: its rows can then be compared with the totals by the year. `completeness: warn` loads all the same.';
/** Without a sum the whole is asked for by a dimension that divides it: where that is the only one, as heavy as the report itself. */
const UNSEEN_HINT =
  'Add a metric that adds up to the slice, such as installs: the whole is then asked for by its dates, or the year, alone. `completeness: warn` loads all the same.';

const nothingProven: Omit<ProvenWindow, 'verdict'> = { comparisons: [], notAdditive: [], addsUp: [], warnings: [] };

export interface PartProof extends Proof {
  /** Why the rows may not be all there are although no total beside them speaks against that; null when nothing says so. */
  readonly doubt: Doubt | null;
}

/** Holds a part's sums against its totals. */
async function provePart(
  warehouse: Warehouse,
  part: PartAnswer,
  sums: readonly MetricSum[],
  at: { readonly windowNo: number; readonly partNo: number },
): Promise<PartProof> {
  const digitsOf = async (metric: string): Promise<number> => {
    const sql = fractionDigits(metric, at.windowNo, at.partNo);
    const [found] = await warehouse.rows(sql, [], z.object({ digits: count.nullable() }));
    return found?.digits ?? 0;
  };
  let best: Proof | null = null;
  for (const totals of totalsOfPages(part.totals.map(statedTotals))) {
    const proof = proofOf(await compareTotals(sums, totals, part.rowCount, digitsOf));
    if (best === null || proof.verdict === 'proven') best = proof;
    if (best.verdict === 'proven') break;
  }
  const proof = best ?? proofOf([]);
  const isRefuted = proof.verdict === 'proven' && part.doubt?.refutedBy === 'its totals';
  return { ...proof, doubt: isRefuted ? null : part.doubt };
}

/** How many rows came of each part whose next page could not be followed. */
function doubtedRows(parts: readonly PartAnswer[]): number[] {
  return parts.flatMap(({ doubt, rowCount }) => (doubt?.refutedBy === 'the whole' ? [rowCount] : []));
}

/** How many calendar years the days that were asked for lie in. */
function yearsIn({ asked }: Window): number {
  const yearOf = (day: Day): number => Number(day.slice(0, 4));
  return yearOf(lastDay(asked)) - yearOf(asked.start) + 1;
}

/**
 * Whether the whole by the year, which lacks no row, has no more in it than came. Fewer rows than years may be the first page of
 * the very same, unless each part whose next page could not be followed came with more. What no totals state is the sum of the
 * rows of all years.
 */
export function isShownByYear(
  sums: readonly (readonly MetricSum[])[],
  proofs: readonly PartProof[],
  byYear: WholeAnswer | null,
  { years, unfollowed }: { readonly years: number; readonly unfollowed: readonly number[] },
): boolean {
  if (byYear === null || 'because' in byYear) return false;
  const { rows } = byYear;
  if (rows.length < years && rows.length >= Math.min(...unfollowed)) return false;
  const totals = new Map([...(rows.length === years ? totalsOfRows(rows) : []), ...byYear.totals]);
  const isStated = [...certainMetrics(sums)].some((metric) => totals.has(metric));
  return isStated && proveWhole(sums, proofs, { ...byYear, totals }) === null;
}

/** What rows add up to, as totals state it. */
function totalsOfRows(rows: readonly Readonly<Record<string, unknown>>[]): Map<string, string> {
  const stated = rows.map((row) =>
    statedTotals(new Map(Object.entries(row).map(([name, value]) => [name, String(value)]))),
  );
  return new Map([...addTotals(stated)].map(([metric, { text }]) => [metric, text]));
}

function unreadPages(parts: readonly PartAnswer[]): LoadWarning {
  const because = parts.find(({ doubt }) => doubt?.refutedBy === 'the whole')?.doubt?.because ?? '';
  const text = `The rows add up to what the service states of the whole, although a next page was named that could not be followed: ${because}.`;
  return { code: 'PAGES_NOT_FOLLOWED', message: text };
}

/** What speaks against parts that agree with their own totals, as a clause; null when the whole agrees with them too. */
export function proveWhole(
  sums: readonly (readonly MetricSum[])[],
  proofs: readonly PartProof[],
  whole: WholeAnswer | null,
): string | null {
  if (whole === null) return null;
  if ('because' in whole) return `its parts could not be held against the whole: ${whole.because}`;
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
    const slack = slackOf(metric, proofs) + stated.slack + Number.EPSILON * Math.max(magnitude, Math.abs(sum));
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
async function lostValue(warehouse: Warehouse, whole: WholeAnswer | null, windowNo: number): Promise<string | null> {
  if (whole === null || 'because' in whole) return null;
  for (const [dimension, values] of whole.values) {
    const held = await readStagedLabels(warehouse, dimension, windowNo);
    const lost = [...values].find((value) => !held.has(value));
    if (lost !== undefined)
      return `the whole has rows whose ${dimension} is ${lost ?? 'NULL'}, and its parts have none`;
  }
  return null;
}

const hasValues = (sums: readonly (readonly MetricSum[])[]): boolean =>
  sums.some((part) => part.some(({ nonZero }) => nonZero > 0));

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
  return { text: String(Math.max(ofRows, sum)), slack: values * 0.005 };
}

/** The metrics that are known to add up. */
function certainMetrics(sums: readonly (readonly MetricSum[])[]): Set<string> {
  return new Set(sums.flatMap((part) => part.filter(({ isAssumed }) => !isAssumed).map(({ metric }) => metric)));
}

/** How far the parts' sums lie from their own totals, which the arithmetic of the service allows. */
function slackOf(metric: string, proofs: readonly PartProof[]): number {
  const mine: Comparison[] = proofs.flatMap((proof) => proof.comparisons.filter((each) => each.metric === metric));
  return mine.reduce((sum, each) => sum + Math.abs(Number(each.sum) - Number(each.total)), 0);
}
