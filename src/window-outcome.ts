/** What becomes of a run's windows: planned, loaded or failed; counted in the run, recorded in the ledger, and told. */

import { asFailure, type Failure } from './errors.ts';
import type { Emit } from './events.ts';
import { load, type LoadRequest } from './load/load.ts';
import type { LoadResult, LoadWarning } from './load/load-result.ts';
import type { Target } from './load/target.ts';
import { labelOf, type Window } from './model/window.ts';
import type { SlicePlan } from './plan/plan.ts';
import type { RunRecord } from './run-record.ts';
import type { Spooled } from './spool/spool.ts';
import { learnParts } from './warehouse/ledger.ts';
import { recordWarning } from './warehouse/runs.ts';
import type { Warehouse } from './warehouse/warehouse.ts';

/** Where outcomes are written down. */
export interface Outcomes {
  readonly warehouse: Warehouse;
  readonly runId: string;
  readonly record: RunRecord;
  readonly emit: Emit;
}

type Loaded = Extract<LoadResult, { readonly kind: 'loaded' }>;

/** Counts and tells the windows a slice is to get. */
export function recordPlan(plan: SlicePlan, { record, emit }: Pick<Outcomes, 'record' | 'emit'>): void {
  record.plan(plan);
  const periods = plan.windows.reduce((sum, window) => sum + window.periods.length, 0);
  emit({ type: 'slice_planned', slice: plan.slice.name, windows: plan.windows.length, periods });
}

/** Loads a batch; an unforeseen failure of the batch becomes that of each of its windows. Throws `STORAGE_FAILED`. */
export async function loadBatch(
  batch: readonly Spooled[],
  request: LoadRequest,
): Promise<{ readonly results: readonly LoadResult[]; readonly target: Target }> {
  try {
    return await load(batch, request);
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code === 'STORAGE_FAILED') throw failure;
    return { results: batch.map(({ window }) => ({ kind: 'failed', window, failure })), target: request.target };
  }
}

/** Counts and tells a window that became visible, and remembers the parts it had to be asked for in. */
export async function recordLoaded(result: Loaded, outcomes: Outcomes): Promise<void> {
  const { window, rows, restatedPeriods, warnings } = result;
  const { name } = window.slice;
  outcomes.record.load(window.slice, result);
  if (window.parts.length > 1) await learnParts(outcomes.warehouse, name, window.fingerprint, window.parts);
  outcomes.emit({ type: 'window_loaded', slice: name, window: labelOf(window), rows, restatedPeriods });
  for (const warning of warnings) await warn(warning, window, outcomes);
}

/** Counts and tells a failure of a window, or of something else about a slice, which is then named. */
export function recordFailed(
  failure: Failure,
  about: Window | string,
  { record, emit }: Pick<Outcomes, 'record' | 'emit'>,
): void {
  const { code, message, hint } = failure;
  record.fail(failure, typeof about === 'string' ? { slice: about } : { window: about });
  emit({ type: 'failed', code, ...namesOf(about), message, hint });
}

/** Records and tells a warning about a window, about a slice by its name, or about the whole run. */
export async function warn(
  { code, message }: LoadWarning,
  about: Window | string | null,
  { warehouse, runId, emit }: Pick<Outcomes, 'warehouse' | 'runId' | 'emit'>,
): Promise<void> {
  const names = namesOf(about);
  const days = about === null || typeof about === 'string' ? null : about.asked;
  await recordWarning(warehouse, { runId, slice: names.slice, days, code, message });
  emit({ type: 'warning', code, ...names, message });
}

function namesOf(about: Window | string | null): { readonly slice: string | null; readonly window: string | null } {
  if (about === null || typeof about === 'string') return { slice: about, window: null };
  return { slice: about.slice.name, window: labelOf(about) };
}
