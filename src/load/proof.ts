/** Proves one answer: its rows equal the totals that the service stated for it. Pure. */

import type { Doubt } from './answer-pages.ts';
import type { AnswerFacts } from './answered.ts';
import { compareTotals, type Proof, proofOf, statedTotals, totalsOfPages } from './totals.ts';

export interface AnswerProof extends Proof {
  readonly answer: AnswerFacts;
  /** Why the rows may be incomplete, unless their totals refute it. */
  readonly doubt: Doubt | null;
}

/** Compares an answer's rows with its totals. Prefers the reading of the pages' totals that proves it. */
export function proveAnswer(answer: AnswerFacts): AnswerProof {
  const { sums, totals, rows, doubt } = answer;
  const summed = new Set(sums.map(({ metric }) => metric));
  const proofs = totalsOfPages(totals.map(statedTotals), summed).map((stated) =>
    proofOf(compareTotals(sums, stated, rows)),
  );
  const proof = proofs.find(({ verdict }) => verdict === 'proven') ?? proofs[0] ?? proofOf([]);
  const isRefuted = proof.verdict === 'proven' && doubt?.isRefutable === true;
  return { ...proof, answer, doubt: isRefuted ? null : doubt };
}

/** Whether the answer is shown to lack rows, or is suspected to. */
export const isShort = ({ against, doubt }: AnswerProof): boolean =>
  against !== null || doubt !== null;

/** The same, but not if its rows add up to more than the service stated. */
export const lacksRows = ({ against, doubt }: AnswerProof): boolean =>
  doubt !== null ||
  (against !== null && Math.abs(Number(against.sum)) < Math.abs(Number(against.total)));

/** Why an answer is short, as the end of a sentence about its window. */
export const clauseOf = ({ against, doubt }: AnswerProof): string =>
  against === null
    ? `the answer was not complete: ${doubt?.because ?? ''}`
    : `the rows' ${against.metric} added up to ${against.sum}, the service's total was ${against.total}`;
