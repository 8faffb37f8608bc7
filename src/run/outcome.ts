/** What becomes of a run's windows: planned, loaded or failed; counted in the run, recorded in the ledger, and told. */

import { asFailure, Failure } from '../errors.ts';
import type { Loaded, LoadRequest, LoadResult, LoadWarning } from '../load/load-result.ts';
import { load } from '../load/load.ts';
import { labelOf, subjectOf, type Window } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import type { Spooled } from '../spool/spool.ts';
import { learnParts } from '../warehouse/ledger.ts';
import { recordWarning } from '../warehouse/runs.ts';
import type { Run } from './run.ts';

type LoadedWindow = Extract<LoadResult, { readonly kind: 'loaded' }>;

/** Counts and tells the windows a slice is to get, and what is left as it is because a later fetch brought it. */
export async function recordPlan(plan: SlicePlan, run: Run): Promise<void> {
  const { record, emit } = run;
  record.plan(plan);
  const periods = plan.windows.reduce((sum, window) => sum + window.periods.length, 0);
  if (plan.heldNewer > 0) {
    const message = `${plan.heldNewer} periods are held from a fetch after the as-of instant, and were left as they are.`;
    await warn({ code: 'AS_OF_OLDER', message }, plan.slice.name, run);
  }
  emit({ type: 'slice_planned', slice: plan.slice.name, windows: plan.windows.length, periods });
}

/**
 * Loads a batch. Where the engine has too little memory for it, its windows go one by one, and one that is too large by
 * itself is to be split; any other failure of the batch becomes that of each of its windows. Throws `STORAGE_FAILED`.
 */
export async function loadBatch(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
  try {
    return await load(batch, request);
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code === 'STORAGE_FAILED') throw failure;
    if (failure.code !== 'ENGINE_MEMORY') {
      return { results: batch.map(({ window }) => ({ kind: 'failed', window, failure })), target: request.target };
    }
    return batch.length === 1 ? { results: batch.map(tooLarge), target: request.target } : oneByOne(batch, request);
  }
}

async function oneByOne(batch: readonly Spooled[], request: LoadRequest): Promise<Loaded> {
  const results: LoadResult[] = [];
  let { target } = request;
  for (const spooled of batch) {
    const loaded = await loadBatch([spooled], { ...request, target });
    results.push(...loaded.results);
    ({ target } = loaded);
  }
  return { results, target };
}

/** A window whose answer the engine cannot hold: its largest part is to be asked for in smaller ones. */
function tooLarge({ window, answers }: Spooled): LoadResult {
  const bytes = answers.map(({ pages }) => pages.reduce((sum, page) => sum + page.plainBytes, 0));
  const largest = Math.max(...bytes);
  const part = window.parts[bytes.indexOf(largest)];
  const megabytes = Math.round(largest / 1_000_000);
  const message = `${subjectOf(window)}: an answer of ${megabytes} MB took more memory to load than the database has.`;
  const failure = new Failure('SOURCE_TOO_HEAVY', message, {
    facts: { bytes: largest },
    hint: 'Give the slice fewer dimensions or metrics, or filter it, so that one period is smaller.',
  });
  const shortfall = { rows: 0, differences: new Map<string, number>(), isCut: true, isAssumed: false };
  const shortfalls = new Map(part === undefined ? [] : [[part, shortfall]]);
  return { kind: 'split', window, failure, shortfalls, values: new Map(), rows: new Map() };
}

/** Counts and tells a window that became visible, and remembers the parts it had to be asked for in. */
export async function recordLoaded(result: LoadedWindow, run: Run): Promise<void> {
  const { window, rows, restatedPeriods, warnings } = result;
  const { name } = window.slice;
  run.record.load(window.slice, result);
  if (window.parts.length > 1) await learnParts(run.warehouse, name, window.fingerprint, window.parts);
  run.emit({ type: 'window_loaded', slice: name, window: labelOf(window), rows, restatedPeriods });
  for (const warning of warnings) await warn(warning, window, run);
}

/** Counts and tells a failure of a window, or of something else about a slice, which is then named. */
export function recordFailed(
  failure: Failure,
  about: Window | string,
  { record, emit }: Pick<Run, 'record' | 'emit'>,
): void {
  const { code, message, hint } = failure;
  record.fail(failure, typeof about === 'string' ? { slice: about } : { window: about });
  emit({ type: 'failed', code, ...namesOf(about), message, hint });
}

/** Records and tells a warning about a window, about a slice by its name, or about the whole run. */
export async function warn(
  { code, message }: LoadWarning,
  about: Window | string | null,
  { warehouse, runId, emit }: Pick<Run, 'warehouse' | 'runId' | 'emit'>,
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
