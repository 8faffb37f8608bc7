/** Time and randomness of the wire, so that a test runs through an hour in a millisecond. */

import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  now(): number;
  /** Rejects with the signal's reason if it aborts before the time has passed. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  random(): number;
}

export const realClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: async (ms, signal) =>
    delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted()),
};

/** Returns the milliseconds of `Date`, plus `Age` in seconds if a cache stored the answer (RFC 9111). */
export function statedAt(date: string | null, age: string | null): number | null {
  const at = Date.parse(date ?? '');
  if (Number.isNaN(at)) return null;
  const seconds = /^\s*(\d{1,10})\s*(?:,|$)/.exec(age ?? '')?.[1] ?? '0';
  return at + Number(seconds) * 1000;
}

const BASE_MS = 1000;
const MAX_DELAY_MS = 60_000;
const MAX_REQUESTED_DELAY_MS = 300_000;

/** Reads `Retry-After`: seconds, or a date, which counts from `answeredAt`. */
export function retryAfterMs(header: string | null, answeredAt: number): number | null {
  const text = header?.trim() ?? '';
  // Only a date with letters: Date.parse reads "1.5" as a day in January.
  const at = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : at - answeredAt;
  return ms > 0 ? ms : null;
}

/** What the service requests, up to 5 minutes, else an exponential wait to 60 s, all or half of it (overload) random. */
export function waitMs({
  tries,
  requestedMs,
  isOverload,
  random,
}: {
  readonly tries: number;
  readonly requestedMs: number | null;
  readonly isOverload: boolean;
  readonly random: number;
}): number {
  if (requestedMs !== null) return Math.min(MAX_REQUESTED_DELAY_MS, requestedMs);
  const bound = Math.min(MAX_DELAY_MS, BASE_MS * 2 ** (tries - 1));
  return Math.round(isOverload ? bound / 2 + (random * bound) / 2 : random * bound);
}
