/**
 * Sends the due lines, a few at once, each recorded before it goes out and before its worker goes on.
 *
 * Stops at once, keeping what is recorded, when the service refuses the credential or is down, when the disk fails, on
 * the caller's signal, and when line after line stays without an answer or is forbidden.
 */

import { asFailure, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Service } from '../service/service.ts';
import type { SpendLedger } from './spend-ledger.ts';
import type { DueLine } from './staging.ts';
import { submitLine, unsent, type Settled } from './submit-line.ts';

/** The wire takes about half of them at once; the others commit meanwhile. */
const WORKERS = 8;
/** After a stop, lines on the wire may still be answered; then they are given up as unknown. */
const GRACE_MS = 10_000;
/** Often enough to watch, and no flood of lines in a log. */
const TIMES_TOLD = 20;
/** Whatever answers like this does it to every line, and each would be left in doubt. */
const MAX_UNANSWERED_IN_A_ROW = 20;

/** A credential that may post nothing is told so line by line; where it is a matter of the lines, some are accepted. */
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
  readonly ledger: SpendLedger;
  readonly service: Pick<Service, 'submitSpend'>;
  /** How many there are. */
  readonly due: number;
  readonly emit: Emit;
}

/** Sends every due line and tells how far it got. Never throws: what stopped it is in the result. */
export async function submitLines(lines: LinesToSubmit, signal: AbortSignal): Promise<Submitted> {
  const sending = new Sending(lines);
  const stop = (): void => sending.stop();
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const submitted = await sending.run();
    const { accepted, refused, unknown, failure } = submitted;
    const left = lines.due - accepted - refused - unknown;
    return signal.aborted && left > 0 ? { ...submitted, failure: failure ?? stopped(left) } : submitted;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

class Sending {
  readonly #lines: LinesToSubmit;
  /** Aborts what is on the wire. */
  readonly #wire = new AbortController();
  readonly #counts = { accepted: 0, rejected: 0, unknown: 0, unsent: 0 };
  #grace: NodeJS.Timeout | null = null;
  #unansweredInARow = 0;
  #hasAccepted = false;
  #forbiddenInARow = 0;
  #isForbidden = false;
  #failure: Failure | null = null;

  constructor(lines: LinesToSubmit) {
    this.#lines = lines;
  }

  /** Lets nothing new go out, and gives up what is still unanswered after the grace. */
  stop(): void {
    this.#grace ??= setTimeout(() => this.#wire.abort(), GRACE_MS);
  }

  async run(): Promise<Submitted> {
    const work = async (): Promise<void> => this.#work().catch((error: unknown) => this.#fail(error));
    await Promise.all(Array.from({ length: WORKERS }, work));
    if (this.#grace !== null) clearTimeout(this.#grace);
    const { accepted, rejected, unknown } = this.#counts;
    const left = this.#lines.due - accepted - rejected - unknown;
    const failure = this.#failure ?? (this.#isForbidden ? forbidden(left) : null);
    return { accepted, refused: rejected, unknown, failure };
  }

  get #isStopping(): boolean {
    return this.#grace !== null;
  }

  async #work(): Promise<void> {
    const { ledger } = this.#lines;
    let done: { readonly line: DueLine; readonly settled: Settled } | null = null;
    for (;;) {
      let next: DueLine | null = null;
      try {
        if (!this.#isStopping) next = await ledger.take();
        await ledger.record({ done, next });
      } catch (error) {
        // It went out, and the ledger will never say more of it.
        if (done !== null && done.settled.outcome !== 'unsent') this.#count('unknown');
        throw error;
      }
      if (done !== null) this.#count(done.settled.outcome);
      if (next === null) return;
      done = { line: next, settled: await this.#submit(next) };
    }
  }

  #count(outcome: Settled['outcome']): void {
    const { due, emit } = this.#lines;
    this.#counts[outcome] += 1;
    if (outcome === 'unsent') return;
    const { accepted, rejected, unknown } = this.#counts;
    const settled = accepted + rejected + unknown;
    if (settled === due || settled % Math.ceil(due / TIMES_TOLD) === 0) emit({ type: 'spend_settled', settled, due });
  }

  async #submit(line: DueLine): Promise<Settled> {
    if (this.#isStopping) return unsent;
    const { settled, wasAnswered, isForbidden, error } = await submitLine(this.#lines.service, line, this.#wire.signal);
    if (error !== null) this.#fail(error);
    this.#hasAccepted ||= settled.outcome === 'accepted';
    this.#forbiddenInARow = isForbidden ? this.#forbiddenInARow + 1 : 0;
    if (this.#forbiddenInARow === MAX_FORBIDDEN_IN_A_ROW && !this.#hasAccepted) {
      this.#isForbidden = true;
      this.stop();
    }
    this.#unansweredInARow = wasAnswered ? 0 : this.#unansweredInARow + 1;
    if (this.#unansweredInARow === MAX_UNANSWERED_IN_A_ROW) this.#fail(endlessDoubt());
    return settled;
  }

  #fail(error: unknown): void {
    this.#failure ??= asFailure(error);
    this.stop();
  }
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

function forbidden(unsent: number): Failure {
  return new Failure(
    'ACCESS_FORBIDDEN',
    `The ad spend API answered 403 to ${MAX_FORBIDDEN_IN_A_ROW} lines in a row before it accepted any; ${unsent} more were not sent.`,
    {
      facts: { status: 403, lines: MAX_FORBIDDEN_IN_A_ROW, unsent },
      hint: 'Set service.cost_headers to a credential that may post this spend, or take the refused lines out of the file.',
    },
  );
}
