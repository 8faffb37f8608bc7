/**
 * A call to one API: the whole request with its body, and as many tries as its setbacks allow, each waiting for its turn.
 *
 * undici's own retries have no jitter, cut `Retry-After` short, skip time-outs and resume with `Range`. A request is not
 * retried if it may have had an effect (`WireRequest.repeats`), nor beyond the run's budget.
 */

import type { Dispatcher } from 'undici';

import type { Secret } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Clock, statedAt, waitMs } from './clock.ts';
import {
  type WireAnswer,
  type WireRequest,
  endpointOf,
  exchange,
  type WireTally,
} from './exchange.ts';
import { Lane } from './lane.ts';
import { MAX_ATTEMPTS, policies, Setback, type SetbackKind } from './setback.ts';
import { judge } from './verdict.ts';

/** Most tries of a small call if the service is too slow for it. */
const TRIES_WHEN_SLOW = 3;
/** Retries that a run may take: this many rounds of its concurrency, and one more for every few successes … */
const ROUNDS = 4;
const SUCCESSES_PER_RETRY = 5;
/** … but at least this many, so that three calls may fail all their tries even if the concurrency is low. */
const MIN_RETRIES = 15;

export interface ChannelSettings {
  /** Configured address; its path is put before every target. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The secrets in the headers; no answer may contain one. */
  readonly secrets: readonly Secret[];
  readonly deadlineMs: number;
  readonly concurrency: number;
  /** Aborts, with the failure as its reason, if the credential is refused. */
  readonly refused: AbortController;
}

type Sending = Pick<WireRequest, 'method' | 'body' | 'repeats'> & { readonly contentType: string };

export interface Wire {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Limit of reports; the run's budget of retries depends on it. */
  readonly maxConcurrency: number;
  readonly maxStartsPerSecond: number;
  readonly tally: WireTally;
  /** Aborts when the connection is closed. */
  readonly life: AbortSignal;
}

/** Reads a judged answer. Called once per try, so it must start from the beginning. */
export type Reader<T> = (answer: WireAnswer, verdict: 'answer' | 'empty') => Promise<T>;

/** Signals that end a call on the wire and a waiting call; a refused credential ends only waiting ones. */
interface Abort {
  readonly inFlight: AbortSignal;
  readonly queued: AbortSignal;
}

/** One API of the service: the address, headers, lane and deadline that all its calls share. */
export class Channel {
  readonly origin: string;
  /** Sent with every request; no answer may contain one. */
  readonly secrets: readonly Secret[];
  readonly #wire: Wire;
  readonly #lane: Lane;
  readonly #refused: AbortController;
  readonly #prefix: string;
  readonly #plain: Pick<WireRequest, 'origin' | 'headers' | 'deadlineMs'>;

