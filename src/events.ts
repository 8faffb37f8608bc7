/** What happens during a run, as typed values. Emitting never throws and never waits, whatever the listener does. */

import { type FailureCode, textOf, type WarningCode } from './errors.ts';

type Named = { slice: string; window: string };
type Placed = { slice: string | null; window: string | null; message: string };

interface EventFields {
  run_started: { runId: string; command: string; asOf: string };
  run_finished: { runId: string; status: string; ms: number };
  lock_waiting: { warehouse: string; holder: string; waitMs: number };
  /** The due periods by reason: `new`, `maturing`, … */
  slice_planned: { slice: string; windows: number; periods: Readonly<Record<string, number>> };
  /** `because` is the status or error code. */
  request_retried: { endpoint: string; attempt: number; because: string; waitMs: number };
  concurrency_changed: { from: number; to: number; because: string };
  breaker_opened: { waitMs: number };
  breaker_closed: object;
  /** Requests may still wait for their turn in the service client. */
  window_asked: Named & { requests: number };
  window_fetched: Named & { requests: number; bytes: number; ms: number };
  window_missed: Named & { requests: number; because: string };
  /** With the first days of restated periods, and stretches of periods without rows, `first:last`. */
  window_loaded: Named & {
    rows: number;
    fetched: number;
    rejected: number;
    restated: readonly string[];
    empty: readonly string[];
  };
  /** By days into so many windows, or by values into so many parts of one window. */
  window_split: Named & { by: 'days' | 'values'; into: number; because: string };
  window_asked_again: Named & { because: string };
  /** By the size of a slice's first answer, or as periods of a window got different fates. */
  windows_regrouped: { slice: string; from: number; into: number };
  /** The slice keeps only later periods. */
  periods_deleted: { slice: string; periods: number; rows: number; before: string };
  /** Control totals of loaded periods moved. Some of their periods wait for a later night. */
  totals_moved: { slice: string; periods: number; waiting: number; message: string };
  /** `target` is the path of the copy that could not be written. */
  failed: Placed & { code: FailureCode; hint: string | null; target?: string };
  warning: Placed & { code: WarningCode };
  catalog_loaded: { items: number };
  partners_loaded: { rows: number };
  /** `removed` links were stored before and are no longer listed. */
  links_loaded: { app: string; rows: number; requests: number; removed: number };
  /** How many partners and links are stored at the end of a run. Links that are not configured count as none. */
  dimensions_stored: { partners: number; links: number };
  /** How many of the due lines of ad spend have an outcome. */
  spend_settled: { settled: number; due: number };
  published: { kind: string; path: string; ms: number; filesWritten: number };
}

export type EventType = keyof EventFields;

export type RunEvent<T extends EventType = EventType> = {
  [Type in T]: { readonly type: Type } & Readonly<EventFields[Type]>;
}[T];

export type Emit = (event: RunEvent) => void;

export function failedEvent(
  failure: Pick<RunEvent<'failed'>, 'code' | 'message' | 'hint'>,
): RunEvent<'failed'> {
  const { code, message, hint } = failure;
  return { type: 'failed', code, slice: null, window: null, message, hint };
}

export function warningEvent(code: WarningCode, message: string): RunEvent<'warning'> {
  return { type: 'warning', code, slice: null, window: null, message };
}

/** If the listener throws or rejects, it receives one warning, `LISTENER_FAILED`. */
export function guarded(listener: (event: RunEvent) => unknown): Emit {
  let isReported = false;
  const reportThrown = (thrown: unknown) => {
    if (isReported) return;
    isReported = true;
    emit(warningEvent('LISTENER_FAILED', `The event listener failed: ${textOf(thrown)}`));
  };
  const emit = (event: RunEvent) => {
    try {
      Promise.resolve(listener(event)).catch(reportThrown);
    } catch (thrown) {
      reportThrown(thrown);
    }
  };
  return emit;
}
