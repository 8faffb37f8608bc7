/**
 * The call: one API of the service, and as many tries as a setback deserves, each in its turn, around the whole request
 * including its body.
 *
 * Own instead of undici's, which has no jitter, cuts `Retry-After` short, does not retry time-outs and resumes with
 * `Range`. Nothing is retried that may have had an effect (`Ask.repeats`), and no more than the run's budget allows.
 */

import type { Dispatcher } from 'undici';

import type { Secret } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Clock, statedAt, waitMs } from './clock.ts';
import { type WireAnswer, type WireRequest, endpointOf, exchange, type WireTally } from './exchange.ts';
import { Lane } from './lane.ts';
import { FAILED_TRIES, policies, Setback, type SetbackKind } from './setback.ts';
import { judge } from './verdict.ts';

/** Tries of a small call that the service is too slow for. */
const TRIES_WHEN_SLOW = 3;
/** How many retries a run may take: so many rounds of its concurrency, and one more for so many successes … */
const ROUNDS = 4;
const SUCCESSES_PER_RETRY = 5;
/** … but for a concurrency of one or two, so that three calls may fail all their tries. */
const LEAST_RETRIES = 15;

export interface ChannelSettings {
  /** Configured address; a path in it stands before every target. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Those in the headers: no answer may hold one. */
  readonly secrets: readonly Secret[];
  readonly deadlineMs: number;
  /** Most calls at once. */
  readonly concurrency: number;
  /** Aborts, with the failure as its reason, when the credential is refused. */
  readonly refused: AbortController;
}

type Sending = Pick<WireRequest, 'method' | 'body' | 'repeats'> & { readonly contentType: string };

/** What all calls of a connection share. */
export interface Wire {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Of reports, which the run's budget of retries follows. */
  readonly maxConcurrency: number;
  readonly maxStartsPerSecond: number;
  readonly tally: WireTally;
  /** Aborts when the connection is closed. */
  readonly life: AbortSignal;
}

/** Reads a judged answer; called once a try, so it must start over. */
export type Reader<T> = (answer: WireAnswer, verdict: 'answer' | 'empty') => Promise<T>;

/** What ends a call that is on the wire, and one that waits: the refused credential, too. */
interface Ends {
  readonly onWire: AbortSignal;
  readonly waiting: AbortSignal;
}

/** One API of the service: its address, headers, lane and deadline; every call on it differs in the rest only. */
export class Channel {
  readonly origin: string;
  /** What it is asked with and no answer may hold. */
  readonly secrets: readonly Secret[];
  readonly #wire: Wire;
  readonly #lane: Lane;
  readonly #refused: AbortController;
  readonly #prefix: string;
  readonly #plain: Pick<WireRequest, 'origin' | 'headers' | 'deadlineMs'>;

  constructor(wire: Wire, { address, headers, secrets, deadlineMs, concurrency, refused }: ChannelSettings) {
    const { origin, pathname } = new URL(address);
    this.#wire = wire;
    this.#refused = refused;
    this.#lane = new Lane({ ...wire, origin, maxConcurrency: concurrency });
    this.origin = origin;
    this.secrets = secrets;
    this.#prefix = pathname.replace(/\/+$/, '');
    this.#plain = { origin, headers, deadlineMs };
  }

  /** Most calls in flight at once so far. */
  get peak(): number {
    return this.#lane.peak;
  }

  /** The target of a path and query of the interface: the address's own path stands before it. */
  targetOf(path: string): string {
    return `${this.#prefix}${path}`;
  }

