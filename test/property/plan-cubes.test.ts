/** Laws of planning cubes, over random diagonals of due ages; and what 30 nights of one cube request. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { addDays, type Day, day, type DayInterval, daysBetween } from '../../src/model/calendar.ts';
import { ageIn, agesIn, cubeMetrics, metricsByAge } from '../../src/model/cube.ts';
import { fingerprintOf } from '../../src/model/slice.ts';
import { type PeriodRecord, periodsTogether, type SliceLedger } from '../../src/model/ledger.ts';
import { emptyLedger } from '../support/plain-values.ts';
import { finalMetrics } from '../../src/model/maturity.ts';
import { metricsOf } from '../../src/model/metric.ts';
import { bytesOf, type DueReason } from '../../src/model/window.ts';
import { planSlice, type SlicePlan } from '../../src/plan/plan.ts';
import { coverOf, type DueAges, type Group } from '../../src/plan/cover.ts';
import { loadedPeriod, slice } from '../support/slice.ts';

const START = day('2026-01-01');

const cellsOf = (periods: readonly Day[], names: readonly string[]): string[] =>
  periods.flatMap((start) => names.map((name) => `${start} ${name}`));

interface Drawn {
  readonly due: readonly (readonly string[])[];
  readonly maxDays: number;
  readonly maxBytes: number;
  readonly base: number;
}

const someAges = Array.from({ length: 12 }, (_, at) => `d${at}`);
const someMetrics = new Map(someAges.map((age) => [age, [`revenue_${age}`, `users_${age}`]]));
const ROWS = 2;

/** Periods in a row, some of which have no due age, and limits. */
const drawn: fc.Arbitrary<Drawn> = fc.record({
  due: fc.array(fc.uniqueArray(fc.constantFrom(...someAges), { maxLength: 12 }), {
    minLength: 1,
    maxLength: 25,
  }),
  maxDays: fc.integer({ min: 1, max: 30 }),
  maxBytes: fc.integer({ min: 30, max: 400 }),
  base: fc.integer({ min: 0, max: 200 }),
});

const dueAges = ({ due }: Drawn): DueAges[] =>
  due.map((some, at) => {
    const bucket = { start: addDays(START, at), end: addDays(START, at + 1) };
    const reasons = some.map((age): [string, DueReason] => [age, 'maturing']);
    return { period: { bucket, requested: bucket }, ages: new Map(reasons) };
  });

const coverDrawn = (given: Drawn, periods: readonly DueAges[]): Group[] =>
  coverOf(periods, {
    metrics: someMetrics,
    maxDays: given.maxDays,
    maxBytes: given.maxBytes,
    cost: { base: given.base, row: 1 },
    rowsOf: () => ROWS,
  });

