/**
 * Sends the due lines, a few at once: each is recorded as being sent before it goes out, and its outcome before the next ones
 * go. After a crash only those that were on the wire together are unknown.
 *
 * Stops, keeping what is recorded, when the service refuses the credential or is down, when the disk fails, on the caller's
 * signal, and when line after line stays without an answer or is forbidden.
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
/** Whatever answers like this does it to every line, and each would be left in doubt. */
const MAX_UNANSWERED_IN_A_ROW = 20;
/** A credential that may post nothing is refused line by line; where it is a matter of the lines, some are accepted. */
const MAX_FORBIDDEN_IN_A_ROW = 10;

export interface Submitted {
  /** Lines of the three outcomes; one whose outcome could not be recorded is unknown. */
  readonly accepted: number;
  readonly refused: number;
  readonly unknown: number;
  /** What stopped the sending before its end, the caller's signal too; null where every line has an outcome. */
  readonly failure: Failure | null;
}

export interface LinesToSubmit {
  readonly warehouse: Warehouse;
  /** What the ledger says they came from. */
  readonly file: string;
  readonly service: Pick<Service, 'submitSpend'>;
  /** How many there are. */
  readonly due: number;
  readonly emit: Emit;
}

/** Sends every due line. Never throws: what stopped it is in the result. */
export async function submitLines(lines: LinesToSubmit, signal: AbortSignal): Promise<Submitted> {
  const wire = new AbortController();
  let grace: NodeJS.Timeout | undefined;
  const giveUpLater = (): void => void (grace = setTimeout(() => wire.abort(), GRACE_MS));
  signal.addEventListener('abort', giveUpLater, { once: true });
  const progress = new Progress(lines);
  const due = dueLines(lines.warehouse, AT_ONCE);
  let done: readonly Submission[] = [];
  try {
    do {
      const { value: next = [] } = signal.aborted || progress.isStopped ? {} : await due.next();
      await record(lines, done, next);
      for (const { settled } of done) progress.count(settled.outcome);
      done = await Promise.all(next.map(async (line) => submitLine(lines.service, line, wire.signal)));
      for (const submission of done) progress.judge(submission);
    } while (done.length > 0);
  } catch (error) {
    // These lines went out, and the ledger will never say more of them.
    for (const { settled } of done) if (settled.outcome !== 'unsent') progress.count('unknown');
    progress.fail(error);
  } finally {
    clearTimeout(grace);
    signal.removeEventListener('abort', giveUpLater);
  }
  return progress.submitted(signal.aborted);
}

/** Commits what became of lines, and which ones go out now. */
async function record(
  { warehouse, file }: LinesToSubmit,
  done: readonly Submission[],
  next: readonly DueLine[],
): Promise<void> {
  if (done.length + next.length === 0) return;
  const isUnsent = ({ settled }: Submission): boolean => settled.outcome === 'unsent';
  const unsent = done.filter(isUnsent).map(({ line }) => line.cost_id);
  const rows = [
    ...done.flatMap((each) => (isUnsent(each) ? [] : [{ ...each.line, ...each.settled }])),
    ...next.map((line) => ({ ...line, outcome: 'sending' })),
  ];
  await warehouse.transact(async () => {
    if (unsent.length > 0) {
      await warehouse.run(statement('spend/restore_unsent'), [JSON.stringify(unsent)]);
      await warehouse.run(statement('spend/forget_unsent'), [JSON.stringify(unsent)]);
    }
    await warehouse.run(statement('spend/record_steps'), [JSON.stringify(rows), file]);
  });
}

/** How far the sending got, and whether there is a point in going on. */
class Progress {
  readonly #lines: LinesToSubmit;
  readonly #counts = { accepted: 0, rejected: 0, unknown: 0, unsent: 0 };
  #unansweredInARow = 0;
  #forbiddenInARow = 0;
  #isForbidden = false;
  #failure: Failure | null = null;

  constructor(lines: LinesToSubmit) {
    this.#lines = lines;
  }

  get isStopped(): boolean {
    return this.#isForbidden || this.#failure !== null;
  }

  /** Counts a line whose outcome is recorded. */
  count(outcome: Settled['outcome']): void {
    const { due, emit } = this.#lines;
    this.#counts[outcome] += 1;
    if (outcome === 'unsent') return;
    const settled = due - this.#left;
    const step = Math.ceil(due / PROGRESS_EVENTS);
    if (settled === due || settled % step === 0) emit({ type: 'spend_settled', settled, due });
  }

