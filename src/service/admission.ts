/**
 * When a call may start: how many may be in flight and how fast they start (`Pace`), whether the service is asked at all
 * (`Breaker`), and what a run may spend on retries in all.
 */

import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Clock } from './clock.ts';

/** What a call's end says about the room there is: `overloaded` is a 429. */
export type Leaving = 'fine' | 'overloaded' | 'failed';

export interface Slot {
  /** Gives the place back; a second time does nothing. */
  leave(how: Leaving): void;
}

interface PaceLimits {
  readonly maxConcurrency: number;
  readonly maxStartsPerSecond: number;
}

/** Bursts the service bears, as seconds of its start rate (observed: 50 a second, bursts to 100). */
const BURST_SECONDS = 2;

/**
 * How many calls may be in flight and how fast they start.
 *
 * Hides an additive-increase, multiplicative-decrease limit below a fixed ceiling, a token bucket for starts, and a
 * first-in-first-out line. Promises: never more in flight than the limit at the start of any call, never more than the
 * ceiling at all; whoever waits is admitted as soon as there is room. Kept libraries offer either the limit or the
 * rate, and none an abortable line over both.
 */
export class Pace {
  readonly #limits: PaceLimits;
  readonly #clock: Clock;
  /** Ends the refill timer with the connection. */
  readonly #life: AbortSignal;
  readonly #changed: (from: number, to: number) => void;
  readonly #line = new WaitingLine();
  /** Fractional between two whole places: recovery adds one place a round, not a call. */
  #limit: number;
  #inFlight = 0;
  #peak = 0;
  /** Counts the decreases, so that the calls of one round lower the limit once. */
  #round = 0;
  #tokens: number;
  #refilledAt: number;
  #isRefilling = false;

  constructor(limits: PaceLimits, clock: Clock, life: AbortSignal, changed: (from: number, to: number) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#life = life;
    this.#changed = changed;
    this.#limit = limits.maxConcurrency;
    this.#tokens = this.#burst;
    this.#refilledAt = clock.now();
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Most calls in flight at once so far. */
  get peak(): number {
    return this.#peak;
  }

  /** How many calls may be in flight now; at least 1. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Waits for a place; rejects with the signal's reason when it aborts first. */
  async enter(signal: AbortSignal): Promise<Slot> {
    const admitted = this.#line.wait(signal);
    this.#admit();
    await admitted;
    const slot = this.#slot();
    if (signal.aborted) {
      slot.leave('failed');
      signal.throwIfAborted();
    }
    return slot;
  }

  #slot(): Slot {
    const round = this.#round;
    let hasLeft = false;
    return {
      leave: (how) => {
        if (hasLeft) return;
        hasLeft = true;
        if (round === this.#round) this.#learn(how);
        this.#inFlight -= 1;
        this.#admit();
      },
    };
  }

  #learn(how: Leaving): void {
    if (how === 'failed') return;
    const before = this.limit;
    if (how === 'overloaded') {
      this.#round += 1;
      this.#limit = Math.max(1, Math.floor(Math.min(this.limit, this.#inFlight) / 2));
    } else {
      this.#limit = Math.min(this.#limits.maxConcurrency, this.#limit + 1 / this.#limit);
    }
    if (this.limit !== before) this.#changed(before, this.limit);
  }

  #admit(): void {
    while (this.#line.length > 0 && this.#inFlight < this.limit) {
      if (!this.#takeToken()) return;
      this.#inFlight += 1;
      this.#peak = Math.max(this.#peak, this.#inFlight);
      this.#line.admitFirst();
    }
  }

  /** Takes the right to start one call, or sees to it that admission goes on when there is one again. */
  #takeToken(): boolean {
    const now = this.#clock.now();
    const perMs = this.#limits.maxStartsPerSecond / 1000;
    // A clock set back must not take tokens away.
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#refilledAt) * perMs);
    this.#refilledAt = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return true;
    }
    if (!this.#isRefilling) void this.#refill(Math.ceil((1 - this.#tokens) / perMs));
    return false;
  }

  async #refill(ms: number): Promise<void> {
    this.#isRefilling = true;
    try {
      await this.#clock.sleep(ms, this.#life);
    } catch {
      return; // The connection was closed: nobody is to be admitted any more.
    } finally {
      this.#isRefilling = false;
    }
    this.#admit();
  }

  get #burst(): number {
    return Math.max(1, this.#limits.maxStartsPerSecond * BURST_SECONDS);
  }
}

/** Those who wait, first come, first admitted. */
class WaitingLine {
  /** A Set keeps the order of arrival and forgets from the middle at no cost. */
  readonly #admissions = new Set<() => void>();

  get length(): number {
    return this.#admissions.size;
  }

  /** Resolves when admitted; rejects with the signal's reason when it aborts first. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        this.#admissions.delete(admit);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#admissions.delete(admit);
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', leave, { once: true });
      this.#admissions.add(admit);
    });
  }

  /** Admits who has waited longest; nobody when the line is empty. */
  admitFirst(): void {
    const [first] = this.#admissions;
    first?.();
  }

