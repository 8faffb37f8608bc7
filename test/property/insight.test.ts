/** Laws of the statistics of ripening, over random histories. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { projected, scoresOf } from '../../src/insight/backtest.ts';
import { climb, ladderOn } from '../../src/insight/chain-ladder.ts';
import { columnsOf } from '../../src/insight/columns.ts';
import { type Cohort, type Development, maturationOf, quantile } from '../../src/insight/development.ts';
import { MEAN_OF_BOTH, expectationsOf, standingOn, trialsOf } from '../../src/insight/trials.ts';
import { faultyShareBelow } from '../../src/model/confidence.ts';
import { plainScore, plainStanding } from '../support/plain-backtest.ts';

const runs = { numRuns: 60 };
const AGES = [1, 2, 3, 5] as const;
const FINAL_AGE = 8;

/** Periods of which each was fetched at most ages and is final at age 8, but for the newest; with what totals is given. */
function developments(total: fc.Arbitrary<number>): fc.Arbitrary<Development> {
  const cohort = fc.record({
    values: fc.tuple(...AGES.map(() => fc.option(total, { freq: 8 }))),
    final: total,
  });
  return fc.array(cohort, { minLength: 2, maxLength: 40 }).map((cohorts) =>
    cohorts.map(({ values, final }, lastDay): Cohort => {
      const today = cohorts.length;
      const readings = AGES.flatMap((age, at) => {
        const value = values[at] ?? null;
        return value === null || lastDay + age > today ? [] : [{ age, value }];
      });
      return { lastDay, readings, final: lastDay + FINAL_AGE > today ? null : { age: FINAL_AGE, value: final } };
    }),
  );
}

const growing = developments(fc.double({ min: 1, max: 1e6, noNaN: true }));
/** Refunds, nothing at all, and amounts far apart. */
const any = developments(
  fc.oneof(
    fc.constant(0),
    fc.double({ min: -1e3, max: 1e3, noNaN: true }),
    fc.double({ min: 0, max: 1e12, noNaN: true }),
  ),
);

const amount = fc.integer({ min: 5000, max: 9999 }).map((hundredths) => hundredths / 100);
const total = fc.oneof({ weight: 9, arbitrary: amount }, fc.constantFrom(-2, 0, 1e6));
/** As a ledger has them: days are missing, nights came late or failed, values were final early or late or are not yet. */
const ledgers: fc.Arbitrary<Development> = fc
  .array(
    fc.record({
      gap: fc.constantFrom(1, 1, 1, 1, 3),
      totals: fc.array(fc.option(total, { freq: 6 }), { minLength: 8, maxLength: 8 }),
      finalAge: fc.constantFrom(4, 8, 8, 8, 8, 9, 12),
      final: total,
    }),
    { minLength: 30, maxLength: 60, size: 'max' },
  )
  .map((periods) => {
    const lastDays = periods.map((_, at) => periods.slice(0, at).reduce((sum, { gap }) => sum + gap, 0));
    const today = (lastDays.at(-1) ?? 0) + 1;
    return periods.flatMap(({ totals, finalAge, final }, at): Cohort[] => {
      const lastDay = lastDays[at] ?? 0;
      const readings = totals.flatMap((value, nth) => {
        const age = [1, 2, 3, 5, 6, 7, 8, 10][nth] ?? 0;
        return value === null || age > finalAge || lastDay + age > today ? [] : [{ age, value }];
      });
      return [{ lastDay, readings, final: lastDay + finalAge > today ? null : { age: finalAge, value: final } }];
    });
  });

test('the quick backtest has the same numbers as the plain one to the last digit: the standing of each day and each score', () => {
  let told = 0;
  fc.assert(
    fc.property(ledgers, ledgers, (own, below) => {
      const family = { own, lower: new Map([['below', below]]) };
      const days = Array.from({ length: 200 }, (_, at) => at).filter((at) => at % 9 === 0);
      for (const each of [...days, Number.POSITIVE_INFINITY]) {
        expect(standingOn(family, each)).toEqual(plainStanding(family, each));
      }
      const trials = trialsOf(family);
      for (const { age, cohorts, medianError, coverage } of scoresOf(own, trials)) {
        const expected = plainScore(trials.filter((trial) => trial.age === age));
        expect({ cohorts, medianError, coverage }).toEqual(expected);
        told += cohorts;
      }
    }),
    { numRuns: Number(process.env['RIPEN_LEDGERS'] ?? 25) },
  );
  expect(told).toBeGreaterThan(1000);
});

const ladderOf = (own: Development) => ladderOn(columnsOf(own), Number.POSITIVE_INFINITY);
const alone = (own: Development) => ({ own, lower: new Map<string, Development>() });

const scaled = (development: Development, by: number): Development =>
  development.map(({ lastDay, readings, final }) => ({
    lastDay,
    readings: readings.map(({ age, value }) => ({ age, value: value * by })),
    final: final === null ? null : { age: final.age, value: final.value * by },
  }));

