/** The time and chance that the wire depends on, in one place, so that a test lives through an hour in a millisecond; and how long to wait. */

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
export function statedAt(date: string | null, age: string | null): number | null {
  const at = Date.parse(date ?? '');
  if (Number.isNaN(at)) return null;
  const seconds = /^\s*(\d{1,10})\s*(?:,|$)/.exec(age ?? '')?.[1] ?? '0';
  return at + Number(seconds) * 1000;
}

const BASE_MS = 1000;
const LONGEST_MS = 60_000;
/** A wait the service asks for is honoured in full up to here. */
const LONGEST_ASKED_MS = 300_000;

/**
 * Milliseconds the service asked to wait, from `Retry-After` as seconds or as an HTTP date; null when it asked for none.
 * A date is compared with the same answer's own clock, `answeredAt`, not with this machine's.
 */
export function retryAfterMs(header: string | null, answeredAt: number): number | null {
  const text = header?.trim() ?? '';
  // Only a date with letters: Date.parse takes "1.5" for a day in January.
  const at = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : at - answeredAt;
  return ms > 0 ? ms : null;
}

interface Backoff {
  /** 1 after the first try. */
  readonly tries: number;
  readonly requestedMs: number | null;
  /** Half of the wait fixed, for an overloaded service; else all of it random. */
  readonly isOverload: boolean;
  /** In [0, 1). */
  readonly random: number;
}

/** Milliseconds to wait: what the service asked for, up to 5 minutes, else exponential from 1 s to 60 s with jitter. */
export function waitMs({ tries, requestedMs, isOverload, random }: Backoff): number {
  if (requestedMs !== null) return Math.min(LONGEST_ASKED_MS, requestedMs);
  const bound = Math.min(LONGEST_MS, BASE_MS * 2 ** (tries - 1));
  return Math.round(isOverload ? bound / 2 + (random * bound) / 2 : random * bound);
}
