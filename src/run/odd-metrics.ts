/**
 * Metrics that seem to add up by their names and do not.
 *
 * An assumption is no reason to refuse an answer for ever. Where nothing but such metrics speaks against an answer, and
 * smaller questions bring no more rows, the rows are whole and the assumption was wrong.
 */

import type { LoadResult } from '../load/load-result.ts';
import { rememberAdditivity } from '../load/remembered.ts';
import type { Target } from '../load/target.ts';
import type { Window } from '../model/window.ts';
import { warn } from './outcome.ts';
import type { Run } from './run.ts';

/** The metrics that are all that speaks against an answer and are only assumed to add up; empty where more speaks. */
export function suspectedBy(result: LoadResult): readonly string[] {
  const shortfalls = result.kind === 'split' ? [...result.shortfalls.values()] : [];
  if (!shortfalls.every(({ isAssumed }) => isAssumed)) return [];
  const metrics = new Set<string>();
  for (const { differences } of shortfalls) for (const metric of differences.keys()) metrics.add(metric);
  return [...metrics];
}

/**
 * Whether the rows of one period are all there are: its two halves brought no more than the whole did, or each dimension
 * has one value at most. Where dividing ever brought more, answers are cut, and no later one can be trusted to be whole.
 */
export function isWhole(result: LoadResult, isWithoutProgress: boolean): boolean {
  if (result.kind !== 'split' || result.window.periods.length > 1) return false;
  const { window, values } = result;
  if (window.parts.length === 1) return [...values.values()].every((some) => some.length < 2);
  return window.parts.length === 2 && isWithoutProgress;
}

/** Remembers and tells that metrics do not add up in a slice; returns the target that no longer sums them. */
export async function stopSumming(
  metrics: readonly string[],
  target: Target,
  { window, requestedAt }: { readonly window: Window; readonly requestedAt: Date },
  run: Run,
): Promise<Target> {
  for (const metric of metrics) {
    const message = `The rows' ${metric} did not add up to the service's total, and smaller questions brought no more rows: it is not additive here, and no longer summed.`;
    await warn({ code: 'NOT_ADDITIVE', message }, window, run);
  }
  return rememberAdditivity(run.warehouse, target, { notAdditive: metrics, addsUp: [] }, requestedAt);
}
