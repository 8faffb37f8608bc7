/**
 * Laws of planning, over random slices, ledgers and nights. A ledger is only ever made as a run makes it: by planning,
 * loading some of the windows, and planning again. A failure prints the seed and the path to replay it with.
 */

import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';

import {
  addDays,
  day,
  daysBetween,
  daysIn,
  MS_PER_DAY,
  parseUtcOffset,
  type Day,
  type UtcOffset,
} from '../../src/model/calendar.ts';
import { BIGINT } from '../../src/model/column-type.ts';
import { fingerprintOf } from '../../src/model/fingerprint.ts';
import { emptyLedger, type LoadedPeriod, type SliceLedger, type SliceTable } from '../../src/model/ledger.ts';
import { milestoneAges, stateOf } from '../../src/model/maturity.ts';
import type { Metric } from '../../src/model/metric.ts';
import { endOf, isWhole, resolveDatePeriod } from '../../src/model/period.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { Window } from '../../src/model/window.ts';
import { isComplete, planSlice, type SlicePlan } from '../../src/plan/plan.ts';
import { windowDays } from '../../src/plan/sizing.ts';
import { splitByPeriods } from '../../src/plan/split.ts';
import { slice } from '../support/slice.ts';

const runs = { numRuns: 60 };
const HOUR_MS = 3_600_000;
const FIRST_DAY = day('2024-02-01');

const grains = [null, 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
const horizonDays = [7, 14, 31, 42, 121] as const;

function offset(text: string): UtcOffset {
  const parsed = parseUtcOffset(text);
  if (parsed === null) throw new RangeError(`${text} is no offset.`);
  return parsed;
}

const slices: fc.Arbitrary<Slice> = fc
  .record({
    grain: fc.constantFrom(...grains),
    first: fc.oneof(
      fc.nat(60).map((days) => ({ day: addDays(FIRST_DAY, days) })),
      fc.integer({ min: 1, max: 60 }).map((daysAgo) => ({ daysAgo })),
    ),
    last: fc.oneof(
      fc.integer({ min: 60, max: 130 }).map((days) => ({ day: addDays(FIRST_DAY, days) })),
      fc.constantFrom(0, 1, 3).map((daysAgo) => ({ daysAgo })),
    ),
    utcOffset: fc.constantFrom('+00:00', '+05:30', '-03:30', '+14:00', '-14:00').map(offset),
    refresh: fc.oneof(
      fc.constantFrom('milestones' as const, 'nightly' as const),
      fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 4 }),
    ),
    metrics: fc.subarray(
      horizonDays.map((days) => `metric_${days}`),
      { minLength: 1 },
    ),
  })
  .map(({ grain, first, last, utcOffset, refresh, metrics }) =>
    slice({
      name: 'any',
      dimensions: grain === null ? ['app'] : [grain, 'app'],
      metrics,
      utcOffset,
      refresh,
      datePeriod: { first, last },
    }),
  );

function metricsOf({ metrics }: Slice): Metric[] {
  return metrics.map((id) => ({
    id,
    family: 'other',
    horizonMs: Number(id.replace('metric_', '')) * MS_PER_DAY,
    cohortMs: null,
    additive: true,
    type: BIGINT,
  }));
}

interface Night {
  /** Hours since the night before. */
  readonly afterHours: number;
  /** Which windows are loaded; a run that was cut short or refused loads some. */
  readonly loads: readonly boolean[];
  readonly rows: number;
}

const nights = fc.array(
  fc.record({
    afterHours: fc.oneof(fc.constant(24), fc.integer({ min: 1, max: 800 })),
    loads: fc.oneof(fc.constant([true]), fc.array(fc.boolean(), { minLength: 1, maxLength: 6 })),
    rows: fc.constantFrom(0, 1, 20, 4000, 60_000),
  }),
  { maxLength: 6 },
);

const startOf = (hours: number): Date => new Date(Date.parse(`${FIRST_DAY}T02:30:00Z`) + hours * HOUR_MS);

function planAt(of: Slice, ledger: SliceLedger, asOf: Date): SlicePlan {
  return planSlice({ slice: of, metrics: metricsOf(of), ledger, asOf, forced: null });
}

