/** Decides when a call to one API may start. Libraries offer either the limit or the rate, and none an abortable queue. */

import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Clock } from './clock.ts';

/** `unclear` shows nothing of the service. */
export type CallResult = 'answered' | 'alive' | 'overloaded' | 'outage' | 'unclear';

/** Frees the slot of a call. `because` names an outage. */
export type Release = (result: CallResult, because?: string) => void;

interface LaneSettings {
  readonly origin: string;
  readonly maxConcurrency: number;
  readonly maxStartsPerSecond: number;
  readonly clock: Clock;
  readonly life: AbortSignal;
  readonly emit: Emit;
}

/** Bursts that the service accepts, in seconds of its start rate (observed: 50 a second, bursts to 100). */
const BURST_SECONDS = 2;
/** More than one call's six tries, so that one bad address or report does not stop the others. */
const BREAKER_THRESHOLD = 8;
const FIRST_PAUSE_MS = 5000;
const MAX_PAUSE_MS = 60_000;
/** Together with the pauses above, a little more than three minutes. */
const PROBES_TO_GIVE_UP = 6;

/**
 * A 429 halves the limit, a round of successes raises it by one. After 8 outages in a row the lane pauses, then admits one
 * probe: an answer reopens the lane, an outage pauses it for longer, and the sixth failed probe ends every call for good.
 * Results of calls started before the latest pause or decrease are ignored.
 */
export class Lane {
  readonly #settings: LaneSettings;
  readonly #line = new Set<{ admit(): void; refuse(reason: unknown): void }>();
  #state: 'open' | 'paused' | 'probing' | 'given up' = 'open';
  #limit: number;
  #inFlight = 0;
  #peak = 0;
  #isProbeOut = false;
  #epoch = 0;
  #outages = 0;
  #failedProbes = 0;
  #lastOutage = '';
  #tokens: number;
  #refilledAt: number;
  #isRefilling = false;

  constructor(settings: LaneSettings) {
    this.#settings = settings;
    this.#limit = settings.maxConcurrency;
    this.#tokens = this.#burst;
    this.#refilledAt = settings.clock.now();
  }

  get inFlight() {
    return this.#inFlight;
  }

  get peak() {
    return this.#peak;
  }

  get limit() {
    return Math.floor(this.#limit);
  }

  /** Rejects with the reason of an aborted signal, or `SOURCE_UNAVAILABLE` if the lane has given up. */
  async enter(signal: AbortSignal): Promise<Release> {
    signal.throwIfAborted();
    if (this.#state === 'given up') throw this.#failure();
    let stop = (): void => {};
    try {
      const release = await new Promise<Release>((resolve, reject) => {
        const waiting = { admit: () => resolve(this.#occupy()), refuse: reject };
        stop = () => {
          this.#line.delete(waiting);
          reject(signal.reason);
        };
        signal.addEventListener('abort', stop, { once: true });
        this.#line.add(waiting);
        this.#admit();
      });
      // The signal may have aborted since the call was admitted.
      if (signal.aborted) release('unclear');
      signal.throwIfAborted();
      return release;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  #occupy(): Release {
    const epoch = this.#epoch;
    return (result, because = '') => {
      if (epoch === this.#epoch) this.#record(result, because);
      this.#inFlight -= 1;
      this.#admit();
    };
  }

  #record(result: CallResult, because: string) {
    const isProbe = this.#state === 'probing';
    this.#isProbeOut = false;
    if (result === 'unclear') return;
    if (result === 'outage') {
      this.#lastOutage = because;
      if (isProbe) this.#failedProbes += 1;
      else this.#outages += 1;
      if (this.#failedProbes >= PROBES_TO_GIVE_UP) {
        this.#state = 'given up';
        for (const waiting of this.#line) waiting.refuse(this.#failure());
        this.#line.clear();
      } else if (isProbe || this.#outages >= BREAKER_THRESHOLD) this.#pause();
      return;
    }
    [this.#outages, this.#failedProbes] = [0, 0];
    if (isProbe) {
      this.#state = 'open';
      this.#settings.emit({ type: 'breaker_closed' });
    }
    const from = this.limit;
    if (result === 'overloaded') {
      this.#epoch += 1;
      this.#limit = Math.max(1, Math.floor(Math.min(from, this.#inFlight) / 2));
    } else if (result === 'answered') {
      this.#limit = Math.min(this.#settings.maxConcurrency, this.#limit + 1 / this.#limit);
    }
    const to = this.limit;
    const reason = to < from ? '429' : 'recovery';
    if (to !== from)
      this.#settings.emit({ type: 'concurrency_changed', from, to, because: reason });
  }

  #pause() {
    this.#state = 'paused';
    this.#epoch += 1;
    const waitMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failedProbes);
    this.#settings.emit({ type: 'breaker_opened', waitMs });
    void this.#later(waitMs, () => {
      this.#state = 'probing';
    });
  }

  /** Does nothing once the connection is closed. */
  async #later(ms: number, change: () => void) {
    try {
      await this.#settings.clock.sleep(ms, this.#settings.life);
    } catch {
      return;
    }
    change();
    this.#admit();
  }

  #admit() {
    for (const waiting of this.#line) {
      if (!this.#hasRoom || !this.#takeToken()) return;
      this.#line.delete(waiting);
      this.#isProbeOut = this.#state === 'probing';
      this.#inFlight += 1;
      this.#peak = Math.max(this.#peak, this.#inFlight);
      waiting.admit();
    }
  }

  get #hasRoom() {
    if (this.#state === 'probing') return !this.#isProbeOut;
    return this.#state === 'open' && this.#inFlight < this.limit;
  }

  /** Schedules the next admission if there is none. */
  #takeToken() {
    const now = this.#settings.clock.now();
    const perMs = this.#settings.maxStartsPerSecond / 1000;
    // A clock that is set back must not take tokens away.
    const refill = Math.max(0, now - this.#refilledAt) * perMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + refill);
    this.#refilledAt = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return true;
    }
    if (!this.#isRefilling) {
      this.#isRefilling = true;
      void this.#later(Math.ceil((1 - this.#tokens) / perMs), () => {
        this.#isRefilling = false;
      });
    }
    return false;
  }

  get #burst() {
    return Math.max(1, this.#settings.maxStartsPerSecond * BURST_SECONDS);
  }

  #failure() {
    const { origin } = this.#settings;
    const [probes, because] = [this.#failedProbes, this.#lastOutage];
    const message = `${origin} stayed unavailable: ${probes} probes in a row failed, the last with ${because}`;
    return new Failure('SOURCE_UNAVAILABLE', message, {
      facts: { origin, probes, because },
      hint: 'Run again later. Loaded data is kept.',
    });
  }
}
