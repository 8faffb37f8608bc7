/** Whether the service is asked at all. */

import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Clock } from './clock.ts';
import { WaitingLine } from './waiting-line.ts';

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
