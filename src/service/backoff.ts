/** How long to wait before the next try. Pure. */

const BASE_MS = 1000;
const LONGEST_MS = 60_000;
/** A wait the service asks for is honoured in full up to here. */
const LONGEST_ASKED_MS = 300_000;

/**
 * Milliseconds the service asked to wait, from `Retry-After` as seconds or as an HTTP date; null when it asked for none.
 * A date is held against the same answer's own clock, `answeredAt`, not this machine's.
 */
export function retryAfterMs(header: string | null, answeredAt: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return positive(Number(text) * 1000);
  // Only a date with letters: Date.parse takes "1.5" for a day in January.
  return /^[A-Za-z]/.test(text) ? positive(Date.parse(text) - answeredAt) : null;
}

function positive(ms: number): number | null {
  return ms > 0 ? ms : null;
}

export interface Backoff {
  /** 1 after the first try. */
  readonly tries: number;
  readonly askedMs: number | null;
  /** Half of the wait fixed, for an overloaded service; else all of it random. */
  readonly isOverload: boolean;
  /** In [0, 1). */
  readonly random: number;
}

/** Milliseconds to wait: what the service asked for, up to 5 minutes, else exponential from 1 s to 60 s with jitter. */
export function waitMs({ tries, askedMs, isOverload, random }: Backoff): number {
  if (askedMs !== null) return Math.min(LONGEST_ASKED_MS, askedMs);
  const bound = Math.min(LONGEST_MS, BASE_MS * 2 ** (tries - 1));
  return Math.round(isOverload ? bound / 2 + (random * bound) / 2 : random * bound);
}