/** The ledger after some windows of a plan were loaded, as the load writes it. */
function withLoaded(
  ledger: SliceLedger,
  plan: SlicePlan,
  windows: readonly Window[],
  fetchedAt: Date,
  rows = 1,
): SliceLedger {
  const state = ledger.live === null || ledger.live.fingerprint === plan.fingerprint ? 'live' : 'building';
  const periods = new Map(plan.table?.periods);
  for (const window of windows) {
    const { start, end } = window.replaced;
    for (const known of periods.keys()) {
      if (plan.slice.grain === null || (known >= start && known < end)) periods.delete(known);
    }
    for (const { period } of window.periods) {
      const { bucket, asked } = period;
      const loaded: LoadedPeriod = { bucket, asked, fetchedAt, metrics: plan.slice.metrics, rows, rejected: 0 };
      periods.set(bucket.start, loaded);
    }
  }
  const { fingerprint, weekStartsOn } = plan;
  const table: SliceTable = { fingerprint, tableName: 't', state, weekStartsOn, maxDays: null, parts: null, periods };
  return state === 'live' ? { live: table, building: null } : { ...ledger, building: table };
}

/** The ledger after a run, which ends by swapping a new table that is complete, also where nothing was left to load. */
function swapped(ledger: SliceLedger, plan: SlicePlan): SliceLedger {
  const { building: table } = ledger;
  const isDone = table?.fingerprint === plan.fingerprint && isComplete({ ...plan, table });
  return isDone && table !== null ? { live: { ...table, state: 'live' }, building: null } : ledger;
}

interface Lived {
  readonly ledger: SliceLedger;
  readonly asOf: Date;
}

/** The ledger after a series of nights, and the instant of the last one. */
function live(of: Slice, series: readonly Night[], from: Lived = { ledger: emptyLedger, asOf: startOf(0) }): Lived {
  return series.reduce(({ ledger, asOf: before }, { afterHours, loads, rows }) => {
    const asOf = new Date(before.getTime() + afterHours * HOUR_MS);
    const plan = planAt(of, ledger, asOf);
    const loaded = plan.windows.filter((_, index) => loads[index % loads.length]);
    const after = loaded.length === 0 ? ledger : withLoaded(ledger, plan, loaded, asOf, rows);
    return { ledger: swapped(after, plan), asOf };
  }, from);
}

const hours = fc.integer({ min: 0, max: 2000 });
const later = (asOf: Date, by: number): Date => new Date(asOf.getTime() + by * HOUR_MS);

test('what is requested and what is settled are disjoint, and together the whole date period', () => {
  fc.assert(
    fc.property(slices, nights, hours, (of, series, wait) => {
      const { ledger, asOf: last } = live(of, series);
      const asOf = later(last, wait);
      const plan = planAt(of, ledger, asOf);
      const whole = resolveDatePeriod(of.datePeriod, asOf, of.utcOffset);
      const requested = plan.windows.flatMap((window) => daysIn(window.asked));
      const due = new Set(plan.windows.flatMap((window) => window.periods.map(({ period }) => period.bucket.start)));
      const settled = plan.periods.filter(({ bucket }) => !due.has(bucket.start)).flatMap(({ asked }) => daysIn(asked));
      expect([...requested, ...settled].sort()).toEqual(whole === null ? [] : daysIn(whole));
    }),
    runs,
  );
});

test('a window is contiguous, holds whole buckets of the grain, and is longer than the slice allows only as one period', () => {
  fc.assert(
    fc.property(slices, nights, hours, (of, series, wait) => {
      const { ledger, asOf: last } = live(of, series);
      const plan = planAt(of, ledger, later(last, wait));
      const most = windowDays(of, plan.table);
      const buckets = new Map(plan.periods.map(({ bucket }) => [bucket.start, bucket.end]));
      for (const { asked, replaced, periods } of plan.windows) {
        const parts = periods.map(({ period }) => period);
        expect(parts.slice(1).map(({ bucket }) => bucket.start)).toEqual(
          parts.slice(0, -1).map(({ bucket }) => bucket.end),
        );
        expect(parts.flatMap((part) => daysIn(part.asked))).toEqual(daysIn(asked));
        expect([replaced.start, replaced.end]).toEqual([parts.at(0)?.bucket.start, parts.at(-1)?.bucket.end]);
        expect(parts.every(({ bucket }) => buckets.get(bucket.start) === bucket.end)).toBe(true);
        expect(parts.length === 1 || daysBetween(asked.start, asked.end) <= most).toBe(true);
      }
    }),
    runs,
  );
});

test('no two neighbouring windows would fit into one', () => {
  fc.assert(
    fc.property(slices, nights, hours, (of, series, wait) => {
      const { ledger, asOf: last } = live(of, series);
      const plan = planAt(of, ledger, later(last, wait));
      const most = windowDays(of, plan.table);
      const wasteful = plan.windows.slice(1).filter((window, index) => {
        const before = plan.windows[index];
        const first = window.periods[0];
        if (before === undefined || first === undefined || before.asked.end !== window.asked.start) return false;
        return daysBetween(before.asked.start, first.period.asked.end) <= most;
      });
      expect(wasteful).toEqual([]);
    }),
    runs,
  );
});

