/** What a connection has done so far, and what it learned of the service's clock. */

import { toldAt } from './clock.ts';

/** A `Date` header names the second an answer began in, and an `Age` beside it whole seconds. */
const DATE_RESOLUTION_MS = 1000;

export class Tally {
  #requests = 0;
  #retries = 0;
  #bytes = 0;
  #skewMs: number | null = null;

  get requests(): number {
    return this.#requests;
  }

  get retries(): number {
    return this.#retries;
  }

  /** Of bodies, as they came. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The service's clock minus this machine's; 0 when they agree within the second a `Date` header names. */
  get skewMs(): number | null {
    return this.#skewMs;
  }

  countRequest(isRetry: boolean): void {
    this.#requests += 1;
    if (isRetry) this.#retries += 1;
  }

  /** Bound, to be handed on. */
  readonly countBytes = (bytes: number): void => {
    this.#bytes += bytes;
  };

  /** Learns from an answer's `Date` and `Age`; a date that is missing or none teaches nothing. */
  readClock(date: string | null, age: string | null, now: number): void {
    const from = toldAt(date, age);
    if (from === null) return;
    const nearest = Math.min(Math.max(now, from), from + DATE_RESOLUTION_MS * (age === null ? 1 : 2));
    this.#skewMs = nearest - now;
  }
}
