/** One run: what it was started with, and how its results are recorded and reported. Decides nothing. */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { LoadWarning } from '../load/answer-pages.ts';
import type { Loaded } from '../load/outcome.ts';
import type { DayInterval } from '../model/calendar.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, type Window } from '../model/window.ts';
import { periodsByReason, type SlicePlan } from '../plan/plan.ts';
import { saveSize } from '../warehouse/ledger.ts';
import { recordWarning } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { namesOf, type RunRecord } from './summary.ts';

export interface RunRequest {
  readonly command: 'sync' | 'backfill' | 'replay';
  /** The stated instant to plan for, which also counts as the fetch; null: plan for now, and count the actual fetch. */
  readonly asOf: Date | null;
  /** Names of the slices in the run; null: all. */
  readonly slices: readonly string[] | null;
  readonly lockWaitMs: number;
  /** Nothing new begins after this long; null: no deadline. */
  readonly deadlineMs: number | null;
  /** For `backfill`: exactly the periods that touch these days, whatever their state. */
  readonly forced: DayInterval | null;
  readonly acceptLoss: boolean;
}

/** What a run was started with, and what everything in it works on. */
export interface Run {
  readonly config: Config;
  readonly request: RunRequest;
  readonly warehouse: Warehouse;
  readonly slices: readonly Slice[];
  readonly record: RunRecord;
  readonly runId: string;
  readonly planAt: Date;
  readonly emit: Emit;
  /** Aborted by a signal or the deadline. */
  readonly signal: AbortSignal;
}

/** Counts and reports the windows planned for a slice, and the periods left as they are because a later fetch is stored. */
export async function recordPlan(plan: SlicePlan, run: Run): Promise<void> {
  const { record, emit } = run;
  record.plan(plan);
  const periods = Object.values(periodsByReason(plan.windows)).reduce((sum, each) => sum + each, 0);
  if (plan.storedNewer > 0) {
    const message = `${plan.storedNewer} periods were fetched after the as-of instant and were left as they are.`;
    await warn({ code: 'AS_OF_OLDER', message }, plan.slice.name, run);
  }
  emit({ type: 'slice_planned', slice: plan.slice.name, windows: plan.windows.length, periods });
  if (run.request.forced !== null && plan.storedNewer === 0)
    await recordForced(plan, run.request.forced, run);
}

/** Reports which of the days to load again are not requested; records a failure if none are. */
async function recordForced(
  { slice, windows }: SlicePlan,
  forced: DayInterval,
  run: Run,
): Promise<void> {
  const because =
    slice.grain === null
      ? 'lie outside its date period'
      : 'have not begun, or are older than `retain` allows';
  const [first, last] = [windows.at(0)?.requested.start, windows.at(-1)?.requested.end];
  const days = labelOf({ requested: forced });
  if (first === undefined || last === undefined) {
    const message = `slice ${slice.name}: the days ${days} were not requested: they ${because}.`;
    const hint = 'Give days that the date period of the slice covers, and `retain` keeps.';
    recordFailed(new Failure('USAGE_INVALID', message, { hint }), slice.name, run);
  } else if (forced.start < first || last < forced.end) {
    const requested = labelOf({ requested: { start: first, end: last } });
    const message = `Of the days ${days} only ${requested} were requested: the others ${because}.`;
    await warn({ code: 'BACKFILL_CUT', message }, slice.name, run);
  }
}

/** Counts and reports a loaded window, and remembers the parts it had to be divided into, unless they did not help. */
export async function recordLoaded(result: Loaded, run: Run): Promise<void> {
  const { window, rows, warnings } = result;
  const { name } = window.slice;
  const restatedPeriods = run.record.load(result);
  if (window.parts.length > 1 && warnings.every(({ code }) => code !== 'UNPROVEN')) {
    const { fingerprint, parts } = window;
    await saveSize(run.warehouse, { slice: name, fingerprint }, { parts }, run.planAt);
  }
  run.emit({ type: 'window_loaded', slice: name, window: labelOf(window), rows, restatedPeriods });
  for (const warning of warnings) await warn(warning, window, run);
}

/** Counts and reports a failure of a window, or of a slice by its name. */
export function recordFailed(
  failure: Failure,
  about: Window | string,
  { record, emit }: Pick<Run, 'record' | 'emit'>,
): void {
  const { code, message, hint } = failure;
  record.fail(failure, about);
  emit({ type: 'failed', code, ...namesOf(about), message, hint });
}

/** Records and reports a warning about a window, about a slice by its name, or about the whole run (null). */
export async function warn(
  { code, message }: LoadWarning,
  about: Window | string | null,
  { warehouse, runId, emit }: Pick<Run, 'warehouse' | 'runId' | 'emit'>,
): Promise<void> {
  const names = namesOf(about);
  const days = about === null || typeof about === 'string' ? null : about.requested;
  await recordWarning(warehouse, { runId, slice: names.slice, days, code, message });
  emit({ type: 'warning', code, ...names, message });
}
