/** Ways to decide what a night fetches: ripen's own, and what people do without it. Pure. */

import { addDays, type Day } from '../../../src/model/calendar.ts';
import type { PeriodRecord, SliceTable } from '../../../src/model/ledger.ts';
import { stateOf } from '../../../src/model/maturity.ts';
import type { Metric } from '../../../src/model/metric.ts';
import { periodsOf, resolveDatePeriod, type Period } from '../../../src/model/period.ts';
import type { Slice } from '../../../src/model/slice.ts';
import type { Window } from '../../../src/model/window.ts';
import { DEFAULT_COST, type RequestCost } from '../../../src/plan/cover.ts';
import { planSlice } from '../../../src/plan/plan.ts';

export interface PlannedNight {
  readonly slice: Slice;
  readonly metrics: readonly Metric[];
  readonly table: SliceTable;
  readonly asOf: Date;
}

export interface Policy {
  readonly name: string;
  /** The windows of one night, given what was loaded before; every policy's windows are as large as ripen's. */
  windows(night: PlannedNight): readonly Window[];
  /** Whether a period that was loaded will never be requested again. */
  isSettled(period: Period, loaded: PeriodRecord, night: PlannedNight): boolean;
}

const MONDAY = 1;

const isFinalPeriod: Policy['isSettled'] = (_period, loaded, { metrics, slice }) =>
  stateOf(loaded, metrics, slice) === 'final';

/** Rows that cost much more than a request: no period between two due ones is requested with them. */
export const SLOW_ROWS: RequestCost = { base: 400, row: 20 };

/** ripen's planner, with a refresh schedule. */
export function ripen(
  name: string,
  refresh: Slice['refresh'],
  cost: RequestCost = DEFAULT_COST,
): Policy {
  return {
    name,
    windows({ slice, metrics, table, asOf }) {
      const ledger = { live: table, building: null };
      const of = { slice: { ...slice, refresh }, metrics, ledger, planAt: asOf, cost };
      const request = { ...of, forced: null };
      return planSlice(request).windows;
    },
    isSettled: isFinalPeriod,
  };
}

/** Each night the last so many days, and whatever was not loaded before. */
export function lookback(days: number): Policy {
  const isRecent = (period: Period, { slice, asOf }: PlannedNight): boolean => {
    const wanted = resolveDatePeriod(slice, asOf);
    return wanted !== null && period.bucket.start >= addDays(wanted.end, -days);
  };
  return {
    name: `the last ${days} days`,
    windows: (night) =>
      fromFirstDue(night, (period, loaded) => loaded === undefined || isRecent(period, night)),
    isSettled: (period, _loaded, night) => !isRecent(period, night),
  };
}

/** Each night every period of which some metric was not final when it was fetched last. */
export function everythingImmature(): Policy {
  return {
    name: 'everything immature',
    windows: (night) =>
      fromFirstDue(
        night,
        (period, loaded) => loaded === undefined || !isFinalPeriod(period, loaded, night),
      ),
    isSettled: isFinalPeriod,
  };
}

/** Windows over the days from the first due period to the end of the date period. */
function fromFirstDue(
  { slice, metrics, table, asOf }: PlannedNight,
  isDue: (period: Period, loaded: PeriodRecord | undefined) => boolean,
): readonly Window[] {
  const wanted = resolveDatePeriod(slice, asOf);
  const periods = wanted === null ? [] : periodsOf(wanted, slice.grain, MONDAY);
  const start: Day | undefined = periods.find((period) =>
    isDue(period, table.periods.get(period.bucket.start)),
  )?.bucket.start;
  if (wanted === null || start === undefined) return [];
  const forced = { start, end: wanted.end };
  return planSlice({
    slice,
    metrics,
    ledger: { live: table, building: null },
    planAt: asOf,
    forced,
  }).windows;
}
