/** When a call may start: how many may be in flight, and how fast they start. */

import type { Clock } from './clock.ts';
import { WaitingLine } from './waiting-line.ts';

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
