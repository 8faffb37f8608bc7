/**
 * What happens during a run, as typed values.
 *
 * Whoever does something tells it through an `Emit`; who listens (terminal, text lines, JSON lines, a test) is decided
 * at the edge. Emitting never throws and never waits, whatever the listener does.
 */

import { type FailureCode, textOf, type WarningCode } from './errors.ts';

export type RunEvent =
  | { readonly type: 'run_started'; readonly runId: string; readonly command: string; readonly asOf: string }
  | { readonly type: 'lock_waiting'; readonly warehouse: string; readonly holder: string; readonly waitMs: number }
  | { readonly type: 'slice_planned'; readonly slice: string; readonly windows: number; readonly periods: number }
  | {
      readonly type: 'request_retried';
      readonly endpoint: string;
      readonly attempt: number;
      /** Status or error code of the failed attempt. */
      readonly because: string;
      readonly waitMs: number;
    }
  | { readonly type: 'concurrency_changed'; readonly from: number; readonly to: number; readonly because: string }
  | { readonly type: 'breaker_opened'; readonly waitMs: number }
  | { readonly type: 'breaker_closed' }
  /** A window was put to the service, which may still make it wait for its turn. */
  | { readonly type: 'window_asked'; readonly slice: string; readonly window: string; readonly requests: number }
  | {
      readonly type: 'window_fetched';
      readonly slice: string;
      readonly window: string;
      readonly bytes: number;
      readonly ms: number;
    }
  | {
      readonly type: 'window_loaded';
      readonly slice: string;
      readonly window: string;
      readonly rows: number;
      readonly restatedPeriods: number;
    }
  /** Waiting windows of a slice became fewer and longer, as its first answer said how large it is. */
  | {
      readonly type: 'windows_joined';
      readonly slice: string;
      readonly from: number;
      readonly into: number;
    }
  | {
      readonly type: 'window_split';
      readonly slice: string;
      readonly window: string;
      readonly into: number;
      readonly because: string;
    }
  /** Periods were deleted because the slice keeps only those from a day on. */
  | {
      readonly type: 'periods_let_go';
      readonly slice: string;
      readonly periods: number;
      readonly rows: number;
      readonly before: string;
    }
  | { readonly type: 'window_asked_again'; readonly slice: string; readonly window: string; readonly because: string }
  | {
      readonly type: 'failed';
      readonly code: FailureCode;
      readonly slice: string | null;
      readonly window: string | null;
      readonly message: string;
      readonly hint: string | null;
    }
  | {
      readonly type: 'warning';
      readonly code: WarningCode;
      readonly slice: string | null;
      readonly window: string | null;
      readonly message: string;
    }
  | { readonly type: 'catalog_loaded'; readonly items: number }
  | { readonly type: 'partners_loaded'; readonly rows: number }
  | { readonly type: 'links_loaded'; readonly app: string; readonly rows: number; readonly requests: number }
  /** So many of the lines of ad spend that were due have an outcome. */
  | { readonly type: 'spend_settled'; readonly settled: number; readonly due: number }
  | {
      readonly type: 'published';
      readonly kind: string;
      readonly path: string;
      readonly ms: number;
      readonly filesWritten: number;
    }
  | { readonly type: 'run_finished'; readonly runId: string; readonly status: string; readonly ms: number };

export type Emit = (event: RunEvent) => void;

/**
 * A listener that cannot change what it listens to: what it throws, or rejects with, is swallowed, and told once, to itself, as
 * the warning `LISTENER_FAILED`.
 */
export function guarded(listener: (event: RunEvent) => unknown): Emit {
  let isTold = false;
  const tell = (thrown: unknown): void => {
    if (isTold) return;
    isTold = true;
    const message = `What listens to the events failed, and is not waited for: ${textOf(thrown)}`;
    emit({ type: 'warning', code: 'LISTENER_FAILED', slice: null, window: null, message });
  };
  const emit = (event: RunEvent): void => {
    try {
      Promise.resolve(listener(event)).catch(tell);
    } catch (thrown) {
      tell(thrown);
    }
  };
  return emit;
}
