/** A line of calls that wait. */

/** Those who wait, first come, first admitted. */
export class WaitingLine {
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
