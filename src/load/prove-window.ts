/** The verdict on whether a window's answers are complete: each part by its own totals, the parts together by the whole's. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import type { Part } from '../model/part.ts';
import type { WholeAnswer } from '../spool/spool.ts';
import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { subjectOf } from './check.ts';
import type { Found } from './findings.ts';
import type { PartAnswer, Sound } from './judge-answers.ts';
import { readStagedValues } from './known-values.ts';
import type { LoadRequest, LoadResult, LoadWarning, Shortfall } from './load-result.ts';
import {
  compareTotals,
  type Comparison,
  differencesOf,
  type MetricSum,
  type Proof,
  proofOf,
  statedTotals,
  type Total,
  totalsOfPages,
} from './proof.ts';
import { fractionDigits } from './replacing-sql.ts';

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
  // Rows left out take their values out of every sum, so nothing can be compared.
  if (rejects !== undefined) return { ...nothingProven, verdict: 'unverifiable' };
  const proofs = await Promise.all(
    parts.map(async (part, partNo) => provePart(warehouse, part, sums[partNo] ?? [], { windowNo, partNo })),
  );
  const shortfalls = new Map<Part, Shortfall>();
  let first: string | null = null;
  for (const [partNo, { against, doubt, comparisons }] of proofs.entries()) {
    const part = window.parts[partNo];
    if (part === undefined || (against === null && doubt === null)) continue;
    first ??=
      against === null
        ? `the answer was not complete: ${doubt ?? ''}`
        : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;
    shortfalls.set(part, {
      rows: parts[partNo]?.rowCount ?? 0,
      differences: differencesOf(comparisons),
      isCut: against === null,
      isAssumed: against?.isAssumed === true,
    });
  }
  const whole = first === null && window.parts.length > 1 ? proveWhole(sums, proofs, spooled.whole) : null;
  const because = first ?? whole;
  const comparisons = proofs.flatMap((proof) => proof.comparisons);
  if (because === null) {
    const isUnverifiable = proofs.some(
      ({ verdict }, at) => verdict === 'unverifiable' && (parts[at]?.rowCount ?? 0) > 0,
    );
    const verdict = isUnverifiable || comparisons.length === 0 ? 'unverifiable' : 'proven';
    const [notAdditive, addsUp] = [
      proofs.flatMap((proof) => proof.notAdditive),
      proofs.flatMap((proof) => proof.addsUp),
    ];
    return { verdict, comparisons, notAdditive, addsUp, warnings: [] };
  }
  const message = `${subjectOf(window)}: ${because}.`;
  if (slice.completeness === 'warn') {
    const text = `The answer was loaded although it was not shown to be complete: ${because}.`;
    return { ...nothingProven, verdict: 'unproven', comparisons, warnings: [{ code: 'UNPROVEN', message: text }] };
  }
  const failure = new Failure('DATA_INCOMPLETE', message, {
    hint: 'Run again later; where it stays so, `additive: { name: false }` says which metric does not add up, and `completeness: warn` loads all the same.',
  });
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

const nothingProven: Omit<ProvenWindow, 'verdict'> = { comparisons: [], notAdditive: [], addsUp: [], warnings: [] };

export interface PartProof extends Proof {
  /** Why the rows may not be all there are although no total speaks against them; null when nothing says so. */
  readonly doubt: string | null;
}

/** Holds a part's sums against its totals. */
export async function provePart(
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
  const isRefuted = proof.verdict === 'proven' && part.doubt?.isRefutable !== false;
  return { ...proof, doubt: part.doubt === null || isRefuted ? null : part.doubt.because };
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
  if (totals.size === 0 && whole.rows.length === 0 && hasValues(sums)) {
    return 'its parts could not be held against the whole, which stated neither totals nor rows';
  }
  for (const metric of certainMetrics(sums)) {
    const ofMetric = sums.flatMap((part) => part.filter((sum) => sum.metric === metric));
    // A part's own total is the better sum where its rows are stated with fewer digits.
    const sum = ofMetric.reduce((all, part) => all + Number(part.distinctSum ?? part.sum ?? 0), 0);
    const magnitude = ofMetric.reduce((all, part) => all + part.magnitude, 0);
    const stated = totals.get(metric) ?? atLeast(metric, whole.rows, sum, ofMetric);
    const slack = slackOf(metric, proofs) + stated.slack + Number.EPSILON * Math.max(magnitude, Math.abs(sum));
    const isCount = ofMetric.every((part) => part.isCount);
    const away = Math.abs(sum - Number(stated.text));
    if (away > (isCount ? 0 : slack)) {
      const said = totals.has(metric) ? "the whole's total was" : "the whole's rows to";
      return `the ${metric} of its parts added up to ${sum}, ${said} ${stated.text}: a value may be in neither part`;
    }
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
