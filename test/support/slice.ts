/** A slice of a configuration; apart from the installation, whose imports cost a test of pure code seconds. */

import { UTC, type UtcOffset } from '../../src/model/calendar.ts';
import { dateDimensions } from '../../src/model/dimension.ts';
import type { Slice } from '../../src/model/slice.ts';

/** A slice with everything a test does not care about filled in. */
export function slice(given: Partial<Slice> & Pick<Slice, 'name' | 'dimensions' | 'metrics'>): Slice {
  const utcOffset: UtcOffset = given.utcOffset ?? UTC;
  return {
    grain: dateDimensions.find((name) => given.dimensions.includes(name)) ?? null,
    datePeriod: { first: { daysAgo: 30 }, last: { daysAgo: 1 } },
    utcOffset,
    refresh: 'milestones',
    horizons: [],
    settleMs: 3_600_000,
    lifetimeMs: 120 * 86_400_000,
    types: {},
    maxRejects: 0,
    additive: {},
    completeness: 'require',
    retainDays: null,
    ...given,
    parameters: { attribution_type: 'all', utc_offset: utcOffset, ...given.parameters },
  };
}
