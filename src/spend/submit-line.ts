/** One line → what became of it, with every doubt kept: only what was certainly not received may be tried again. */

import { Failure, type FailureCode, textOf } from '../errors.ts';
import type { Service } from '../service/service.ts';
import type { DueLine } from './staging.ts';

/** What became of a line; `unsent`: it was certainly not received, and all is as if it had not been tried. */
export type Settled =
  | { readonly outcome: 'accepted' | 'unsent'; readonly status: null; readonly reason: null }
  | { readonly outcome: 'rejected'; readonly status: number; readonly reason: string }
  | { readonly outcome: 'unknown'; readonly status: null; readonly reason: string };

export interface Submission {
  readonly settled: Settled;
  /** Whether the service said what became of this sending. */
  readonly wasAnswered: boolean;
  /** Whether the service answered 403, which may be a matter of the line or of the credential. */
  readonly isForbidden: boolean;
  /** What must stop all others; null for a matter of this line alone. */
  readonly error: unknown;
}

/** Failures that say of every line that it was not, and would not be, received (`Service.submitSpend`). */
const notReceived: ReadonlySet<FailureCode> = new Set([
  'CONFIG_INVALID',
  'CREDENTIALS_REFUSED',
  'SOURCE_MISSING',
  'SOURCE_OVERLOADED',
  'SOURCE_REDIRECTED',
  'SOURCE_UNAVAILABLE',
]);

export const unsent: Settled = { outcome: 'unsent', status: null, reason: null };
const accepted: Settled = { outcome: 'accepted', status: null, reason: null };
const FORBIDDEN = 403;
const doubt = (reason: string): Settled => ({ outcome: 'unknown', status: null, reason });

/** Sends a line; never throws. */
export async function submitLine(
  service: Pick<Service, 'submitSpend'>,
  line: DueLine,
  signal: AbortSignal,
): Promise<Submission> {
  const { cost_id: costId, cost_type: costType, cost_currency: costCurrency, cost_amount: costAmount, tag } = line;
  const told = { wasAnswered: true, isForbidden: false, error: null } as const;
  const untold = { ...told, wasAnswered: false } as const;
  try {
    const answer = await service.submitSpend({ costId, costType, costCurrency, costAmount, tag }, signal);
    if (answer.outcome === 'accepted') return { ...told, settled: accepted };
    if (answer.outcome === 'unknown') {
      return { ...untold, settled: doubt(answer.reason), error: answer.failure ?? null };
    }
    const isForbidden = answer.status === FORBIDDEN;
    return { ...told, isForbidden, settled: rejection(line, answer.status, answer.reason) };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { ...untold, settled: unsent };
    if (error instanceof Failure && notReceived.has(error.code)) return { ...told, settled: unsent, error };
    const reason = textOf(error);
    return { ...untold, settled: doubt(reason), error: error instanceof Failure ? null : error };
  }
}

function rejection({ outcome_before: before }: DueLine, status: number, reason: string): Settled {
  return before === 'unknown'
    ? doubt(`sent again and rejected (${status} ${reason}); the outcome of the first sending stays unknown`)
    : { outcome: 'rejected', status, reason };
}
