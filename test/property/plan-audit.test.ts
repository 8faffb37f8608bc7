/** Laws of audits, over random slices, ledgers and nights. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { firstKeptDay } from '../../src/model/period.ts';
import { isFinal } from '../../src/model/maturity.ts';
import { drawAudits, withAudits, type Draw, type Draws } from '../../src/plan/audit.ts';
import type { SlicePlan } from '../../src/plan/plan.ts';
import { property } from '../support/property.ts';
import {
  FIRST_DAY,
  inFull,
  later,
  live,
  metricsOf,
  nights,
  planAt,
  slices,
  wholeNight,
  withLoaded,
} from '../support/planned-nights.ts';
import { slice } from '../support/slice.ts';

const runs = { numRuns: 120 };

const drawn = (plan: SlicePlan, draws: Draws, asOf: Date): Draw[] =>
  drawAudits([plan], draws, asOf);

/** A long history after the random nights, so that something is final. */
const histories = fc
  .tuple(slices, nights, fc.integer({ min: 1, max: 100 }))
  .map(([of, series, wait]) => {
    const { ledger, asOf: last } = live(of, [
      wholeNight(24),
      ...series,
      wholeNight(400),
      wholeNight(24),
    ]);
    const asOf = later(last, wait);
    return { of, ledger, asOf, plan: planAt(of, ledger, asOf) };
  });

test('a night draws at most so many periods, each once, with a final cell and kept, and requests those by themselves that the night does not request anyway', () => {
  let found = 0;
  fc.assert(
    fc.property(histories, fc.constantFrom(1, 1, 2, 3), ({ of, plan, asOf }, periods) => {
      const draws = drawn(plan, { periods, done: 0 }, asOf);
      found += draws.length;
      expect(draws.length).toBeLessThanOrEqual(periods);
      expect(new Set(draws.map(({ period }) => period.bucket.start)).size).toBe(draws.length);
      const [after] = withAudits([plan], draws);
      const added = (after?.windows ?? []).filter((window) => !plan.windows.includes(window));
      expect(added.map(({ replaced }) => replaced.start).toSorted()).toEqual(
        draws
          .map(({ period }) => period.bucket.start)
          .filter(
            (start) =>
              !plan.windows.some(({ periods: due }) =>
                due.some((d) => d.period.bucket.start === start),
              ),
          )
          .toSorted(),
      );
      expect(added.every((window) => window.periods.length === 1)).toBe(true);
      for (const { period } of draws) {
        const held = plan.table?.periods.get(period.bucket.start);
        expect(period.bucket.start >= (firstKeptDay(of, asOf) ?? period.bucket.start)).toBe(true);
        const metrics = metricsOf(of);
        expect(
          held !== undefined && metrics.some((metric) => isFinal(period, metric, of, held)),
        ).toBe(true);
      }
    }),
    runs,
  );
  expect(found).toBeGreaterThan(40);
});

test(
  'a run after one that was killed draws no other period: the draws of a night go on where the killed run ended',
  property([histories], runs, ({ of, ledger, plan, asOf }) => {
    const [first] = drawn(plan, { periods: 1, done: 0 }, asOf);
    const [after] = withAudits([plan], first === undefined ? [] : [first]);
    const loaded = withLoaded(ledger, plan, after?.windows ?? [], { ...inFull, fetchedAt: asOf });
    expect(drawn(planAt(of, loaded, asOf), { periods: 1, done: 1 }, asOf)).toEqual([]);
  }),
);

test(
  'a run after one that was killed draws the same periods, whatever other windows the killed run had loaded',
  property(
    [histories, fc.infiniteStream(fc.boolean())],
    runs,
    ({ of, ledger, plan, asOf }, isLoaded) => {
      const draws = drawn(plan, { periods: 2, done: 0 }, asOf);
      const starts = (some: readonly Draw[]): string[] =>
        some.map(({ period }) => period.bucket.start);
      const before = plan.windows.filter(
        ({ periods }) =>
          !periods.some(({ period }) => starts(draws).includes(period.bucket.start)) &&
          isLoaded.next().value,
      );
      const loaded = withLoaded(ledger, plan, before, { ...inFull, fetchedAt: asOf });
      expect(starts(drawn(planAt(of, loaded, asOf), { periods: 2, done: 0 }, asOf))).toEqual(
        starts(draws),
      );
    },
  ),
);

const daily = slice({
  name: 'any',
  dimensions: ['day', 'app'],
  metrics: ['metric_7'],
  datePeriod: { first: { day: FIRST_DAY }, last: { daysAgo: 1 } },
});

test('every final cell is drawn as often as any other, whatever the night requests: 60 periods over 6,000 nights', () => {
  const { ledger, asOf } = live(daily, [wholeNight(24 * 68)]);
  const plan = planAt(daily, ledger, later(asOf, 24));
  const times = new Map<string, number>();
  for (let night = 0; night < 6000; night += 1) {
    // The night alone makes the draw another one.
    const at = later(asOf, 24 * (night + 1));
    for (const { period } of drawn(plan, { periods: 1, done: 0 }, at)) {
      times.set(period.bucket.start, (times.get(period.bucket.start) ?? 0) + 1);
    }
  }
  const final = [...times.values()];
  expect(final.length).toBeGreaterThan(50);
  const expected = 6000 / final.length;
  for (const each of final) expect(Math.abs(each - expected)).toBeLessThan(5 * Math.sqrt(expected));
  expect([...times.keys()].toSorted()[0]).toBe(FIRST_DAY);
});

test('nothing that was fetched on the same day is drawn: an audit an hour after the load would say nothing new', () => {
  const { ledger, asOf } = live(daily, [wholeNight(24 * 40)]);
  const at = (hours: number): Draw[] => {
    const then = later(asOf, hours);
    return drawn(planAt(daily, ledger, then), { periods: 1, done: 0 }, then);
  };
  expect(at(1)).toEqual([]);
  expect(at(24)).toHaveLength(1);
});