test('in another unit every projection is the same number in that unit, with the same relative error', () => {
  let climbed = 0;
  fc.assert(
    fc.property(growing, fc.constantFrom(0.001, 3, 1e6), fc.constantFrom(...AGES), (own, by, age) => {
      const [one, other] = [climb(ladderOf(own), age, 100), climb(ladderOf(scaled(own, by)), age, 100 * by)];
      climbed += one === null ? 0 : 1;
      expect(other?.cohorts).toBe(one?.cohorts);
      expect((other?.value ?? by) / by / (one?.value ?? 1)).toBeCloseTo(1, 9);
      expect(other?.error ?? 0).toBeCloseTo(one?.error ?? 0, 9);
    }),
    runs,
  );
  expect(climbed).toBeGreaterThan(runs.numRuns / 6);
});

test('shares and quantiles do not depend on the unit either, and quartiles are in order', () => {
  fc.assert(
    fc.property(growing, fc.constantFrom(0.001, 3, 1e6), (own, by) => {
      const [one, other] = [maturationOf(own), maturationOf(scaled(own, by))];
      expect(other.map(({ age, periods }) => [age, periods])).toEqual(one.map(({ age, periods }) => [age, periods]));
      for (const [at, { q25, median, q75 }] of one.entries()) {
        expect(q25 <= median && median <= q75).toBe(true);
        expect((other[at]?.median ?? 0) / median).toBeCloseTo(1, 9);
      }
    }),
    runs,
  );
});

test('where more is known more is expected, and the longer way up is never the surer one', () => {
  fc.assert(
    fc.property(
      growing,
      fc.double({ min: 1, max: 1e6, noNaN: true }),
      fc.double({ min: 1.01, max: 9, noNaN: true }),
      (own, value, by) => {
        const ladder = ladderOf(own);
        for (const { age } of ladder) {
          const [less, more] = [climb(ladder, age, value), climb(ladder, age, value * by)];
          expect((more?.value ?? 0) / (less?.value ?? 1)).toBeCloseTo(by, 9);
          // Mack's error falls with the total: single deviations cancel out in a larger one.
          expect(more?.error ?? 0).toBeLessThanOrEqual(less?.error ?? 0);
        }
      },
    ),
    runs,
  );
});

test('no history makes a number that is none: refunds, zeros and missing fetches are refused or projected with finite ends', () => {
  fc.assert(
    fc.property(any, (own) => {
      for (const { choice, reason, medianError, coverage, cohorts, age } of scoresOf(own, trialsOf(alone(own)))) {
        expect([choice, reason].filter((each) => each === null)).toHaveLength(1);
        for (const each of [medianError, coverage]) expect(each === null || Number.isFinite(each)).toBe(true);
        expect(cohorts).toBeLessThanOrEqual(own.length);
        for (const value of [1e-6, 1, 1e12]) {
          const standing = standingOn(alone(own), own.length);
          const expected = expectationsOf(standing, { lastDay: own.length, age, value }, () => null);
          const found = projected(expected, choice ?? { method: MEAN_OF_BOTH, width: 2 });
          if (found === null) continue;
          expect(0 < found.low && found.low <= found.value && found.value <= found.high).toBe(true);
          expect(found.high).toBeLessThan(Number.POSITIVE_INFINITY);
        }
      }
      for (const { median } of maturationOf(own)) expect(Number.isFinite(median)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('nothing is projected from a total that is not above zero', () => {
  fc.assert(
    fc.property(growing, fc.double({ min: -1e6, max: 0, noNaN: true }), fc.constantFrom(...AGES), (own, value, age) => {
      expect(climb(ladderOf(own), age, value)).toBeNull();
      expect(expectationsOf(standingOn(alone(own), 99), { lastDay: 99, age, value }, () => null).size).toBe(0);
    }),
    runs,
  );
});

test('a quantile lies between the least and the greatest, and does not fall as the share rises', () => {
  const numbers = fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(
      numbers,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (of, one, other) => {
        const [low, high] = [quantile(of, Math.min(one, other)) ?? 0, quantile(of, Math.max(one, other)) ?? 0];
        expect(low - high).toBeLessThanOrEqual(1e-6);
        expect(low).toBeGreaterThanOrEqual(Math.min(...of));
        expect(high).toBeLessThanOrEqual(Math.max(...of));
      },
    ),
    runs,
  );
});

test('the wrong share of all lies above that of the sample, falls with more clean cells, and is 3 over their count where none is wrong', () => {
  fc.assert(
    fc.property(fc.nat(20), fc.integer({ min: 21, max: 5000 }), (wrong, cells) => {
      const below = faultyShareBelow(wrong, cells);
      expect(below).toBeGreaterThan(wrong / cells);
      expect(faultyShareBelow(wrong, cells + 100)).toBeLessThan(below);
      expect(faultyShareBelow(wrong + 1, cells)).toBeGreaterThan(below);
      expect(faultyShareBelow(0, cells) * cells).toBeLessThan(3);
      expect(faultyShareBelow(0, cells) * cells).toBeGreaterThan(2.75);
    }),
    runs,
  );
});
