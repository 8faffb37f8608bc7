/**
 * The call: one API of the service, and as many tries as a setback deserves, each in its turn, around the whole request
 * including its body.
 *
 * Own instead of undici's, which has no jitter, cuts `Retry-After` short, does not retry time-outs and resumes with
 * `Range`. Nothing is retried that may have had an effect (`Ask.repeats`), and no more than the run's budget allows.
 */

import type { Dispatcher } from 'undici';

import type { Secret } from '../config/secret.ts';
import { type Facts, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { type Clock, linkSignals, waitMs } from './clock.ts';
import { type Answer, type Ask, endpointOf, exchange, type Tally } from './exchange.ts';
import type { Lane, RetryBudget } from './lane.ts';
import { FAILED_TRIES, policies, Setback, type SetbackKind } from './setback.ts';
import { judge } from './verdict.ts';

/** Tries of a small call that the service is too slow for. */
const TRIES_WHEN_SLOW = 3;

interface ChannelSettings {
  /** Configured address; a path in it stands before every target. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Those in the headers: no answer may hold one. */
  readonly secrets: readonly Secret[];
  readonly deadlineMs: number;
}

interface Sending {
  readonly method: 'POST' | 'PATCH';
  readonly contentType: string;
  readonly body: string;
  readonly repeats: 'all' | readonly SetbackKind[];
}

/** One API of the service: its address, headers, lane and deadline; every call on it differs in the rest only. */
export class Channel {
  readonly #wire: Wire;
  readonly #lane: Lane;
  readonly #settings: ChannelSettings;
  readonly #prefix: string;
  readonly origin: string;

  constructor(wire: Wire, lane: Lane, settings: ChannelSettings) {
    this.#wire = wire;
    this.#lane = lane;
    this.#settings = settings;
    const { origin, pathname } = new URL(settings.address);
    this.origin = origin;
    this.#prefix = pathname.replace(/\/+$/, '');
  }

  /** What it is asked with and no answer may hold. */
  get secrets(): readonly Secret[] {
    return this.#settings.secrets;
  }

  /** The target of a path and query of the interface: the address's own path stands before it. */
  targetOf(path: string): string {
    return `${this.#prefix}${path}`;
  }

  /** Asks for a target. */
  get<T>(target: string, signal: AbortSignal, read: Reader<T>, triesWhenSlow = TRIES_WHEN_SLOW): Promise<T> {
    return this.#call(
      { ...this.#plain(target), method: 'GET', body: null, repeats: 'all', triesWhenSlow },
      signal,
      read,
    );
  }

  /** Sends a body to a target. Throws the bare `Setback` after which it must not be repeated. */
  send<T>(target: string, { contentType, ...sending }: Sending, signal: AbortSignal, read: Reader<T>): Promise<T> {
    const plain = this.#plain(target);
    const headers = { ...plain.headers, 'content-type': contentType };
    return this.#call({ ...plain, ...sending, headers, triesWhenSlow: TRIES_WHEN_SLOW }, signal, read);
  }

  #plain(target: string): Pick<Ask, 'origin' | 'target' | 'headers' | 'deadlineMs'> {
    const { headers, deadlineMs } = this.#settings;
    return { origin: this.origin, target, headers, deadlineMs };
  }

  #call<T>(ask: Ask, signal: AbortSignal, read: Reader<T>): Promise<T> {
    return call(this.#wire, this.#lane, ask, signal, read);
  }
}

/** What all calls of a connection share. */
export interface Wire {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly emit: Emit;
  readonly budget: RetryBudget;
  readonly tally: Tally;
  /** Aborts when the connection is closed. */
  readonly life: AbortSignal;
}

/** Reads a judged answer; called once a try, so it must start over. */
export type Reader<T> = (answer: Answer, verdict: 'answer' | 'empty') => Promise<T>;

/**
 * Asks until there is an answer and returns what `read` makes of it. Throws a `Failure`, the signal's reason, or the bare
 * `Setback` of an ask that must not be repeated after it, as of a write that was stopped on the wire or before its next try.
 */
