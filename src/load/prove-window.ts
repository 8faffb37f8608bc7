/** The verdict on whether a window's answers are complete. */

import { Failure } from '../errors.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import type { Part } from '../model/part.ts';
import { subjectOf } from './check.ts';
import type { Found } from './findings.ts';
import type { Sound } from './judge-answers.ts';
import { readStagedValues } from './known-values.ts';
import type { LoadRequest } from './load-request.ts';
import type { LoadResult, LoadWarning, Shortfall } from './load-result.ts';
import { differencesOf, type Comparison } from './proof.ts';
import { provePart, proveWhole } from './prove.ts';

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
  if (first === null) return { kind: 'failed', window, failure };
  const rows = new Map(window.parts.map((part, at) => [part, parts[at]?.rowCount ?? 0]));
  // Days divide a window of several periods.
  const values = window.periods.length > 1 ? new Map() : await readStagedValues(warehouse, target, windowNo);
  return { kind: 'split', window, failure, shortfalls, values, rows };
}

const nothingProven: Omit<ProvenWindow, 'verdict'> = { comparisons: [], notAdditive: [], addsUp: [], warnings: [] };