/** Halves of halves, down to single periods. */
function shatter(window: Window): Window[] {
  const halves = splitByPeriods(window);
  return halves === null ? [window] : halves.flatMap(shatter);
}

test('splitting by periods, again and again, loses no day and repeats none, and ends in single periods', () => {
  fc.assert(
    fc.property(slices, nights, hours, (of, series, wait) => {
      const { ledger, asOf: last } = live(of, series);
      for (const window of planAt(of, ledger, later(last, wait)).windows) {
        const halves = splitByPeriods(window);
        const pieces = shatter(window);
        expect(halves === null).toBe(window.periods.length === 1);
        expect((halves ?? [window]).flatMap(({ periods }) => periods)).toEqual(window.periods);
        const [first, second] = (halves ?? []).map(({ periods }) => periods.length);
        expect([0, 1]).toContain((first ?? 0) - (second ?? 0));
        expect(pieces.flatMap(({ asked }) => daysIn(asked))).toEqual(daysIn(window.asked));
        expect(pieces.flatMap(({ replaced }) => daysIn(replaced))).toEqual(daysIn(window.replaced));
        expect(pieces.every(({ periods }) => periods.length === 1)).toBe(true);
        expect(pieces.every((each) => each.slice === window.slice && each.fingerprint === window.fingerprint)).toBe(
          true,
        );
      }
    }),
    runs,
  );
});

test('once everything is loaded, the plan for the same instant is empty and the table complete', () => {
  fc.assert(
    fc.property(slices, nights, hours, (of, series, wait) => {
      const { ledger, asOf: last } = live(of, series);
      const asOf = later(last, wait);
      const plan = planAt(of, ledger, asOf);
      const after = planAt(of, withLoaded(ledger, plan, plan.windows, asOf), asOf);
      expect(after.windows).toEqual([]);
      expect(isComplete(after)).toBe(true);
    }),
    runs,
  );
});

test('a run that loads half of its windows, and then the other half, ends where a whole run ends', () => {
  fc.assert(
    fc.property(
      slices,
      nights,
      hours,
      fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
      (of, series, wait, halves) => {
        const { ledger, asOf: last } = live(of, series);
        const asOf = later(last, wait);
        const plan = planAt(of, ledger, asOf);
        const first = plan.windows.filter((_, index) => halves[index % halves.length]);
        const cut = first.length === 0 ? ledger : withLoaded(ledger, plan, first, asOf);
        const rest = planAt(of, cut, asOf);
        const whole = withLoaded(ledger, plan, plan.windows, asOf);
        const resumed = withLoaded(cut, rest, rest.windows, asOf);
        const held = ({ live: table }: SliceLedger): unknown =>
          [...(table?.periods.values() ?? [])].map((each) => JSON.stringify(each)).sort();
        expect(held(resumed)).toEqual(held(whole));
      },
    ),
    runs,
  );
});

/** Long after every horizon of the last day a date period can hold. */
const FAR_HOURS = 24 * 800;

test('after any nights, kept or missed, one run long after the date period leaves every whole period final', () => {
  const fixed = slices.filter(({ datePeriod }) => 'day' in datePeriod.first && 'day' in datePeriod.last);
  fc.assert(
    fc.property(fixed, nights, (of, series) => {
      const lived = live(of, series);
      const all: Night = { afterHours: FAR_HOURS, loads: [true], rows: 1 };
      const { ledger, asOf } = live(of, [all], lived);
      const plan = planAt(of, ledger, asOf);
      const states = plan.periods.map((period) => {
        const loaded = plan.table?.periods.get(period.bucket.start);
        return loaded === undefined ? 'absent' : stateOf(period, metricsOf(of), of, loaded.fetchedAt);
      });
      expect(states).toEqual(plan.periods.map((period) => (isWhole(period) ? 'final' : 'maturing')));
      expect(plan.windows).toEqual([]);
      expect(planAt(of, ledger, later(asOf, FAR_HOURS)).windows).toEqual([]);
    }),
    runs,
  );
});