  admitAll(): void {
    for (const admit of this.#admissions) admit();
  }
}

/** What a call's end says of the service; `unclear` when it ended for a reason of its own. */
export type Sign = 'alive' | 'outage' | 'unclear';

export interface Passage {
  /** Tells how the call ended; `because` names the outage. */
  settle(sign: Sign, because: string): void;
}

/** More than one call's six tries, so that one bad address or report does not stop the others. */
const OUTAGES_TO_OPEN = 8;
const FIRST_WAIT_MS = 5000;
const LONGEST_WAIT_MS = 60_000;
/** With the waits above a little more than three minutes. */
const PROBES_TO_GIVE_UP = 6;

type State = 'closed' | 'open' | 'half open' | 'given up';

/**
 * Stops asking a service that is down, and finds out when it is back.
 *
 * Opens after consecutive outages (connection failures, 5xx), lets one probe through when its wait is over, closes when
 * that one met a sign of life, and gives up for good when several probes in a row found nothing: the run then ends with
 * what it has, and the next one starts over. Calls that began before it opened say how the service was then: a service
 * that is being restarted may still finish some answers while it takes no new calls.
 */
export class Breaker {
  readonly #origin: string;
  readonly #clock: Clock;
  readonly #life: AbortSignal;
  readonly #emit: Emit;
  readonly #line = new WaitingLine();
  #state: State = 'closed';
  #outages = 0;
  #failedProbes = 0;
  #isProbing = false;
  #lastOutage = '';
  /** Tells what began before the breaker opened from what began since. */
  #openings = 0;

  constructor(origin: string, clock: Clock, life: AbortSignal, emit: Emit) {
    this.#origin = origin;
    this.#clock = clock;
    this.#life = life;
    this.#emit = emit;
  }

  /** Waits until a call has a chance to pass; throws `SOURCE_UNAVAILABLE` once given up. */
  async ready(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (!this.#isPassable()) await this.#line.wait(signal);
  }

  /** Lets a call pass, or null: the one probe is under way, or the breaker has opened since it was ready. */
  pass(): Passage | null {
    if (!this.#isPassable()) return null;
    const isProbe = this.#state === 'half open';
    if (isProbe) this.#isProbing = true;
    const opening = this.#openings;
    let isSettled = false;
    return {
      settle: (sign, because) => {
        if (isSettled || opening !== this.#openings) return;
        isSettled = true;
        if (isProbe) this.#isProbing = false;
        if (sign === 'alive') this.#close();
        else if (sign === 'outage') this.#countOutage(isProbe, because);
        else if (isProbe) this.#line.admitAll();
      },
    };
  }

  #isPassable(): boolean {
    if (this.#state === 'given up') throw this.#failure();
    return this.#state === 'closed' || (this.#state === 'half open' && !this.#isProbing);
  }

  #close(): void {
    this.#outages = 0;
    this.#failedProbes = 0;
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#emit({ type: 'breaker_closed' });
    this.#line.admitAll();
  }

  #countOutage(isProbe: boolean, because: string): void {
    this.#lastOutage = because;
    if (!isProbe) {
      this.#outages += 1;
      if (this.#outages >= OUTAGES_TO_OPEN) void this.#open();
      return;
    }
    this.#failedProbes += 1;
    if (this.#failedProbes < PROBES_TO_GIVE_UP) {
      void this.#open();
      return;
    }
    this.#state = 'given up';
    this.#line.admitAll();
  }

  async #open(): Promise<void> {
    this.#state = 'open';
    this.#openings += 1;
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failedProbes);
    this.#emit({ type: 'breaker_opened', waitMs });
    try {
      await this.#clock.sleep(waitMs, this.#life);
    } catch {
      return; // The connection was closed.
    }
    this.#state = 'half open';
    this.#line.admitAll();
  }

  #failure(): Failure {
    return new Failure(
      'SOURCE_UNAVAILABLE',
      `${this.#origin} stayed unavailable: ${this.#failedProbes} probes in a row failed, the last with ${this.#lastOutage}`,
      {
        facts: { origin: this.#origin, probes: this.#failedProbes, because: this.#lastOutage },
        hint: 'Run again later; what was loaded stays.',
      },
    );
  }
}

const ROUNDS = 4;
const SUCCESSES_PER_RETRY = 5;
/** For a concurrency of one or two: three calls may fail all their tries. */
const LEAST = 15;

/** What a run may spend on retries in all. */
export class RetryBudget {
  #left: number;
  #spent = 0;
  #successes = 0;

  constructor(maxConcurrency: number) {
    this.#left = Math.max(LEAST, ROUNDS * maxConcurrency);
  }

  /** Retries taken so far. */
  get spent(): number {
    return this.#spent;
  }

  earn(): void {
    this.#successes += 1;
    if (this.#successes % SUCCESSES_PER_RETRY === 0) this.#left += 1;
  }

  /** Takes one retry; false when none is left. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    this.#spent += 1;
    return true;
  }
}
