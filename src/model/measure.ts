/** Numbers as people read them: sizes, durations, counts. Pure; never for machines. */

const MS_PER_SECOND = 1000;
const MINUTES_PER_DAY = 24 * 60;
/** From this amount or percentage on, decimals are noise. */
const BIG = 1000;

const sizes = { GB: 1e9, MB: 1e6, KB: 1e3, B: 1 } as const;
const durations = {
  day: 86_400_000,
  hour: 3_600_000,
  minute: 60_000,
  second: MS_PER_SECOND,
} as const;

/** `4.2 GB`, `34 MB`, `512 B`, in decimal units as disks are sold. */
export function sizeText(bytes: number): string {
  const [unit, size] = Object.entries(sizes).find(([, size]) => bytes >= size) ?? ['B', 1];
  return `${(bytes / size).toFixed(size > 1 && bytes / size < 10 ? 1 : 0)} ${unit}`;
}

/** `340 ms`, `1.2 s`, `34 s`, `2 min 05 s`, `1 h 03 min`, and from two days on `3 days`. */
export function elapsedText(ms: number): string {
  if (ms < MS_PER_SECOND) return `${Math.round(ms)} ms`;
  const seconds = ms / MS_PER_SECOND;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  const twoDigits = (count: number) => String(Math.floor(count)).padStart(2, '0');
  if (minutes < 60) return `${minutes} min ${twoDigits(seconds % 60)} s`;
  if (minutes >= 2 * MINUTES_PER_DAY)
    return countText(Math.floor(minutes / MINUTES_PER_DAY), 'day');
  return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`;
}

/** A stated duration in the largest unit that divides it: `90 minutes`, `3 days`. */
export function durationText(ms: number): string {
  const whole = Object.entries(durations).find(([, size]) => ms >= size && ms % size === 0);
  const [unit, size] = whole ?? ['second', MS_PER_SECOND];
  return countText(ms / size, unit);
}

/** `1 window`, `3 windows`, `1,204 rows`. */
export const countText = (count: number, noun: string): string =>
  `${groupedText(count)} ${noun}${count === 1 ? '' : 's'}`;

export const groupedText = (count: number): string => count.toLocaleString('en-US');

export function sumOf(numbers: Iterable<number>) {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

/** More names make a line longer, not clearer. */
export function namesText(names: readonly string[], most = 5): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
}

/** Making a format takes longer than a hundred uses of it. */
const formats = new Map<string, Intl.NumberFormat>();

/** `14,074`, `-937.5`, `0.0043`. Signed: `+14,074`. */
export function amountText(amount: number, sign: 'plain' | 'signed' = 'plain'): string {
  const size = Math.abs(amount);
  const digits =
    size !== 0 && size < 1
      ? { maximumSignificantDigits: 3 }
      : { maximumFractionDigits: size < BIG ? 2 : 0 };
  const key = JSON.stringify([sign, digits]);
  const signDisplay = sign === 'signed' ? 'exceptZero' : 'auto';
  const format = formats.get(key) ?? new Intl.NumberFormat('en-US', { signDisplay, ...digits });
  formats.set(key, format);
  const text = format.format(amount);
  return text === '-0' ? '0' : text;
}

/** `12.4 %` of a whole, `0 %` of nothing. Rounding makes neither 0 % (but `<0.1 %`) nor, unsigned, 100 % (but `>99.9 %`). */
export function percentText(
  part: number,
  whole: number,
  sign: 'plain' | 'signed' = 'plain',
): string {
  const percent = whole === 0 ? 0 : (100 * part) / whole;
  const rounded = Math.abs(percent) >= BIG ? Math.round(percent) : Math.round(percent * 10) / 10;
  if (rounded === 0 && percent !== 0) return `${percent < 0 ? '-' : ''}<0.1 %`;
  if (sign === 'plain' && rounded === 100 && percent < 100) return '>99.9 %';
  return `${sign === 'signed' && percent > 0 ? '+' : ''}${groupedText(rounded)} %`;
}

/** `2026-02-14 02:30`, for places that state the zone themselves. */
export const clockText = (instant: string): string =>
  `${instant.slice(0, 10)} ${instant.slice(11, 16)}`;

export const minuteText = (instant: string): string => `${clockText(instant)} UTC`;

/** `2026-01-03 … 2026-01-09`, both inclusive. A single day alone. */
export const daysText = (first: string, last: string): string =>
  first === last ? first : `${first} … ${last}`;

export const runText = (runId: string): string => runId.split('-')[0] ?? runId;
