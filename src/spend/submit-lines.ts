/**
 * Sends the due lines, a few at once: each is recorded as being sent before it goes out, and its outcome before the next ones
 * go. After a crash only those that were on the wire together are unknown.
 *
 * Stops, keeping what is recorded, when the service refuses the credential or is down, when the disk fails, on the caller's
 * signal, and when no line of a batch is answered, or every one is forbidden before any was accepted.
 */

import { asFailure, Failure, type FailureCode, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Service } from '../service/service.ts';
import { statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type DueLine, dueLines } from './staging.ts';

/** Few, as each may be left in doubt; enough that the commits take little of the time. */
const AT_ONCE = 8;
/** After a stop, lines on the wire may still be answered; then they are given up as unknown. */
const GRACE_MS = 10_000;
/** Often enough to watch, and no flood of lines in a log. */
const PROGRESS_EVENTS = 20;
const FORBIDDEN = 403;

export interface Submitted {
  /** Lines of the three outcomes; one whose outcome could not be recorded is unknown. */
  readonly accepted: number;
  readonly refused: number;
  readonly unknown: number;
  /** What stopped the sending before its end, the caller's signal too; null where every line has an outcome. */
  readonly failure: Failure | null;
}

/** What ad spend is sent with. */
export interface SpendCircumstances {
  readonly warehouse: Warehouse;
  readonly service: Pick<Service, 'submitSpend'>;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/** Sends every due line, of which there are so many, of a file. Never throws: what stopped it is in the result. */
export async function submitLines(
  file: string,
  due: number,
  { warehouse, service, emit, signal }: SpendCircumstances,
): Promise<Submitted> {
  const wire = new AbortController();
  const giveUpLater = (): void => void setTimeout(() => wire.abort(), GRACE_MS).unref();
  signal.addEventListener('abort', giveUpLater, { once: true });
  const counts = { accepted: 0, rejected: 0, unknown: 0, unsent: 0 };
  const left = (): number => due - counts.accepted - counts.rejected - counts.unknown;
  const step = (): number => Math.floor((PROGRESS_EVENTS * (due - left())) / due);
  let failure: Failure | null = null;
  try {
    for await (const batch of dueLines(warehouse, AT_ONCE)) {
      if (signal.aborted) break;
      const steps = batch.map((line): Step => ({ line, outcome: 'sending', status: null, reason: null }));
      await record(warehouse, file, steps);
      const done = await Promise.all(batch.map(async (line) => submitLine(service, line, wire.signal)));
      failure = judged(done, left() - done.length, counts.accepted > 0);
      const notRecorded = await record(warehouse, file, done).then(() => null, asFailure);
      const stepBefore = step();
      // A line that went out without a record of its outcome is in doubt: the ledger will never say more of it.
      for (const { outcome } of done) counts[notRecorded === null || outcome === 'unsent' ? outcome : 'unknown'] += 1;
      failure ??= notRecorded;
      if (step() > stepBefore) emit({ type: 'spend_settled', settled: due - left(), due });
      if (failure !== null) break;
    }
  } catch (error) {
    failure ??= asFailure(error);
  } finally {
    signal.removeEventListener('abort', giveUpLater);
  }
  if (signal.aborted && left() > 0) {
    failure ??= new Failure('INTERRUPTED', `The sending was stopped before ${left()} lines of ad spend were sent.`, {
      facts: { unsent: left() },
      hint: 'Send the file again: what was accepted is not sent twice.',
    });
  }
  return { accepted: counts.accepted, refused: counts.rejected, unknown: counts.unknown, failure };
}

/** What the answers to a whole batch say of all lines after it. */
function judged(batch: readonly Submission[], left: number, hasAccepted: boolean): Failure | null {
  const error = batch.map((each) => each.error).find((each) => each !== null);
  if (error !== undefined) return asFailure(error);
  if (batch.length < AT_ONCE) return null;
  if (batch.every(({ outcome, status }) => outcome === 'unknown' && status === null)) {
    return new Failure('SPEND_UNKNOWN', `${AT_ONCE} lines in a row had no certain answer; no more were sent.`, {
      facts: { lines: AT_ONCE },
      hint: 'Find out what answers at service.cost_url before more is sent; the reasons are in ripen.spend.',
    });
  }
  if (hasAccepted || !batch.every(({ status }) => status === FORBIDDEN)) return null;
  const message = `The ad spend API answered 403 to ${AT_ONCE} lines in a row before it accepted any; ${left} more were not sent.`;
  return new Failure('ACCESS_FORBIDDEN', message, {
    facts: { status: FORBIDDEN, lines: AT_ONCE, unsent: left },
    hint: 'Set service.cost_headers to a credential that may post this spend, or take the refused lines out of the file.',
  });
}

/** A line that is about to be sent, or what became of it. */
interface Step {
  readonly line: DueLine;
  /** `unsent`: it was certainly not received, and all is as if it had not been tried. */
  readonly outcome: 'sending' | 'accepted' | 'rejected' | 'unknown' | 'unsent';
  /** Of a rejection; null where there was none. */
  readonly status: number | null;
  readonly reason: string | null;
}

async function record(warehouse: Warehouse, file: string, steps: readonly Step[]): Promise<void> {
  const rows = steps.map(({ line, outcome, status, reason }) => ({ ...line, outcome, status, reason }));
  const unsent = rows.filter(({ outcome }) => outcome === 'unsent');
  const recorded = rows.filter(({ outcome }) => outcome !== 'unsent');
  await warehouse.transact(async () => {
    if (unsent.length > 0) await warehouse.run(statement('spend/forget_unsent'), [JSON.stringify(unsent)]);
    await warehouse.run(statement('spend/record_steps'), [JSON.stringify(recorded), file]);
  });
}

interface Submission extends Step {
  readonly outcome: Exclude<Step['outcome'], 'sending'>;
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

/** Sends a line; never throws. */
async function submitLine(
  service: Pick<Service, 'submitSpend'>,
  line: DueLine,
  signal: AbortSignal,
): Promise<Submission> {
  const { cost_id: costId, cost_type: costType, cost_currency: costCurrency, cost_amount: costAmount, tag } = line;
  const nothing = { line, status: null, reason: null, error: null };
  try {
    const answer = await service.submitSpend({ costId, costType, costCurrency, costAmount, tag }, signal);
    if (answer.outcome === 'accepted') return { ...nothing, outcome: 'accepted' };
    const { reason } = answer;
    if (answer.outcome === 'unknown') return { ...nothing, outcome: 'unknown', reason, error: answer.failure ?? null };
    const { status } = answer;
    if (line.outcome_before !== 'unknown') return { ...nothing, outcome: 'rejected', status, reason };
    const doubt = `sent again and rejected (${status} ${reason}); the outcome of the first sending stays unknown`;
    return { ...nothing, outcome: 'unknown', status, reason: doubt };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { ...nothing, outcome: 'unsent' };
    if (error instanceof Failure && notReceived.has(error.code)) return { ...nothing, outcome: 'unsent', error };
    return { ...nothing, outcome: 'unknown', reason: textOf(error), error: error instanceof Failure ? null : error };
  }
}
