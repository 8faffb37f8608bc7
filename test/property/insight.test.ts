/** Laws of the statistics of ripening, over random histories. A failure prints the seed and the path to replay it with. */

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { type Development, ladderOf, maturationOf, scoresOf } from '../../src/insight/ripening.ts';
import { property } from '../support/property.ts';

const runs = { numRuns: 60 };
const AGES = [1, 2, 3, 5] as const;
const FINAL_AGE = 8;

/** Periods of which each was fetched at most ages and is final at age 8, but for the newest; some change once more at age 20. */
function developments(total: fc.Arbitrary<number>): fc.Arbitrary<Development> {
  const cohort = fc.record({
    values: fc.tuple(...AGES.map(() => fc.option(total, { freq: 8 }))),
    final: total,
    changed: fc.option(total, { freq: 2 }),
  });
  return fc.array(cohort, { minLength: 2, maxLength: 60 }).map((cohorts) =>
    cohorts.map(({ values, final, changed }, lastDay): Development[number] => {
      const isPast = (age: number): boolean => lastDay + age <= cohorts.length;
      const read = AGES.flatMap((age, at) => {
        const value = values[at] ?? null;
        return value === null || !isPast(age) ? [] : [[age, value] as const];
      });
      const finals = [
        { age: FINAL_AGE, value: final },
        { age: 20, value: changed ?? final },
      ];
      return { lastDay, maturing: new Map(read), finals: finals.filter(({ age }) => isPast(age)) };
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

const scaled = (development: Development, by: number): Development =>
  development.map(({ lastDay, maturing, finals }) => ({
    lastDay,
    maturing: new Map([...maturing].map(([age, value]) => [age, value * by])),
    finals: finals.map(({ age, value }) => ({ age, value: value * by })),
  }));

test('in another unit every factor and every known share is the same', () => {
  let compared = 0;
  fc.assert(
    fc.property(growing, fc.constantFrom(0.001, 3, 1e6), (own, by) => {
      const [one, other] = [ladderOf(own)(Infinity), ladderOf(scaled(own, by))(Infinity)];
      for (const [age, { value, periods }] of one) {
        expect(other.get(age)?.periods).toBe(periods);
        expect((other.get(age)?.value ?? 0) / value).toBeCloseTo(1, 9);
        compared += 1;
      }
      const shares = maturationOf(scaled(own, by));
      for (const [at, { share_q25: q25, share_median: median, share_q75: q75 }] of maturationOf(
        own,
      ).entries()) {
        expect(q25 <= median && median <= q75).toBe(true);
        expect((shares[at]?.share_median ?? 0) / median).toBeCloseTo(1, 9);
      }
    }),
    runs,
  );
  expect(compared).toBeGreaterThan(runs.numRuns);
});

test(
  'what comes after a day changes nothing that was known on it',
  property([any, fc.nat(60)], { numRuns: 200 }, (own, day) => {
    const until = own.map(({ lastDay, maturing, finals }) => ({
      lastDay,
      maturing: new Map([...maturing].filter(([age]) => lastDay + age <= day)),
      finals: finals.filter(({ age }) => lastDay + age <= day),
    }));
    const [factors, expected] = [ladderOf(own)(day), ladderOf(until)(Infinity)];
    expect([...factors]).toEqual([...expected]);
  }),
);

test(
  'no history makes a number that is none: refunds, zeros and missing fetches are refused or projected with finite ends',
  property([any], { numRuns: 200 }, (own) => {
    const factorsOn = ladderOf(own);
    for (const { reach, basis, median_abs_error, coverage, cohorts, age_days: age } of scoresOf(
      own,
      factorsOn,
    )) {
      expect(reach !== null).toBe(basis === 'ladder' || basis === 'as is');
      for (const each of [median_abs_error, coverage])
        expect(each === null || Number.isFinite(each)).toBe(true);
      expect(cohorts).toBeLessThanOrEqual(own.length);
      if (reach === null) continue;
      expect(factorsOn(Infinity).get(age)?.value).toBeGreaterThan(0);
      expect(reach >= 1 && reach < Infinity).toBe(true);
    }
    for (const { share_median: median } of maturationOf(own))
      expect(Number.isFinite(median)).toBe(true);
  }),
);