test('a cover holds every due value, none twice, begins and ends with due periods, and no address is longer than allowed', () => {
  fc.assert(
    fc.property(drawn, (given) => {
      const periods = dueAges(given);
      const groups = coverDrawn(given, periods);
      const cells = groups.flatMap((group) =>
        cellsOf(
          group.periods.map(({ period }) => period.bucket.start),
          group.metrics,
        ),
      );
      expect(new Set(cells).size).toBe(cells.length);
      const wanted = periods.flatMap(({ period, ages: of }) =>
        [...of.keys()].flatMap((age) => cellsOf([period.bucket.start], someMetrics.get(age) ?? [])),
      );
      expect(wanted.filter((cell) => !cells.includes(cell))).toEqual([]);
      for (const { periods: some, metrics: names } of groups) {
        expect([some.at(0)?.reason, some.at(-1)?.reason]).toEqual(['maturing', 'maturing']);
        const [first, last] = [
          some.at(0)?.period.requested.start,
          some.at(-1)?.period.requested.end,
        ];
        expect(some).toHaveLength(daysBetween(first ?? START, last ?? START));
        expect(some.length).toBeLessThanOrEqual(given.maxDays);
        const bytes = encodeURIComponent(names.join(',')).length;
        expect(bytes <= given.maxBytes || names.length === 2).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});

test('a cover costs no more than one without the periods between, and than one window a period', () => {
  const costOf = ({ base, maxBytes }: Drawn, groups: readonly Group[]): number => {
    // Batches of the same periods count as the planner estimates them: by the bytes of all their names.
    const byPeriods = new Map<string, { days: number; names: string[] }>();
    for (const { periods, metrics } of groups) {
      const key = periods.map(({ period }) => period.bucket.start).join();
      const names = [...(byPeriods.get(key)?.names ?? []), ...metrics];
      byPeriods.set(key, { days: periods.length, names });
    }
    return [...byPeriods.values()].reduce((sum, { days, names }) => {
      const requests = Math.max(1, Math.ceil(bytesOf(names) / maxBytes));
      return sum + requests * base + (names.length / 2) * days * ROWS;
    }, 0);
  };
  fc.assert(
    fc.property(drawn, (given) => {
      const periods = dueAges(given);
      const best = costOf(given, coverDrawn(given, periods));
      const dueAlone = periods.filter(({ ages }) => ages.size > 0);
      expect(best).toBeLessThanOrEqual(costOf(given, coverDrawn(given, dueAlone)) + 1e-9);
      const single = coverDrawn({ ...given, maxDays: 1 }, periods);
      expect(best).toBeLessThanOrEqual(costOf(given, single) + 1e-9);
    }),
    { numRuns: 200 },
  );
});

const ages = agesIn('d0..d120') ?? [];
const cube = cubeMetrics({ all_revenue_total: ages, retained_users: ages, cohort_size: ages });
const curve = slice({
  name: 'curve',
  dimensions: ['day', 'app_token', 'network', 'country_code'],
  metrics: cube.map(({ metric }) => metric),
  cube,
  datePeriod: { first: { day: START }, last: { daysAgo: 1 } },
});
const metrics = metricsOf(curve, []);
const byAge = metricsByAge(curve, metrics);

/** What a ledger holds of the cube, in which each load tells the truth at once. */
class LoadFacts {
  readonly #ages = new Map([...byAge.keys()].map((age) => [age, new Map<Day, PeriodRecord>()]));

  get ledger(): SliceLedger {
    const periods = periodsTogether(this.#ages);
    if (periods.size === 0) return emptyLedger;
    const table = {
      state: 'live',
      size: null,
      periods,
      ages: this.#ages,
    } as const;
    return { live: { fingerprint: fingerprintOf(curve), ...table }, building: null };
  }

  /** Loads the windows of a plan; throws where one requests some metrics of an age alone. */
  load({ windows, planAt }: SlicePlan): void {
    for (const { slice: of, periods } of windows) {
      for (const age of new Set(of.metrics.map(ageIn(curve)))) {
        const ids = byAge.get(age)?.map(({ id }) => id) ?? [];
        if (!ids.every((id) => of.metrics.includes(id)))
          throw new RangeError(`The age ${age} was divided.`);
        for (const { period } of periods) {
          this.#ages
            .get(age)
            ?.set(
              period.bucket.start,
              loadedPeriod({ ...period, fetchedAt: planAt, metrics: ids }),
            );
        }
      }
    }
  }

  /** The periods of a plan of which the oldest age, and so some metric, is not final. */
  maturing({ periods }: SlicePlan): number {
    const [age = '', some = []] = [...byAge].at(-1) ?? [];
    return periods.filter((period) => {
      const held = this.#ages.get(age)?.get(period.bucket.start);
      return held === undefined || finalMetrics(held, some, curve).length < some.length;
    }).length;
  }
}

test('a backfill at an earlier instant replaces no age that a later run fetched', () => {
  const held = new LoadFacts();
  const at = (night: number): Date => new Date(Date.UTC(2026, 4, night, 6));
  const plan = (planAt: Date, forced: DayInterval | null = null): SlicePlan =>
    planSlice({ slice: curve, metrics, ledger: held.ledger, planAt, forced });
  held.load(plan(at(1)));
  held.load(plan(at(10)));
  // The younger ages of this day were final on the first night.
  const forced = { start: day('2026-04-03'), end: day('2026-04-04') };
  expect(plan(at(5), forced).windows).toEqual([]);
  expect(plan(at(11), forced).windows).not.toEqual([]);
});
