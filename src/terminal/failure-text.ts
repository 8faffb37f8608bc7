/** Failures as text, gravest first. */

import { exitCodes, failureCodes, Failure, type FailureCode, type FailureKind } from '../errors.ts';
import type { FailureSummary } from '../run/summary.ts';
import { jsonLine, type JsonLine, oneLine, printable } from './printable.ts';

/** What is needed to print a failure; a thrown one and one of a summary both have it. */
export interface PrintedFailure {
  readonly code: FailureCode;
  readonly message: string;
  readonly hint: string | null;
}

/** `CODE: message` and its hint, one after the other, gravest first; equals keep their order. Empty for none. */
export function failuresText(failures: readonly PrintedFailure[]): string {
  return failures
    .toSorted((one, other) => gravity(one.code) - gravity(other.code))
    .map(failureText)
    .join('\n');
}

function failureText(failure: PrintedFailure): string {
  // Lines that came with the message are indented, so that outside text cannot pass for a line of ours.
  const message = printable(failure.message).trim().split('\n').join('\n  ');
  const hint = failure.hint === null ? '' : `\n  hint: ${oneLine(failure.hint)}`;
  return `${failure.code}: ${message}${hint}`;
}

/** 0 for the gravest kind. */
function gravity(code: FailureCode): number {
  const kind: FailureKind = failureCodes[code];
  return Object.keys(exitCodes).indexOf(kind);
}

/** Far more than anybody wraps. */
const MOST_CAUSES = 10;

function causesOf({ cause }: Failure): string[] {
  const lines: string[] = [];
  for (let inner = cause; inner instanceof Error && lines.length < MOST_CAUSES; inner = inner.cause) {
    lines.push(`  caused by ${(inner.stack ?? inner.message).trim().split('\n').join('\n    ')}`);
  }
  return lines;
}

/** What `--json` ends with when a command came to no result; null stands for a signal. */
export function failedResult(failure: Failure | null): JsonLine {
  if (failure === null) return jsonLine({ status: 'interrupted', failures: [] });
  const { code, message, hint } = failure;
  return jsonLine({ status: 'failed', failures: [{ code, slice: null, window: null, message, hint }] });
}

/** The failures of a summary as errors again, for their exit code. */
export function failuresOf(summaries: readonly FailureSummary[]): Failure[] {
  return summaries.map(
    (summary) =>
      new Failure(summary.code, summary.message, {
        facts: { slice: summary.slice, window: summary.window },
        ...(summary.hint === null ? {} : { hint: summary.hint }),
      }),
  );
}

/** A failure that stopped a command, in the form events have; as JSON a bug carries its stack, `verbose` adds every cause. */
export function failureLines(
  failure: Failure,
  { log, verbose = false }: { readonly log: 'text' | 'json'; readonly verbose?: boolean | undefined },
  at: Date,
): string | JsonLine {
  if (log === 'text') return [failuresText([failure]), ...(verbose ? causesOf(failure) : [])].join('\n');
  const { code, message, hint, facts, cause } = failure;
  const stack = code === 'BUG' && cause instanceof Error ? { stack: cause.stack ?? null } : {};
  return jsonLine({
    at: at.toISOString(),
    level: 'error',
    type: 'failed',
    run_id: null,
    code,
    slice: null,
    window: null,
    message,
    hint,
    facts,
    ...stack,
  });
}
