/** Numbers as the page shows them. Pure. */

/** `1,234,567`. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** `1.42`. */
export function times(ratio: number): string {
  return ratio.toFixed(2);
}

/** To as many places as mean something, for the figures that others quote. */
export function rounded(value: number, places: number): number {
  return Number(value.toFixed(places));
}

/** The middle value; of an even number of values the lower middle one. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}
