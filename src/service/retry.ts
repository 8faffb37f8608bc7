/**
 * The call: as many tries as a setback deserves, each in its turn, around the whole request including its body.
 *
 * Own instead of undici's, which has no jitter, cuts `Retry-After` short, does not retry time-outs and resumes with
 * `Range`. Nothing is retried that may have had an effect (`Ask.repeats`), and no more than the run's budget allows.
 */

import type { Dispatcher } from 'undici';

import { type Facts, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { waitMs } from './backoff.ts';
import type { Breaker, Passage, RetryBudget } from './breaker.ts';
import { type Clock, linkSignals } from './clock.ts';
import { type Answer, type Ask, endpointOf, exchange } from './exchange.ts';
import { judge } from './judge.ts';
import type { Pace, Slot } from './pace.ts';
import { FAILED_TRIES, policies, Setback, type SetbackKind } from './setback.ts';
import type { Tally } from './tally.ts';

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
 * `Setback` of an ask that must not be repeated after it.
 */
export async function call<T>(wire: Wire, lane: Lane, ask: Ask, signal: AbortSignal, read: Reader<T>): Promise<T> {
  const onWire = linkSignals(signal, wire.life);
  // A refused credential cancels what waits, not what is already being answered.
  const waiting = linkSignals(onWire.signal, lane.credential.standing);
  const seen = new Map<SetbackKind, number>();
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt(wire, lane, ask, tries, onWire.signal, waiting.signal, read);
      } catch (error) {
        if (!(error instanceof Setback)) throw error;
        seen.set(error.setback, (seen.get(error.setback) ?? 0) + 1);
        await pause(wire, ask, error, tries, seen, waiting.signal);
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
  const { slot, passage } = await turn(lane, waiting);
  wire.tally.countRequest(tries > 1);
  try {
    const value = await exchange(wire.dispatcher, ask, onWire, wire.tally.countBytes, async (answer) => {
      wire.tally.readClock(answer.header('date'), answer.header('age'), wire.clock.now());
      return read(answer, await judge(ask, answer, tries, wire.clock.now()));
    });
    passage.settle('alive', '');
    slot.leave('fine');
    wire.budget.earn();
    return value;
  } catch (error) {
    if (error instanceof Setback) {
      passage.settle(policies[error.setback].sign, error.because);
      slot.leave(error.setback === 'overload' ? 'overloaded' : 'failed');
    } else if (error instanceof Failure) {
      passage.settle('alive', '');
      if (error.code === 'CREDENTIALS_REFUSED') lane.credential.refuse(error);
    }
    throw error;
  } finally {
    // Whatever was thrown without a meaning for breaker and pace; a second settling does nothing.
    passage.settle('unclear', '');
    slot.leave('failed');
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

export interface Lane {
  readonly pace: Pace;
  readonly breaker: Breaker;
  readonly credential: Credential;
}

export interface Turn {
  readonly slot: Slot;
  readonly passage: Passage;
}

/**
 * Waits for a turn on the wire. Throws `SOURCE_UNAVAILABLE` when the breaker has given up, and the signal's reason when
 * it aborts.
 */
export async function turn(lane: Lane, signal: AbortSignal): Promise<Turn> {
  for (;;) {
    await lane.breaker.ready(signal);
    const slot = await lane.pace.enter(signal);
    try {
      const passage = lane.breaker.pass();
      if (passage !== null) return { slot, passage };
    } catch (error) {
      slot.leave('failed');
      throw error;
    }
    // The breaker opened while this call stood in line: somebody else is the probe.
    slot.leave('failed');
  }
}

export class Credential {
  readonly #controller = new AbortController();

  /** Aborts, with the failure as its reason, when the credential is refused. */
  get standing(): AbortSignal {
    return this.#controller.signal;
  }

  /** Takes the service's word that the credential is void; the first such failure is what later calls throw. */
  refuse(failure: Failure): void {
    this.#controller.abort(failure);
  }
}