  /** Learns what one line's answer says of all others. */
  judge({ settled, wasAnswered, isForbidden, error }: Submission): void {
    if (error !== null) this.fail(error);
    this.#unansweredInARow = wasAnswered ? 0 : this.#unansweredInARow + 1;
    if (this.#unansweredInARow === MAX_UNANSWERED_IN_A_ROW) this.fail(endlessDoubt());
    // Where one was accepted, the credential may post.
    if (settled.outcome === 'accepted') this.#forbiddenInARow = Number.NEGATIVE_INFINITY;
    this.#forbiddenInARow = isForbidden ? this.#forbiddenInARow + 1 : Math.min(0, this.#forbiddenInARow);
    this.#isForbidden ||= this.#forbiddenInARow === MAX_FORBIDDEN_IN_A_ROW;
  }

  fail(error: unknown): void {
    this.#failure ??= asFailure(error);
  }

  submitted(wasInterrupted: boolean): Submitted {
    const { accepted, rejected: refused, unknown } = this.#counts;
    const left = this.#left;
    const failure = this.#failure ?? (this.#isForbidden ? forbidden(left) : null);
    return { accepted, refused, unknown, failure: failure ?? (wasInterrupted && left > 0 ? stopped(left) : null) };
  }

  get #left(): number {
    const { accepted, rejected, unknown } = this.#counts;
    return this.#lines.due - accepted - rejected - unknown;
  }
}

/** What became of a line; `unsent`: it was certainly not received, and all is as if it had not been tried. */
type Settled =
  | { readonly outcome: 'accepted' | 'unsent'; readonly status: null; readonly reason: null }
  | { readonly outcome: 'rejected'; readonly status: number; readonly reason: string }
  | { readonly outcome: 'unknown'; readonly status: null; readonly reason: string };

interface Submission {
  readonly line: DueLine;
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

const unsent: Settled = { outcome: 'unsent', status: null, reason: null };
const accepted: Settled = { outcome: 'accepted', status: null, reason: null };
const FORBIDDEN = 403;
const doubt = (reason: string): Settled => ({ outcome: 'unknown', status: null, reason });

/** Sends a line; never throws. */
async function submitLine(
  service: Pick<Service, 'submitSpend'>,
  line: DueLine,
  signal: AbortSignal,
): Promise<Submission> {
  const { cost_id: costId, cost_type: costType, cost_currency: costCurrency, cost_amount: costAmount, tag } = line;
  const answered = { line, wasAnswered: true, isForbidden: false, error: null } as const;
  const unanswered = { ...answered, wasAnswered: false } as const;
  try {
    const answer = await service.submitSpend({ costId, costType, costCurrency, costAmount, tag }, signal);
    if (answer.outcome === 'accepted') return { ...answered, settled: accepted };
    if (answer.outcome === 'unknown') {
      return { ...unanswered, settled: doubt(answer.reason), error: answer.failure ?? null };
    }
    const isForbidden = answer.status === FORBIDDEN;
    return { ...answered, isForbidden, settled: rejection(line, answer.status, answer.reason) };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { ...unanswered, settled: unsent };
    if (error instanceof Failure && notReceived.has(error.code)) return { ...answered, settled: unsent, error };
    const reason = textOf(error);
    return { ...unanswered, settled: doubt(reason), error: error instanceof Failure ? null : error };
  }
}

function rejection({ outcome_before: before }: DueLine, status: number, reason: string): Settled {
  return before === 'unknown'
    ? doubt(`sent again and rejected (${status} ${reason}); the outcome of the first sending stays unknown`)
    : { outcome: 'rejected', status, reason };
}

function stopped(left: number): Failure {
  return new Failure('INTERRUPTED', `The sending was stopped before ${left} lines of ad spend were sent.`, {
    facts: { unsent: left },
    hint: 'Send the file again: what was accepted is not sent twice.',
  });
}

function endlessDoubt(): Failure {
  return new Failure(
    'SPEND_UNKNOWN',
    `${MAX_UNANSWERED_IN_A_ROW} lines in a row stayed without a certain answer; no more were sent.`,
    {
      facts: { lines: MAX_UNANSWERED_IN_A_ROW },
      hint: 'Find out what answers at service.cost_url before more is sent; the reasons are in ripen.spend.',
    },
  );
}

function forbidden(left: number): Failure {
  return new Failure(
    'ACCESS_FORBIDDEN',
    `The ad spend API answered 403 to ${MAX_FORBIDDEN_IN_A_ROW} lines in a row before it accepted any; ${left} more were not sent.`,
    {
      facts: { status: 403, lines: MAX_FORBIDDEN_IN_A_ROW, unsent: left },
      hint: 'Set service.cost_headers to a credential that may post this spend, or take the refused lines out of the file.',
    },
  );
}
