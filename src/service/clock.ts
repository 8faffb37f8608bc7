/** The time and chance that the wire depends on, in one place, so that a test lives through an hour in a millisecond. */

import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after the time; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Uniform in [0, 1), to spread waits. */
  random(): number;
}

/** The machine's clock. */
export const realClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  },
};

/**
 * What the service's clock said when an answer was handed out, milliseconds since the epoch, to the second: its `Date`,
 * and for one that a cache kept the seconds of its `Age` since (RFC 9111). Null without a date.
 */
export function toldAt(date: string | null, age: string | null): number | null {
  const at = Date.parse(date ?? '');
  if (Number.isNaN(at)) return null;
  const seconds = /^\s*(\d{1,10})\s*(?:,|$)/.exec(age ?? '')?.[1] ?? '0';
  return at + Number(seconds) * 1000;
}

export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Lets go of the sources; call it when the work is over. */
  unlink(): void;
}

/** Links signals: the result aborts with the reason of whichever aborts first. */
export function linkSignals(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const listeners = sources.map((source) => {
    // One listener a call that waits, each removed: hundreds are no leak.
    setMaxListeners(0, source);
    const abort = (): void => controller.abort(source.reason);
    if (source.aborted) abort();
    source.addEventListener('abort', abort, { once: true });
    return { source, abort };
  });
  return {
    signal: controller.signal,
    unlink: () => {
      for (const { source, abort } of listeners) source.removeEventListener('abort', abort);
    },
  };
}
