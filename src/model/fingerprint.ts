/** The fingerprint of a slice: a hash of everything that gives its rows their meaning. */

import { createHash } from 'node:crypto';

import type { Slice } from './slice.ts';

/**
 * Sixteen hexadecimal digits over dimensions, filters and parameters. Metrics, date period, refresh and types are left
 * out: they change which cells exist or how they are stored, not what a row means.
 */
export function fingerprintOf(slice: Pick<Slice, 'dimensions' | 'parameters'>): string {
  const meaning = [[...slice.dimensions].sort(), Object.entries(slice.parameters).sort(([a], [b]) => (a < b ? -1 : 1))];
  return createHash('sha256').update(JSON.stringify(meaning)).digest('hex').slice(0, 16);
}
