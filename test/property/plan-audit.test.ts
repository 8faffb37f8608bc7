/** Laws of audits, over random slices, ledgers and nights. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { daysBetween, MS_PER_DAY } from '../../src/model/calendar.ts';
import { firstKeptDay } from '../../src/model/coverage.ts';
import { isFinal } from '../../src/model/maturity.ts';
import { withAudits, type Draws } from '../../src/plan/audit.ts';
import type { SlicePlan } from '../../src/plan/plan.ts';
import type { Window } from '../../src/model/window.ts';
import {
  FIRST_DAY,
  inFull,
  later,
  live,
  metricsOf,
  nights,
  planAt,
  slices,
  startOf,
  wholeNight,
  withLoaded,
} from '../support/planned-nights.ts';
import { slice } from '../support/slice.ts';

const runs = { numRuns: 120 };
const ONE: Draws = { windows: 1, done: 0 };

const audited = (plan: SlicePlan, draws: Draws, asOf: Date): Window[] => {
  const [after] = withAudits([{ plan, metrics: metricsOf(plan.slice) }], draws, asOf);
  return (after?.windows ?? []).filter(({ periods }) => periods.some(({ reason }) => reason === 'audit'));
};

/** A long history after the random nights, so that something is final. */
const histories = fc.tuple(slices, nights, fc.integer({ min: 1, max: 100 })).map(([of, series, wait]) => {
  const { ledger, asOf: last } = live(of, [wholeNight(24), ...series, wholeNight(400), wholeNight(24)]);
  const asOf = later(last, wait);
  return { of, ledger, asOf, plan: planAt(of, ledger, asOf) };
});

test('a night draws at most so many windows, each of a week at most, of periods with a final cell, kept, and not asked for anyway', () => {
  let drawn = 0;
  fc.assert(
    fc.property(histories, fc.constantFrom(1, 1, 2, 3), ({ of, plan, asOf }, windows) => {
      const found = audited(plan, { windows, done: 0 }, asOf);
      drawn += found.length;
      expect(found.length).toBeLessThanOrEqual(windows);
      const taken = plan.windows.flatMap(({ periods }) => periods.map(({ period }) => period.bucket.start));
      for (const window of found) {
        const { start, end } = window.replaced;
        expect(window.periods.length === 1 || daysBetween(start, end) <= 7).toBe(true);
        expect(start >= (firstKeptDay(of, asOf, 1) ?? start)).toBe(true);
        for (const { period } of window.periods) {
          const held = plan.table?.periods.get(period.bucket.start);
          expect(
            held !== undefined && metricsOf(of).some((metric) => metric.additive && isFinal(period, metric, of, held)),
          ).toBe(true);
          expect(taken).not.toContain(period.bucket.start);
          taken.push(period.bucket.start);
        }
      }
    }),
    runs,
  );
  expect(drawn).toBeGreaterThan(40);
});

test('a run after one that was killed asks for no other window: the draws of a night go on where the killed run ended', () => {
  fc.assert(
    fc.property(histories, ({ of, ledger, plan, asOf }) => {
      const both = audited(plan, { windows: 2, done: 0 }, asOf);
      const [first] = audited(plan, ONE, asOf);
      if (first === undefined) return;
      const loaded = withLoaded(ledger, plan, [...plan.windows, first], { ...inFull, fetchedAt: asOf });
      const again = planAt(of, loaded, asOf);
      expect(audited(again, { windows: 1, done: 1 }, asOf)).toEqual([]);
      const labels = (all: readonly Window[]): string[] => all.map(({ replaced }) => replaced.start).toSorted();
      expect(labels([first, ...audited(again, { windows: 2, done: 1 }, asOf)])).toEqual(labels(both));
    }),
    runs,
  );
});

test('nothing that was fetched on the same day is asked for again: an audit an hour after the load would say nothing new', () => {
  const of = slice({
    name: 'any',
    dimensions: ['day', 'app'],
    metrics: ['metric_7'],
    datePeriod: { first: { day: FIRST_DAY }, last: { daysAgo: 1 } },
  });
  const { ledger, asOf } = live(of, [wholeNight(24 * 40)]);
  expect(asOf.getTime()).toBeGreaterThan(startOf(0).getTime() + 30 * MS_PER_DAY);
  expect(audited(planAt(of, ledger, later(asOf, 1)), ONE, later(asOf, 1))).toEqual([]);
  expect(audited(planAt(of, ledger, later(asOf, 24)), ONE, later(asOf, 24))).toHaveLength(1);
});
