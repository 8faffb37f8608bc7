/**
 * Nights of a slice without a service or a warehouse: what is planned, what a run loads of it, what the ledger holds then.
 * A ledger is only ever made as a run makes it. Pure.
 */

import * as fc from 'fast-check';

import { sharesOf } from '../../src/load/fate.ts';
import { addDays, day, daysBetween, utcOffset, type Day } from '../../src/model/calendar.ts';
import {
  verdicts,
  type CompletenessVerdict,
  type PeriodRecord,
  type SliceLedger,
  type SliceTable,
} from '../../src/model/ledger.ts';
import { emptyLedger } from './plain-values.ts';
import type { Metric } from '../../src/model/metric.ts';
import type { DatePeriod, Slice } from '../../src/model/slice.ts';
import type { Window } from '../../src/model/window.ts';
import { planSlice, type SlicePlan } from '../../src/plan/plan.ts';
import { swapBlockedBy } from '../../src/plan/swap.ts';
import { countMetric, loadedPeriod, slice } from './slice.ts';

export const HOUR_MS = 3_600_000;
export const FIRST_DAY = day('2024-02-01');
export const grains = [null, 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
export const horizonDays = [7, 14, 31, 42, 121] as const;

/** From some day, fixed or rolling, to a later one. */
export const datePeriods: fc.Arbitrary<DatePeriod> = fc.record({
  first: fc.oneof(
    fc.nat(60).map((days) => ({ day: addDays(FIRST_DAY, days) })),
    fc.integer({ min: 1, max: 60 }).map((daysAgo) => ({ daysAgo })),
  ),
  last: fc.oneof(
    fc.integer({ min: 60, max: 130 }).map((days) => ({ day: addDays(FIRST_DAY, days) })),
    fc.constantFrom(0, 1, 3).map((daysAgo) => ({ daysAgo })),
  ),
});

export const someMetrics = fc.subarray(
  horizonDays.map((days) => `metric_${days}`),
  { minLength: 1 },
);

export const slices: fc.Arbitrary<Slice> = fc
  .record({
    grain: fc.constantFrom(...grains),
    datePeriod: datePeriods,
    utcOffset: fc.constantFrom('+00:00', '+05:30', '-03:30', '+14:00', '-14:00').map(utcOffset),
    refresh: fc.oneof(
      fc.constantFrom('milestones' as const, 'nightly' as const),
      fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 4 }),
    ),
    metrics: someMetrics,
    retainDays: fc.oneof(
      { weight: 3, arbitrary: fc.constant(null) },
      fc.integer({ min: 10, max: 150 }),
    ),
  })
  .map(({ grain, ...given }) =>
    slice({ ...given, name: 'any', dimensions: grain === null ? ['app'] : [grain, 'app'] }),
  );

export function metricsOf({ metrics }: Slice): Metric[] {
  return metrics.map((id) => countMetric(id, Number(id.replace('metric_', ''))));
}

/** What a service answers in a night. */
export interface Answering {
  /** Rows of a period, by its first day. */
  readonly rows: readonly number[];
  readonly verdict: CompletenessVerdict;
}

export interface Night extends Answering {
  /** Hours since the night before. */
  readonly afterHours: number;
  /** Which windows are loaded; a run that was cut short or refused loads some. */
  readonly loads: readonly boolean[];
}

export const nights: fc.Arbitrary<Night[]> = fc.array(
  fc.record({
    afterHours: fc.oneof(fc.constant(24), fc.integer({ min: 1, max: 800 })),
    loads: fc.oneof(fc.constant([true]), fc.array(fc.boolean(), { minLength: 1, maxLength: 6 })),
    rows: fc.array(fc.constantFrom(0, 1, 20, 4000, 60_000), { minLength: 1, maxLength: 5 }),
    verdict: fc.constantFrom(...verdicts),
  }),
  { maxLength: 6 },
);

/** Every window is answered, in full: no period has more rows than these. */
export const wholeNight = (afterHours: number): Night => ({ afterHours, loads: [true], ...inFull });
export const inFull: Answering = { rows: [60_000], verdict: 'proven' };