  /** Asks for a target. */
  get<T>(target: string, signal: AbortSignal, read: Reader<T>, triesWhenSlow = TRIES_WHEN_SLOW): Promise<T> {
    const request = { ...this.#plain, target, method: 'GET', body: null, repeats: 'all', triesWhenSlow } as const;
    return this.#call(request, signal, read);
  }

  /** Sends a body to a target. Throws the bare `Setback` after which it must not be repeated. */
  send<T>(target: string, { contentType, ...sending }: Sending, signal: AbortSignal, read: Reader<T>): Promise<T> {
    const headers = { ...this.#plain.headers, 'content-type': contentType };
    return this.#call({ ...this.#plain, ...sending, target, headers, triesWhenSlow: TRIES_WHEN_SLOW }, signal, read);
  }

  /**
   * Asks until there is an answer and returns what `read` makes of it. Throws a `Failure`, the signal's reason, or the bare
   * `Setback` of an ask that must not be repeated after it, as of a write that was stopped on the wire or before its next try.
   */
  async #call<T>(request: WireRequest, signal: AbortSignal, read: Reader<T>): Promise<T> {
    const onWire = AbortSignal.any([signal, this.#wire.life]);
    // A refused credential cancels what waits, not what is already being answered.
    const ends = { onWire, waiting: AbortSignal.any([onWire, this.#refused.signal]) };
    const seen: SetbackKind[] = [];
    for (;;) {
      try {
        return await this.#attempt(request, seen.length + 1, ends, read);
      } catch (error) {
        if (!(error instanceof Setback)) throw error;
        seen.push(error.setback);
        await this.#pause(request, error, seen, ends.waiting).catch((ended: unknown) => {
          // What the last try of a write came to is not known less because there is to be no other one.
          throw request.method === 'GET' || ended instanceof Failure ? ended : error;
        });
      }
    }
  }

  async #attempt<T>(request: WireRequest, tries: number, ends: Ends, read: Reader<T>): Promise<T> {
    const { tally, clock } = this.#wire;
    const slot = await this.#lane.enter(ends.waiting);
    tally.requests += 1;
    try {
      const value = await exchange(this.#wire, request, ends.onWire, async (answer) => {
        const now = clock.now();
        const statedNow = statedAt(answer.header('date'), answer.header('age'));
        if (statedNow !== null) tally.skewMs = statedNow - now;
        return read(answer, await judge(request, answer, tries, now));
      });
      slot.leave('answered');
      tally.answered += 1;
      tally.lastSetback = null;
      return value;
    } catch (error) {
      if (error instanceof Setback) {
        tally.lastSetback = `${endpointOf(request)} ${error.message}`;
        slot.leave(policies[error.setback].sign, error.because);
      } else if (error instanceof Failure) {
        // Before the place is given to another call that waits.
        if (error.code === 'CREDENTIALS_REFUSED') this.#refused.abort(error);
        slot.leave('alive');
      }
      throw error;
    } finally {
      // Whatever was thrown without a meaning for the lane.
      slot.leave('unclear');
    }
  }

  /** Waits before the next try, or throws because there is to be none. */
  async #pause(
    request: WireRequest,
    setback: Setback,
    seen: readonly SetbackKind[],
    waiting: AbortSignal,
  ): Promise<void> {
    const { tally, maxConcurrency, clock, emit } = this.#wire;
    const { setback: kind, because, retryAfterMs: requestedMs } = setback;
    const tries = seen.length;
    if (request.repeats !== 'all' && !request.repeats.includes(kind)) throw setback;
    const failed = seen.filter((each) => each !== 'overload').length;
    const ofItsKind = seen.filter((each) => each === kind).length;
    const allowed = policies[kind].tries ?? request.triesWhenSlow;
    if (failed >= FAILED_TRIES || ofItsKind >= allowed) throw failureOf(setback, request, tries);
    const budget = Math.max(LEAST_RETRIES, ROUNDS * maxConcurrency) + Math.floor(tally.answered / SUCCESSES_PER_RETRY);
    if (tally.retries >= budget) {
      throw failureOf(setback, request, tries, `; the run's budget of ${budget} retries was used up`);
    }
    tally.retries += 1;
    const ms = waitMs({ tries, requestedMs, isOverload: kind === 'overload', random: clock.random() });
    emit({ type: 'request_retried', endpoint: endpointOf(request), attempt: tries, because, waitMs: ms });
    await clock.sleep(ms, waiting);
  }
}

/** The failure that a call's last setback amounts to; `afterword` says why there was no other try, or is empty. */
function failureOf(setback: Setback, request: WireRequest, tries: number, afterword = ''): Failure {
  const { code, hint } = policies[setback.setback];
  const { because, status } = setback;
  const endpoint = endpointOf(request);
  const count = tries === 1 ? '' : ` (try ${tries})`;
  return new Failure(code, `${endpoint} ${setback.message}${count}${afterword}`, {
    facts: { origin: request.origin, endpoint, status, attempts: tries, because },
    hint,
    cause: setback,
  });
}
