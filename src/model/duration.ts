/** Durations as people write them: a number and a unit, `s m h d`. */

const unitMs = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** A timer set for longer than these 24.8 days fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Has a listener, as Node 20 collects a signal to which only `AbortSignal.any` refers. */
export function timeoutSignal(ms: number): AbortSignal {
  const signal = AbortSignal.timeout(Math.min(MAX_TIMER_MS, Math.ceil(ms)));
  signal.addEventListener('abort', () => {});
  return signal;
}

export const LOCK_WAIT_MS = 60_000;

export function parseDuration(text: string): number | null {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const ms = unitMs.get(unit);
  return ms === undefined ? null : Math.round(Number(count) * ms);
}