export const hours = fc.integer({ min: 0, max: 2000 });
export const later = (asOf: Date, by: number): Date => new Date(asOf.getTime() + by * HOUR_MS);
export const startOf = (hour: number): Date => later(new Date(`${FIRST_DAY}T02:30:00Z`), hour);

export function planAt(of: Slice, ledger: SliceLedger, asOf: Date): SlicePlan {
  return planSlice({ slice: of, metrics: metricsOf(of), ledger, planAt: asOf, forced: null });
}

/** The ledger after some windows of a plan were loaded, as the load writes it. */
export function withLoaded(
  ledger: SliceLedger,
  plan: SlicePlan,
  windows: readonly Window[],
  answered: Answering & { readonly fetchedAt: Date },
): SliceLedger {
  const state =
    ledger.live === null || ledger.live.fingerprint === plan.fingerprint ? 'live' : 'building';
  const before = plan.table?.periods ?? new Map<Day, PeriodRecord>();
  const periods = new Map(before);
  const { fetchedAt, verdict } = answered;
  const held = { fetchedAt, verdict, metrics: plan.slice.metrics };
  for (const window of windows) {
    const { start, end } = window.replaced;
    for (const known of periods.keys()) {
      if (plan.slice.grain === null || (known >= start && known < end)) periods.delete(known);
    }
    for (const { period } of window.periods) {
      const rows = rowsAt(period.bucket.start, answered);
      const known = before.get(period.bucket.start);
      const emptyRuns = rows > 0 ? 0 : (known?.rows === 0 ? known.emptyRuns : 0) + 1;
      periods.set(period.bucket.start, loadedPeriod({ ...period, ...held, rows, emptyRuns }));
    }
  }
  const { fingerprint } = plan;
  const table: SliceTable = { fingerprint, state, size: null, periods };
  return state === 'live' ? { live: table, building: null } : { ...ledger, building: table };
}

function rowsAt(start: Day, { rows }: Answering): number {
  return rows[Math.abs(daysBetween(FIRST_DAY, start)) % rows.length] ?? 0;
}

/** What is loaded of a window that was asked for twice: the guard keeps settled periods that lost most of their rows. */
function believed(window: Window, plan: SlicePlan, answered: Answering, fetchedAt: Date): Window[] {
  const come = new Map(
    window.periods.map(({ period: { bucket } }) => [bucket.start, rowsAt(bucket.start, answered)]),
  );
  const stored = new Map(
    [...(plan.table?.periods ?? [])].map(([start, record]) => [
      start,
      { ...record, records: [record] },
    ]),
  );
  const how = {
    answered: come,
    stored,
    fetchedAt,
    acceptLoss: false,
    isConfirmation: true,
    totals: new Map(),
    isProven: true,
  };
  return sharesOf(window, how)
    .filter(({ fate }) => fate === 'load')
    .map((share) => share.window);
}

/** The ledger after a run, which ends by swapping a new table that is complete, also where nothing was left to load. */
function swapped(ledger: SliceLedger, plan: SlicePlan): SliceLedger {
  const { building: table } = ledger;
  const isDone =
    table?.fingerprint === plan.fingerprint && swapBlockedBy({ ...plan, ledger }) === null;
  return isDone && table !== null ? { live: { ...table, state: 'live' }, building: null } : ledger;
}

export interface Lived {
  readonly ledger: SliceLedger;
  /** Of the last night. */
  readonly asOf: Date;
}

export const unborn: Lived = { ledger: emptyLedger, asOf: startOf(0) };

/** After one more night. */
export function pass(of: Slice, { ledger, asOf: before }: Lived, night: Night): Lived {
  const asOf = later(before, night.afterHours);
  const plan = planAt(of, ledger, asOf);
  const answered = plan.windows.filter((_, index) => night.loads[index % night.loads.length]);
  const loaded = answered.flatMap((window) => believed(window, plan, night, asOf));
  const after =
    loaded.length === 0 ? ledger : withLoaded(ledger, plan, loaded, { ...night, fetchedAt: asOf });
  return { ledger: swapped(after, plan), asOf };
}

/** After a series of nights. */
export function live(of: Slice, series: readonly Night[], from: Lived = unborn): Lived {
  return series.reduce((lived, night) => pass(of, lived, night), from);
}
