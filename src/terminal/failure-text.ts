/** Failures as text, gravest first, and as JSON. */

import { exitCodes, type Failure, failureCodes, type FailureCode } from '../errors.ts';
import { failedEvent } from '../events.ts';
import { JsonLine, oneLine, printable } from './printable.ts';

/** What is needed to print a failure; a thrown one and one of a summary both have it. */
export interface PrintedFailure {
  readonly code: FailureCode;
  readonly message: string;
  readonly hint: string | null;
  readonly cause?: unknown;
}

/** 0 for the gravest kind. */
const gravity = ({ code }: PrintedFailure): number => Object.keys(exitCodes).indexOf(failureCodes[code]);

/**
 * `CODE: message` and its hint, one after the other, gravest first; equals keep their order; with `verbose` every cause. Empty for
 * none.
 */
export function failuresText(failures: readonly PrintedFailure[], verbose = false): string {
  return failures
    .toSorted((one, other) => gravity(one) - gravity(other))
    .map(({ code, message, hint, cause }) => {
      // Lines that came with the message are indented, so that outside text cannot pass for a line of ours.
      const lines = [`${code}: ${printable(message).trim().split('\n').join('\n  ')}`];
      if (hint !== null) lines.push(`  hint: ${oneLine(hint)}`);
      return [...lines, ...(verbose ? causesOf(cause) : [])].join('\n');
    })
    .join('\n');
}

/** Far more than anybody wraps. */
const MOST_CAUSES = 10;

function causesOf(cause: unknown): string[] {
  const lines: string[] = [];
  for (let inner = cause; inner instanceof Error && lines.length < MOST_CAUSES; inner = inner.cause) {
    lines.push(`  caused by ${(inner.stack ?? inner.message).trim().split('\n').join('\n    ')}`);
  }
  return lines;
}

/** What `--json` ends with when a command came to no result; null stands for a signal. */
export function failedResult(failure: Failure | null): JsonLine {
  if (failure === null) return new JsonLine({ status: 'interrupted', failures: [] });
  const { code, message, hint } = failure;
  return new JsonLine({ status: 'failed', failures: [{ code, slice: null, window: null, message, hint }] });
}

/** A failure that stopped a command, in the form events have; as JSON a bug carries its stack, `verbose` adds every cause. */
export function failureLines(
  failure: Failure,
  { log, verbose = false }: { readonly log: 'text' | 'json'; readonly verbose?: boolean | undefined },
  at: Date,
): string | JsonLine {
  if (log === 'text') return failuresText([failure], verbose);
  const { code, facts, cause } = failure;
  const stack = code === 'BUG' && cause instanceof Error ? { stack: cause.stack ?? null } : {};
  return new JsonLine({ at: at.toISOString(), level: 'error', run_id: null, ...failedEvent(failure), facts, ...stack });
}
