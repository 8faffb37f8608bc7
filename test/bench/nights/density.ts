/** What a night costs in the long run, by how many rows a day has: only planned, without a world. Pure. */

import { fingerprintOf } from '../../../src/model/slice.ts';
import type { Day } from '../../../src/model/calendar.ts';
import type { PeriodRecord, SliceTable } from '../../../src/model/ledger.ts';
import { DEFAULT_COST } from '../../../src/plan/cover.ts';
import { loadedPeriod } from '../../support/slice.ts';
import type { Setting } from './pass-nights.ts';
import { everythingImmature, lookback, type Policy, ripen } from './policy.ts';

export const densities = [50, 1000, 100_000] as const;

/** Nights before a slice is in the long run: until its oldest days are final and no outage is left. */
const NIGHTS_BEFORE = 130;
const LOOKBACK_DAYS = 30;

interface NightCost {
  readonly policy: string;
  readonly requests: number;
  readonly rows: number;
  readonly seconds: number;
}

/** Returns the average night of each policy, if every day has so many rows. */
export function densityRows(perDay: number, setting: Setting): NightCost[] {
  const policies = [
    ripen('ripen', 'milestones'),
    everythingImmature(),
    lookback(LOOKBACK_DAYS),
  ] as const;
  return policies.map((policy) => nightOf(policy, perDay, setting));
}

function nightOf(policy: Policy, perDay: number, { slice, metrics, nights }: Setting): NightCost {
  const periods = new Map<Day, PeriodRecord>();
  const table: SliceTable = {
    fingerprint: fingerprintOf(slice),
    state: 'live',
    size: null,
    periods,
  };
  const skipped = Math.min(NIGHTS_BEFORE, Math.floor(nights.length / 2));
  let [requests, days] = [0, 0];
  for (const [night, asOf] of nights.entries()) {
    const windows = policy.windows({ slice, metrics, table, asOf });
    const loaded = windows.flatMap((window) => window.periods.map(({ period }) => period));
    for (const { bucket, requested } of loaded) {
      const { metrics: names } = slice;
      const fetched = { bucket, requested, fetchedAt: asOf, metrics: names, rows: perDay };
      periods.set(bucket.start, loadedPeriod(fetched));
    }
    if (night < skipped) continue;
    requests += windows.length;
    days += loaded.length;
  }
  const count = nights.length - skipped;
  const rows = (days * perDay) / count;
  const ms = (requests / count) * DEFAULT_COST.base + rows * DEFAULT_COST.row;
  return { policy: policy.name, requests: requests / count, rows, seconds: ms / 1000 };
}
