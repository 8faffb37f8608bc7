/** One run, and how it reports what happens. */

import type { Config } from '../config/config.ts';
import { Failure, type WarningCode } from '../errors.ts';
import { type Emit, warningEvent } from '../events.ts';
import type { DayInterval } from '../model/calendar.ts';
import { countText } from '../model/measure.ts';
import type { Slice } from '../model/slice.ts';
import { labelOf, namesOf, type Window } from '../model/window.ts';
import { periodsByReason, type SlicePlan } from '../plan/plan.ts';
import { recordWarnings } from '../warehouse/runs.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { RunRecord } from './summary.ts';

export interface RunRequest {
  readonly command: 'sync' | 'backfill' | 'replay';
  /** The instant to plan for, which also counts as the fetch (default: now, and the actual fetch counts). */
  readonly asOf: Date | null;
  readonly slices: readonly string[] | null;
  /** For another run to release the warehouse (default: a minute). */
  readonly lockWaitMs: number;
  /** Nothing new is requested after it (default: no deadline). */
  readonly deadlineMs: number | null;
  /** The periods that touch these days are requested, whatever their state (default: the due ones). */
  readonly forced: DayInterval | null;
  /** Also loads an answer that would remove most rows. */
  readonly acceptLoss: boolean;
}

/** Options that may be left out or null, which both mean the default. */
export type Optional<T> = { readonly [K in keyof T]?: T[K] | null | undefined };

export type RunOptions = Pick<RunRequest, 'command'> & Optional<RunRequest>;

export interface Run {
  readonly config: Config;
  readonly request: RunRequest;
  readonly warehouse: Warehouse;
  readonly slices: readonly Slice[];
  /** What `emit` was called with. */
  readonly record: RunRecord;
  readonly runId: string;
  readonly planAt: Date;
  readonly emit: Emit;
  /** Aborted by a signal or the deadline. */
  readonly signal: AbortSignal;
}

export function reportPlan({ slice, windows, storedNewer }: SlicePlan, run: Run): void {
  const { forced } = run.request;
  if (storedNewer > 0) {
    const message = `${countText(storedNewer, 'period')} fetched after --as-of ${storedNewer === 1 ? 'was' : 'were'} left unchanged.`;
    warn('AS_OF_OLDER', message, slice.name, run);
  }
  const periods = periodsByReason(windows);
  run.emit({ type: 'slice_planned', slice: slice.name, windows: windows.length, periods });
  if (forced === null || storedNewer > 0) return;
  const reason =
    slice.grain === null
      ? 'lie outside its date period'
      : 'have not begun, or are older than `retain` allows';
  const [first, last] = [windows.at(0)?.requested.start, windows.at(-1)?.requested.end];
  const days = labelOf({ requested: forced });
  if (first === undefined || last === undefined) {
    const message = `slice ${slice.name}: the days ${days} were not requested: they ${reason}.`;
    const hint = 'Give days that the date period of the slice covers, and `retain` keeps.';
    fail(new Failure('USAGE_INVALID', message, { hint }), slice.name, run);
  } else if (forced.start < first || last < forced.end) {
    const requested = labelOf({ requested: { start: first, end: last } });
    const message = `Of the days ${days} only ${requested} were requested: the others ${reason}.`;
    warn('BACKFILL_CUT', message, slice.name, run);
  }
}

type Subject = Window | string | null;

/** Several of the whole run with one message, as of refused credentials, count once. */
export function fail(
  { code, message, hint }: Failure,
  about: Subject,
  { record, emit }: Pick<Run, 'record' | 'emit'>,
): void {
  if (about === null && record.failures.some((failure) => failure.message === message)) return;
  emit({ type: 'failed', code, ...subjectNames(about), message, hint });
}

export function warn(
  code: WarningCode,
  message: string,
  about: Subject,
  { emit }: Pick<Run, 'emit'>,
): void {
  emit({ ...warningEvent(code, message), ...subjectNames(about) });
}

const subjectNames = (about: Subject) =>
  about === null || typeof about === 'string' ? { slice: about, window: null } : namesOf(about);

/** Stores the warnings since the last call. A kill loses the later ones. */
export async function saveWarnings({ warehouse, runId, record }: Run): Promise<void> {
  await recordWarnings(warehouse, runId, record.takeWarnings());
}