test('over 150 nights a period is asked for once at each of 8 ages and once for each of its horizons, and no more', () => {
  const february = slice({
    name: 'any',
    dimensions: ['day'],
    metrics: horizonDays.map((days) => `metric_${days}`),
    datePeriod: { first: { day: FIRST_DAY }, last: { day: addDays(FIRST_DAY, 9) } },
  });
  fc.assert(
    fc.property(fc.nat(23), (hour) => {
      const asked = new Map<Day, number>();
      let ledger = emptyLedger;
      for (let night = 1; night < 150; night += 1) {
        const asOf = startOf(night * 24 + hour);
        const plan = planAt(february, ledger, asOf);
        for (const { period } of plan.windows.flatMap(({ periods }) => periods)) {
          const isOver = endOf(period, february.utcOffset) <= asOf;
          if (isOver) asked.set(period.bucket.start, (asked.get(period.bucket.start) ?? 0) + 1);
        }
        if (plan.windows.length > 0) ledger = withLoaded(ledger, plan, plan.windows, asOf);
      }
      // A run within an hour of midnight meets no horizon on the night of a milestone: it settles the night after.
      const most = milestoneAges.length + horizonDays.length;
      expect(asked.size).toBe(10);
      expect(Math.max(...asked.values())).toBeLessThanOrEqual(most);
      expect(Math.min(...asked.values())).toBeGreaterThanOrEqual(milestoneAges.length);
    }),
    { numRuns: 3 },
  );
});

test('when the meaning changes, every period is due for that reason, and the new table is live once it is complete', () => {
  fc.assert(
    fc.property(slices, nights, nights, (of, series, after) => {
      const old = live(of, [...series, { afterHours: 1500, loads: [true], rows: 1 }]);
      fc.pre(old.ledger.live !== null);
      const changed: Slice = { ...of, parameters: { ...of.parameters, attribution_type: 'click' } };
      const fingerprint = fingerprintOf(changed);
      const first = planAt(changed, old.ledger, old.asOf);
      expect(new Set(first.windows.flatMap(({ periods }) => periods.map(({ reason }) => reason)))).toEqual(
        new Set(first.periods.length === 0 ? [] : ['meaning changed']),
      );
      const { ledger, asOf } = live(changed, after, old);
      const building = planAt(changed, ledger, asOf);
      expect(ledger.live?.fingerprint === fingerprint && !isComplete(building) && ledger.building !== null).toBe(false);
      const done = live(changed, [{ afterHours: 1, loads: [true], rows: 1 }], { ledger, asOf });
      const isEmpty = planAt(changed, done.ledger, done.asOf).periods.length === 0;
      expect(done.ledger.live?.fingerprint === fingerprint || isEmpty).toBe(true);
    }),
    runs,
  );
});

test('a backfill asks for exactly the periods that touch its days, whatever their state, and for no fewer days than are held', () => {
  fc.assert(
    fc.property(
      slices.filter(({ grain }) => grain !== null),
      nights,
      fc.nat(250),
      fc.integer({ min: 1, max: 60 }),
      (of, series, after, length) => {
        const { ledger, asOf } = live(of, series);
        const start = addDays(FIRST_DAY, after);
        const forced = { start, end: addDays(start, length) };
        const plan = planSlice({ slice: of, metrics: metricsOf(of), ledger, asOf, forced });
        const periods = plan.windows.flatMap((window) => window.periods);
        expect(new Set(periods.map(({ reason }) => reason))).toEqual(new Set(['forced']));
        const asked = new Set(plan.windows.flatMap((window) => daysIn(window.asked)));
        expect(daysIn(forced).filter((each) => !asked.has(each))).toEqual([]);
        expect(
          periods.filter(({ period }) => period.bucket.end <= forced.start || period.bucket.start >= forced.end),
        ).toEqual([]);
        const lost = periods.flatMap(({ period }) => {
          const held = plan.table?.periods.get(period.bucket.start);
          return held === undefined ? [] : daysIn(held.asked).filter((each) => !asked.has(each));
        });
        expect(lost).toEqual([]);
      },
    ),
    runs,
  );
});

const hostZone = process.env['TZ'];

afterEach(() => {
  if (hostZone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = hostZone;
});

test('hosts in Apia, São Paulo, Kathmandu and at UTC plan the same', () => {
  const zones = ['UTC', 'Pacific/Apia', 'America/Sao_Paulo', 'Asia/Kathmandu'];
  fc.assert(
    fc.property(slices, nights, hours, (of, series, wait) => {
      const plans = zones.map((zone) => {
        process.env['TZ'] = zone;
        const { ledger, asOf } = live(of, series);
        return JSON.stringify(planAt(of, ledger, later(asOf, wait)).windows);
      });
      expect(new Set(plans).size).toBe(1);
    }),
    { numRuns: 20 },
  );
});