  constructor(
    wire: Wire,
    { address, headers, secrets, deadlineMs, concurrency, refused }: ChannelSettings,
  ) {
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

  /** The target for a path and query of the interface, with the address's own path before it. */
  targetOf(path: string): string {
    return `${this.#prefix}${path}`;
  }

  /** Requests a target; tries again after every kind of setback. */
  get<T>(
    target: string,
    signal: AbortSignal,
    read: Reader<T>,
    triesWhenSlow = TRIES_WHEN_SLOW,
  ): Promise<T> {
    const request = {
      ...this.#plain,
      target,
      method: 'GET',
      body: null,
      repeats: 'all',
      triesWhenSlow,
    } as const;
    return this.#call(request, signal, read);
  }

  /** Sends a body to a target. Throws the bare `Setback` if the request must not be repeated after it. */
  send<T>(
    target: string,
    { contentType, ...sending }: Sending,
    signal: AbortSignal,
    read: Reader<T>,
  ): Promise<T> {
    const headers = { ...this.#plain.headers, 'content-type': contentType };
    return this.#call(
      { ...this.#plain, ...sending, target, headers, triesWhenSlow: TRIES_WHEN_SLOW },
      signal,
      read,
    );
  }

  /**
   * Tries until there is an answer and returns the result of `read`. Throws a `Failure`, the signal's reason, or the bare
   * `Setback` after which the request must not be repeated, as for a write that is stopped on the wire or before its next try.
   */
  async #call<T>(request: WireRequest, signal: AbortSignal, read: Reader<T>): Promise<T> {
    const inFlight = AbortSignal.any([signal, this.#wire.life]);
    // A refused credential cancels waiting calls, not those that are already being answered.
    const abort = { inFlight, queued: AbortSignal.any([inFlight, this.#refused.signal]) };
    const seen: SetbackKind[] = [];
    for (;;) {
      try {
        return await this.#attempt(request, seen.length + 1, abort, read);
      } catch (error) {
        if (!(error instanceof Setback)) throw error;
        seen.push(error.setback);
        await this.#pause(request, error, seen, abort.queued).catch((ended: unknown) => {
          // A stopped write that is repeated after any setback ends with its last one, which may have had an effect.
          throw request.method === 'GET' || request.repeats !== 'all' || ended instanceof Failure
            ? ended
            : error;
        });
      }
    }
  }

  async #attempt<T>(
    request: WireRequest,
    tries: number,
    abort: Abort,
    read: Reader<T>,
  ): Promise<T> {
    const { tally, clock } = this.#wire;
    const slot = await this.#lane.enter(abort.queued);
    tally.requests += 1;
    try {
      const value = await exchange(this.#wire, request, abort.inFlight, async (answer) => {
        const now = clock.now();
        const statedNow = statedAt(answer.header('date'), answer.header('age'));
        if (statedNow !== null) tally.skewMs = statedNow - now;
        return read(answer, await judge(request, answer, tries, now));
      });
      slot.release('answered');
      tally.answered += 1;
      tally.lastSetback = null;
      return value;
    } catch (error) {
      if (error instanceof Setback) {
        tally.lastSetback = `${endpointOf(request)} ${error.message}`;
        slot.release(policies[error.setback].result, error.because);
      } else if (error instanceof Failure) {
        // Before the slot passes to another waiting call.
        if (error.code === 'CREDENTIALS_REFUSED') this.#refused.abort(error);
        slot.release('alive');
      }
      throw error;
    } finally {
      // Any other error says nothing about the service.
      slot.release('unclear');
    }
  }

  /** Waits before the next try; throws if there is to be none. */
  async #pause(
    request: WireRequest,
    setback: Setback,
    seen: readonly SetbackKind[],
    queued: AbortSignal,
  ): Promise<void> {
    const { tally, maxConcurrency, clock, emit } = this.#wire;
    const { setback: kind, because, retryAfterMs: requestedMs } = setback;
    const tries = seen.length;
    if (request.repeats !== 'all' && !request.repeats.includes(kind)) throw setback;
    const failed = seen.filter((each) => each !== 'overload').length;
    const ofItsKind = seen.filter((each) => each === kind).length;
    const allowed = policies[kind].tries ?? request.triesWhenSlow;
    if (failed >= MAX_ATTEMPTS || ofItsKind >= allowed) throw failureOf(setback, request, tries);
    const budget =
      Math.max(MIN_RETRIES, ROUNDS * maxConcurrency) +
      Math.floor(tally.answered / SUCCESSES_PER_RETRY);
    if (tally.retries >= budget) {
      throw failureOf(
        setback,
        request,
        tries,
        `; the run's budget of ${budget} retries was used up`,
      );
    }
    tally.retries += 1;
    const ms = waitMs({
      tries,
      requestedMs,
      isOverload: kind === 'overload',
      random: clock.random(),
    });
    emit({
      type: 'request_retried',
      endpoint: endpointOf(request),
      attempt: tries,
      because,
      waitMs: ms,
    });
    await clock.sleep(ms, queued);
  }
}

/** The failure of a call after its last setback; `afterword` states why there was no other try, or is empty. */
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
