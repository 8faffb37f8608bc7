/**
 * Loading archived windows of a slice, in batches, from where they lie.
 *
 * A window counts as fetched when the archive says so, whatever the clock says now.
 */

import { Failure } from '../errors.ts';
import type { LoadResult } from '../load/load-result.ts';
import type { Target } from '../load/target.ts';
import type { ArchivedWindow } from '../spool/archive-choice.ts';
import { spooledFrom } from '../spool/archive-contents.ts';
import { learnWeekStart } from '../warehouse/ledger.ts';
import { stopSumming, suspectedBy } from './odd-metrics.ts';
import { loadBatch, recordFailed, recordLoaded, type Outcomes } from './outcome.ts';

export interface ReplayedRun extends Outcomes {
  readonly signal: AbortSignal;
}

/** One statement reads a batch, and its rows are held as text once: more would not load faster in this memory. */
const MAX_BATCH_WINDOWS = 8;

/** Loads windows of one slice in the given order; returns how many were loaded. Throws `STORAGE_FAILED`. */
export async function replayWindows(
  windows: readonly ArchivedWindow[],
  prepared: Target,
  run: ReplayedRun,
): Promise<number> {
  const { slice } = prepared;
  let target = prepared;
  let loaded = 0;
  for (const batch of batchesOf(windows)) {
    if (run.signal.aborted) break;
    const { asOf, metrics } = batch.entry;
    // The ledger learns which metrics came, so that those added since are due.
    const asked = { ...slice, metrics: slice.metrics.filter((metric) => metrics.includes(metric)) };
    const request = {
      warehouse: run.warehouse,
      runId: run.runId,
      asOf,
      // Whatever was archived had been accepted, losses too.
      acceptLoss: true,
      // What it would write beside the archive is not the archive's.
      columns: null,
    };
    const spooled = batch.windows.map((window) => spooledFrom(window, slice));
    const outcome = await loadBatch(spooled, { ...request, target: { ...target, slice: asked } });
    ({ target } = outcome);
    for (const first of outcome.results) {
      let results: readonly LoadResult[] = [first];
      const odd = suspectedBy(first);
      const again = spooled.find(({ window }) => window === first.window);
      if (odd.length > 0 && again !== undefined) {
        target = await stopSumming(odd, target, again, run);
        ({ results, target } = await loadBatch([again], { ...request, target }));
      }
      for (const result of results) {
        const isLoaded = await afterLoad(result, target.fingerprint, run);
        loaded += isLoaded ? 1 : 0;
      }
    }
    target = { ...target, slice };
  }
  return loaded;
}

interface ReplayBatch {
  /** Whose as-of instant and metrics all of them share. */
  readonly entry: ArchivedWindow['entry'];
  readonly windows: ArchivedWindow[];
}

function batchesOf(windows: readonly ArchivedWindow[]): ReplayBatch[] {
  const batches: ReplayBatch[] = [];
  for (const window of windows) {
    const { entry } = window;
    const last = batches.at(-1);
    const fits =
      last !== undefined &&
      last.windows.length < MAX_BATCH_WINDOWS &&
      last.entry.asOf?.getTime() === entry.asOf?.getTime() &&
      last.entry.metrics.join() === entry.metrics.join();
    if (fits) last.windows.push(window);
    else batches.push({ entry, windows: [window] });
  }
  return batches;
}

/** Says whether a window was loaded; any other is a failure, as there is nobody to ask again. */
async function afterLoad(result: LoadResult, fingerprint: string, run: ReplayedRun): Promise<boolean> {
  const { window } = result;
  if (result.kind === 'loaded') {
    await recordLoaded(result, run);
    if (window.slice.grain !== 'week') return true;
    const weekStartsOn = new Date(`${window.replaced.start}T00:00:00Z`).getUTCDay() === 0 ? 0 : 1;
    await learnWeekStart(run.warehouse, window.slice.name, fingerprint, weekStartsOn);
    return true;
  }
  const failure =
    result.kind === 'week start'
      ? new Failure('DATA_MALFORMED', `The archived answer's weeks began on another day than it was loaded with.`)
      : result.failure;
  recordFailed(failure, window, run);
  return false;
}
