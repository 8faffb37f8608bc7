/** Durations as people write them: a number and a unit, `s m h d`. */

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** What a timer holds, 24.8 days: one that is set for longer fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How long another run is waited for where nothing else was said. */
export const LOCK_WAIT_MS = 60_000;

/** Milliseconds of a duration such as `90m`, or null when the text is not one. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text);
  if (match === null) return null;
  const [, count = '', unit = ''] = match;
  const found = Object.entries(unitMs).find(([name]) => name === unit);
  return found === undefined ? null : Math.round(Number(count) * found[1]);
}

/** The shortest text of a duration: the largest unit that divides it. */
export function formatDuration(ms: number): string {
  for (const [unit, size] of Object.entries(unitMs).toReversed()) {
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms / 1000}s`;
}
