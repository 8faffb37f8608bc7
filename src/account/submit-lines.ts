/**
 * Sends the due lines, a few at once. Stops if the service refuses the credential or is down, if the disk fails, on the
 * caller's signal, if no line of a batch has a certain answer, or if every one is forbidden before any was accepted.
 */

import { asFailure, Failure, type FailureCode, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Service } from '../service/service.ts';
import { insertRows, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { JudgedLine } from './spend-rules.ts';

/** Few, as each may be left in doubt, but enough that commits take little of the time. */
const AT_ONCE = 8;
const FORBIDDEN = 403;
/** How long a stop waits for the answers to lines on the wire, which are then unknown. */
const GRACE_MS = 10_000;
/** Often enough to watch, without flooding a log. */
const PROGRESS_EVENTS = 20;

export interface DueLine extends JudgedLine {
  /** Of an earlier try. */
  readonly outcome_before: string | null;
}

export type RejectedLine = Pick<JudgedLine, 'line' | 'given' | 'reasons'>;

export interface SpendContext {
  readonly warehouse: Warehouse;
  readonly service: Pick<Service, 'submitSpend'>;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/** Never throws: `failure` is what stopped it, which may be the caller's signal. */
export async function submitLines(
  file: string,
  due: readonly DueLine[],
  { warehouse, service, emit, signal }: SpendContext,
) {
  const wire = new AbortController();
  const giveUpLater = (): void => void setTimeout(() => wire.abort(), GRACE_MS).unref();
  signal.addEventListener('abort', giveUpLater, { once: true });
  const rejected: RejectedLine[] = [];
  const counts = { accepted: 0, unknown: 0 };
  const settled = (): number => counts.accepted + counts.unknown + rejected.length;
  const progress = (): number => Math.floor((PROGRESS_EVENTS * settled()) / due.length);
  let failure: Failure | null = null;
  try {
    for (
      let first = 0;
      first < due.length && failure === null && !signal.aborted;
      first += AT_ONCE
    ) {
      const batch = due.slice(first, first + AT_ONCE);
      const sent_at = new Date();
      const rows = batch.map(({ line, values, content, outcome_before }) => {
        const row = { ...values, engaged_at: values.engaged_at || null, content, outcome_before };
        return { ...row, outcome: 'sending', file, line, sent_at };
      });
      // A line that is sent again keeps its former status and reason until its outcome is known.
      await insertRows(warehouse, 'ripen.spend', rows, 'insert or replace');
      const done = await Promise.all(
        batch.map(async (line) => submitLine(service, line, wire.signal)),
      );
      failure = judged(done, counts.accepted);
      const notRecorded = await record(warehouse, rows, done).then(() => null, asFailure);
      const before = progress();
      for (const { line, outcome, status, reason } of done) {
        if (outcome === 'unsent') continue;
        // A line that was sent without a record of its outcome is in doubt: the ledger will never state more.
        if (notRecorded !== null || outcome === 'unknown') counts.unknown += 1;
        else if (outcome === 'accepted') counts.accepted += 1;
        else rejected.push({ ...line, reasons: [`the service: ${status} ${reason}`] });
      }
      failure ??= notRecorded;
      if (progress() > before) emit({ type: 'spend_settled', settled: settled(), due: due.length });
    }
  } catch (error) {
    failure ??= asFailure(error);
  } finally {
    signal.removeEventListener('abort', giveUpLater);
  }
  const unsent = due.length - settled();
  if (signal.aborted && unsent > 0) {
    const message = `Sending stopped before ${unsent} lines of ad spend were sent.`;
    const hint = 'Send the file again: accepted lines are not sent twice.';
    failure ??= new Failure('INTERRUPTED', message, { facts: { unsent }, hint });
  }
  return { ...counts, rejected, failure };
}

/** Returns the failure that a batch means for all later lines. */
function judged(batch: readonly Submission[], accepted: number): Failure | null {
  const stopping = batch.find(({ error }) => error !== null);
  if (stopping !== undefined) return asFailure(stopping.error);
  if (batch.length < AT_ONCE) return null;
  if (accepted === 0 && batch.every(({ status }) => status === FORBIDDEN)) {
    const message = `The ad spend API answered 403 to ${AT_ONCE} lines before it accepted any; no more were sent.`;
    const hint =
      'Set service.cost_headers to a credential that may post this spend, or remove the refused lines.';
    return new Failure('ACCESS_FORBIDDEN', message, { hint });
  }
  if (batch.some(({ outcome, status }) => outcome !== 'unknown' || status !== null)) return null;
  const message = `${AT_ONCE} lines in a row had no clear answer; no more were sent.`;
  const hint = 'Check which server answers at service.cost_url; the reasons are in ripen.spend.';
  return new Failure('SPEND_UNKNOWN', message, { facts: { lines: AT_ONCE }, hint });
}

interface Submission {
  readonly line: DueLine;
  /** `unsent`: the line was certainly not received, and counts as not tried. */
  readonly outcome: 'accepted' | 'rejected' | 'unknown' | 'unsent';
  readonly status: number | null;
  readonly reason: string | null;
  /** The error that must stop all other lines. */
  readonly error: unknown;
}

async function record(
  warehouse: Warehouse,
  rows: readonly object[],
  done: readonly Submission[],
): Promise<void> {
  const settled = done.map(({ outcome, status, reason }, at) => {
    return { ...rows[at], outcome, status, reason, settled_at: new Date() };
  });
  const unsent = settled.filter(({ outcome }) => outcome === 'unsent');
  const recorded = settled.filter(({ outcome }) => outcome !== 'unsent');
  await warehouse.transact(async () => {
    if (unsent.length > 0)
      await warehouse.run(statement('spend/delete_unsent'), [JSON.stringify(unsent)]);
    await insertRows(warehouse, 'ripen.spend', recorded, 'insert or replace');
  });
}

/** Failures after which no line was, or would be, received (`Service.submitSpend`). */
const notReceived: ReadonlySet<FailureCode> = new Set([
  'CONFIG_INVALID',
  'CREDENTIALS_REFUSED',
  'SOURCE_MISSING',
  'SOURCE_OVERLOADED',
  'SOURCE_REDIRECTED',
  'SOURCE_UNAVAILABLE',
]);

/** Never throws. */
async function submitLine(
  service: Pick<Service, 'submitSpend'>,
  line: DueLine,
  signal: AbortSignal,
): Promise<Submission> {
  const nothing = { line, status: null, reason: null, error: null };
  try {
    const answer = await service.submitSpend(line.values, signal);
    const { outcome, status = null, reason = null, failure = null } = answer;
    if (outcome !== 'rejected' || line.outcome_before !== 'unknown')
      return { line, outcome, status, reason, error: failure };
    const doubt = `sent again and rejected (${status} ${reason}); the outcome of the first sending stays unknown`;
    return { ...nothing, outcome: 'unknown', status, reason: doubt };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { ...nothing, outcome: 'unsent' };
    if (error instanceof Failure && notReceived.has(error.code))
      return { ...nothing, outcome: 'unsent', error };
    const unforeseen = error instanceof Failure ? null : error;
    return { ...nothing, outcome: 'unknown', reason: textOf(error), error: unforeseen };
  }
}
