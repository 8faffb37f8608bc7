/**
 * How many retries a whole run may spend, so that a service in trouble is not asked six times for everything.
 *
 * Starts with four rounds of the full concurrency: enough for a storm of 429 in which every call of a round is refused
 * until the limit has sunk (50, 25, 12, 6). Earns one for every five calls that succeeded: in a long run at most one call
 * in six is a retry.
 */

const ROUNDS = 4;
const SUCCESSES_PER_RETRY = 5;
/** For a concurrency of one or two: three calls may fail all their tries. */
const LEAST = 15;

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
