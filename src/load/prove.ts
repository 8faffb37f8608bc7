/** The proofs of a window's parts, each by its own totals, and of the parts together by the totals of the whole. */

import * as z from 'zod';

import type { WholeAnswer } from '../spool/spool.ts';
import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { PartAnswer } from './judge-answers.ts';
import {
  compareTotals,
  proofOf,
  statedTotals,
  totalsOfPages,
  type Comparison,
  type MetricSum,
  type Proof,
} from './proof.ts';
import { fractionDigits } from './replacing-sql.ts';

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
  for (const metric of certainMetrics(sums)) {
    const stated = totals.get(metric);
    if (stated === undefined) continue;
    const ofMetric = sums.flatMap((part) => part.filter((sum) => sum.metric === metric));
    // A part's own total is the better sum where its rows are stated with fewer digits.
    const sum = ofMetric.reduce((all, part) => all + Number(part.distinctSum ?? part.sum ?? 0), 0);
    const magnitude = ofMetric.reduce((all, part) => all + part.magnitude, 0);
    const slack = slackOf(metric, proofs) + stated.slack + Number.EPSILON * Math.max(magnitude, Math.abs(sum));
    const isCount = ofMetric.every((part) => part.isCount);
    const away = Math.abs(sum - Number(stated.text));
    if (away > (isCount ? 0 : slack)) {
      return `the ${metric} of its parts added up to ${sum}, the whole's total was ${stated.text}: a value may be in neither part`;
    }
  }
  return null;
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
