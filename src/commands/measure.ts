/** Numbers as people read them: sizes, durations, counts. Pure; never for machines. */

const KIB = 1024;
const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
const MS_PER_SECOND = 1000;
const SECONDS_PER_MINUTE = 60;
const MINUTES_PER_HOUR = 60;

/** `512 B`, `1.2 KiB`, `34 MiB`: one decimal below ten, none above. */
export function bytesText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= KIB && unit < byteUnits.length - 1) {
    size /= KIB;
    unit += 1;
  }
  const digits = unit === 0 || size >= 10 ? 0 : 1;
  return `${size.toFixed(digits)} ${byteUnits[unit] ?? 'B'}`;
}

/** `340 ms`, `1.2 s`, `34 s`, `2 min 05 s`, `1 h 03 min`. */
export function elapsedText(ms: number): string {
  if (ms < MS_PER_SECOND) return `${Math.round(ms)} ms`;
  const seconds = ms / MS_PER_SECOND;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < SECONDS_PER_MINUTE) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / SECONDS_PER_MINUTE);
  if (minutes < MINUTES_PER_HOUR) return `${minutes} min ${twoDigits(Math.floor(seconds % SECONDS_PER_MINUTE))} s`;
  return `${Math.floor(minutes / MINUTES_PER_HOUR)} h ${twoDigits(minutes % MINUTES_PER_HOUR)} min`;
}

/** `1 window`, `3 windows`, `1,204 rows`. */
export function countText(count: number, noun: string): string {
  return `${groupedText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** The number with a comma between groups of three digits. */
export function groupedText(count: number): string {
  return count.toLocaleString('en-US');
}

function twoDigits(count: number): string {
  return String(count).padStart(2, '0');
}
