/** Batches of metrics: how many names the address of a request holds. Pure. */

import { MAX_URL_BYTES, type Slice } from './slice.ts';

/** Origin, path and date period of a report's address. */
const REST_OF_URL = 300;

/** The bytes that the metrics may take in the address of a request, beside filters on top of the slice's own. */
export function bytesForMetrics(slice: Slice, filters: Readonly<Record<string, string>> = {}): number {
  const { parameters, dimensions, maxUrlBytes = MAX_URL_BYTES } = slice;
  const others = Object.entries({ ...parameters, ...filters, dimensions: dimensions.join(',') });
  const taken = others.reduce((sum, each) => sum + encodeURIComponent(each.join('=')).length + 1, REST_OF_URL);
  return Math.max(1, maxUrlBytes - taken);
}

/** What names take in an address, where a comma is three bytes. */
export const bytesOf = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + encodeURIComponent(name).length + 3, 0);

/** Lists of names put together as long as they take no more bytes in an address; none is divided. */
export function batchesOf(lists: readonly (readonly string[])[], maxBytes: number): string[][] {
  const batches: string[][] = [];
  let room = 0;
  for (const names of lists) {
    const bytes = bytesOf(names);
    const batch = batches.at(-1);
    if (batch === undefined || bytes > room) {
      batches.push([...names]);
      room = maxBytes - bytes;
    } else {
      batch.push(...names);
      room -= bytes;
    }
  }
  return batches;
}