async function call<T>(wire: Wire, lane: Lane, ask: Ask, signal: AbortSignal, read: Reader<T>): Promise<T> {
  const onWire = linkSignals(signal, wire.life);
  // A refused credential cancels what waits, not what is already being answered.
  const waiting = linkSignals(onWire.signal, lane.credential);
  const seen = new Map<SetbackKind, number>();
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt(wire, lane, ask, tries, onWire.signal, waiting.signal, read);
      } catch (error) {
        if (!(error instanceof Setback)) throw error;
        seen.set(error.setback, (seen.get(error.setback) ?? 0) + 1);
        await pause(wire, ask, error, tries, seen, waiting.signal).catch((ended: unknown) => {
          // What the last try of a write came to is not known less because there is to be no other one.
          throw ask.method === 'GET' || ended instanceof Failure ? ended : error;
        });
      }
    }
  } finally {
    onWire.unlink();
    waiting.unlink();
  }
}

async function attempt<T>(
  wire: Wire,
  lane: Lane,
  ask: Ask,
  tries: number,
  onWire: AbortSignal,
  waiting: AbortSignal,
  read: Reader<T>,
): Promise<T> {
  const slot = await lane.enter(waiting);
  wire.tally.countRequest(tries > 1);
  try {
    const value = await exchange(wire.dispatcher, ask, onWire, wire.tally.countBytes, async (answer) => {
      wire.tally.readClock(answer.header('date'), answer.header('age'), wire.clock.now());
      return read(answer, await judge(ask, answer, tries, wire.clock.now()));
    });
    slot.leave('answered');
    wire.budget.earn();
    wire.tally.lastSetback = null;
    return value;
  } catch (error) {
    if (error instanceof Setback) {
      wire.tally.lastSetback = `${endpointOf(ask)} ${error.message}`;
      slot.leave(policies[error.setback].sign, error.because);
    } else if (error instanceof Failure) {
      // Before the place is given to another call that waits.
      if (error.code === 'CREDENTIALS_REFUSED') lane.refuseCredential(error);
      slot.leave('alive');
    }
    throw error;
  } finally {
    // Whatever was thrown without a meaning for the lane.
    slot.leave('unclear');
  }
}

/** Waits before the next try, or throws because there is to be none. */
async function pause(
  wire: Wire,
  ask: Ask,
  setback: Setback,
  tries: number,
  seen: ReadonlyMap<SetbackKind, number>,
  waiting: AbortSignal,
): Promise<void> {
  if (ask.repeats !== 'all' && !ask.repeats.includes(setback.setback)) throw setback;
  const failed = tries - (seen.get('overload') ?? 0);
  const ofItsKind = seen.get(setback.setback) ?? 0;
  const allowed = policies[setback.setback].tries ?? ask.triesWhenSlow;
  if (failed >= FAILED_TRIES || ofItsKind >= allowed) throw failureOf(setback, ask, tries);
  if (!wire.budget.take()) {
    const retries = wire.budget.spent;
    throw failureOf(setback, ask, tries, `; the run's budget of ${retries} retries was used up`, { retries });
  }
  const ms = waitMs({
    tries,
    askedMs: setback.retryAfterMs,
    isOverload: setback.setback === 'overload',
    random: wire.clock.random(),
  });
  wire.emit({
    type: 'request_retried',
    endpoint: endpointOf(ask),
    attempt: tries,
    because: setback.because,
    waitMs: ms,
  });
  await wire.clock.sleep(ms, waiting);
}

/** The failure that a call's last setback amounts to; `afterword` says why there was no other try, or is empty. */
function failureOf(setback: Setback, ask: Ask, tries: number, afterword = '', facts: Facts = {}): Failure {
  const { code, hint } = policies[setback.setback];
  const count = tries === 1 ? '' : ` (try ${tries})`;
  return new Failure(code, `${endpointOf(ask)} ${setback.message}${count}${afterword}`, {
    facts: {
      origin: ask.origin,
      endpoint: endpointOf(ask),
      status: setback.status,
      attempts: tries,
      because: setback.because,
      ...facts,
    },
    hint,
    cause: setback,
  });
}
