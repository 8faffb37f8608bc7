/** How many retries a run may take. */

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
