/** The statistics of how values ripen, on triangles whose answers are known: published, made by a rule, or by chance. */

import { describe, expect, test } from 'vitest';

import { choiceFrom, type Counted, projected, scoresOf } from '../../src/insight/backtest.ts';
import { climb, ladderOn } from '../../src/insight/chain-ladder.ts';
import { columnsOf, reached } from '../../src/insight/columns.ts';
import { type Cohort, columnAges, type Development, maturationOf, quantile } from '../../src/insight/development.ts';
import { AVERAGE_SHARE, expectationsOf, MEAN_OF_BOTH, standingOn, trialsOf } from '../../src/insight/trials.ts';
import { fraction, mix } from '../../src/simulator/world/hash.ts';

/** Taylor and Ashe (1983), as Mack (1993) has it: cumulative claims by accident year. */
const published = [
  [357848, 1124788, 1735330, 2218270, 2745596, 3319994, 3466336, 3606286, 3833515, 3901463],
  [352118, 1236139, 2170033, 3353322, 3799067, 4120063, 4647867, 4914039, 5339085],
  [290507, 1292306, 2218525, 3235179, 3985995, 4132918, 4628910, 4909315],
  [310608, 1418858, 2195047, 3757447, 4029929, 4381982, 4588268],
  [443160, 1136350, 2128333, 2897821, 3402672, 3873311],
  [396132, 1333217, 2180715, 2985752, 3691712],
  [440832, 1288463, 2419861, 3483130],
  [359480, 1421128, 2864498],
  [376686, 1363294],
  [344014],
];
const FINAL_AGE = 10;

const ladderOf = (own: Development) => ladderOn(columnsOf(own), Number.POSITIVE_INFINITY);

function cohortOf(values: readonly number[], lastDay: number): Cohort {
  const readings = values.map((value, index) => ({ age: index + 1, value }));
  return {
    lastDay,
    readings: readings.filter(({ age }) => age < FINAL_AGE),
    final: readings.find(({ age }) => age === FINAL_AGE) ?? null,
  };
}

describe('the chain ladder', () => {
  const ladder = ladderOf(published.map(cohortOf));

  test('has the 9 factors that Mack (1993) publishes', () => {
    const factors = ladder.map(({ factor }) => Number(factor.toFixed(3)));
    expect(factors).toEqual([3.491, 1.747, 1.457, 1.174, 1.104, 1.086, 1.054, 1.077, 1.018]);
  });

  test('has the reserves and standard errors that Mack (1993) publishes for 9 years', () => {
    const reserves = published.slice(1).map((values) => {
      const value = values.at(-1) ?? 0;
      const expected = climb(ladder, values.length, value);
      const [total, error] = [expected?.value ?? 0, expected?.error ?? 0];
      return [Math.round((total - value) / 1000), Math.round((total * error) / 1000)];
    });
    expect(reserves).toEqual([
      [95, 76],
      [470, 122],
      [710, 134],
      [985, 261],
      [1419, 411],
      [2178, 558],
      [3920, 875],
      [4279, 971],
      [4626, 1363],
    ]);
  });

  test('is none where no period is final, and climbs neither from nothing nor from an age without a column', () => {
    expect(ladderOf(published.slice(1).map(cohortOf))).toEqual([]);
    expect(climb(ladder, 1, 0)).toBeNull();
    expect(climb(ladder, 99, 10)).toBeNull();
  });

  test('takes a night that came late for no column: 1 of 10 periods read at age 6 instead of 5', () => {
    const late = published.slice(0, 1).flatMap((values) =>
      Array.from({ length: 10 }, (_, at) => {
        const cohort = cohortOf(values, at);
        return at === 3 ? { ...cohort, readings: cohort.readings.filter(({ age }) => age !== 5) } : cohort;
      }),
    );
    const withOdd = altered(late, ({ lastDay, readings }) =>
      lastDay === 3 ? { readings: [...readings, { age: 5.5, value: 1 }] } : {},
    );
    expect(columnAges(withOdd)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(ladderOf(withOdd)).toHaveLength(9);
  });
});

test('a triangle has no ladder on day 5, when none of the 5 periods read by then is final, and 9 steps over 9 to 1 of them on day 10', () => {
  const columns = columnsOf(published.map(cohortOf));
  expect([1, 2, 5, 9].map((age) => reached(columns, age, 5))).toEqual([5, 4, 1, 0]);
  expect(ladderOn(columns, 5)).toEqual([]);
  expect(ladderOn(columns, 10).map(({ cohorts }) => cohorts)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
});

test('quantiles lie between neighbours: 1, 2, 3, 10 have the quartiles 1.75, 2.5 and 4.75', () => {
  expect([0.25, 0.5, 0.75].map((share) => quantile([10, 1, 3, 2], share))).toEqual([1.75, 2.5, 4.75]);
  expect(quantile([], 0.5)).toBeNull();
});

/** Each value with some of its fields in another way. */
function altered<T extends object>(all: readonly T[], change: (each: T) => Partial<T>): T[] {
  return all.flatMap((each) => [{ ...each, ...change(each) }]);
}

const readAs = (cohort: Cohort, valueOf: (age: number) => number): Pick<Cohort, 'readings'> => ({
  readings: cohort.readings.map(({ age }) => ({ age, value: valueOf(age) })),
});

/** Periods whose known share at ages 1 and 3 scatters around 0.3 and 0.8, final at age 8. */
function scattered(periods: number, spread: number, seed: number): Cohort[] {
  return Array.from({ length: periods }, (_, at) => {
    const chance = (salt: number): number => fraction(mix(mix(seed, salt), at)) - 0.5;
    const final = 1000 * (1 + 0.4 * chance(1));
    const shareOf = (share: number, salt: number): number => final * share * (1 + spread * chance(salt));
    return {
      lastDay: at,
      readings: [
        { age: 1, value: shareOf(0.3, 2) },
        { age: 3, value: shareOf(0.8, 3) },
      ],
      final: at + 8 < periods ? { age: 8, value: final } : null,
    };
  });
}

describe('maturation', () => {
  test('knows 30 % and 80 % at ages 1 and 3 of 52 final periods, and counts none of 8 unfinal ones', () => {
    const known = maturationOf(scattered(60, 0.1, 1));
    expect(known.map(({ age, periods }) => [age, periods])).toEqual([
      [1, 52],
      [3, 52],
    ]);
    expect(known[0]?.median).toBeCloseTo(0.3, 2);
    expect(known[1]?.median).toBeCloseTo(0.8, 1);
    expect(known.every(({ q25, median, q75 }) => q25 < median && median < q75)).toBe(true);
  });

  test('says nothing with 7 final periods', () => {
    expect(maturationOf(scattered(15, 0.1, 1))).toEqual([]);
    expect(maturationOf(scattered(16, 0.1, 1))).not.toEqual([]);
  });
});

describe('the backtest', () => {
  const familyOf = (own: Development) => ({ own, lower: new Map<string, Development>() });

  test('projects from what was known on the day alone: what comes later changes no trial before it', () => {
    const own = scattered(60, 0.2, 2);
    const before = trialsOf(familyOf(own)).filter(({ judgedOn }) => judgedOn <= 40);
    const changed = altered(own, ({ lastDay }) => (lastDay > 40 ? { final: null, readings: [] } : {}));
    const after = trialsOf(familyOf(changed)).filter(({ judgedOn }) => judgedOn <= 40);
    expect(before.length).toBeGreaterThan(40);
    expect(after).toEqual(before);
  });

  test('covers 70 to 90 % of 90 final totals, and comes nearer than the values as they are', () => {
    const own = scattered(200, 0.2, 3);
    for (const score of scoresOf(own, trialsOf(familyOf(own)))) {
      expect(score.cohorts).toBeGreaterThan(70);
      expect(score.coverage).toBeGreaterThan(0.7);
      expect(score.coverage).toBeLessThan(0.9);
      expect(score.medianError).toBeLessThan((score.medianErrorAsIs ?? 0) / 2);
      expect(score.reason).toBeNull();
    }
  });

  test('does not project with 7 judged periods, where half came to nothing, or where the interval reaches far above the value', () => {
    const few = scattered(20, 0.1, 4);
    expect(scoresOf(few, trialsOf(familyOf(few))).map(({ choice }) => choice)).toEqual([null, null]);
    const idle = altered(scattered(100, 0.1, 4), (cohort) => (cohort.lastDay % 2 === 0 ? {} : readAs(cohort, () => 0)));
    expect(scoresOf(idle, trialsOf(familyOf(idle)))[0]?.reason).toMatch(/^45 of 90 periods had no value above zero/);
    const wild = altered(scattered(100, 1.9, 4), ({ lastDay, final }) =>
      final === null ? {} : { final: { age: 8, value: 10 ** (4 * fraction(mix(7, lastDay))) } },
    );
    expect(scoresOf(wild, trialsOf(familyOf(wild)))[0]?.reason).toMatch(
      /^the 80 % interval reached \d+ % above the projected value$/,
    );
  });

  test('does not project where the world changed its ways and the interval held less than 60 %', () => {
    const own = scattered(60, 0.02, 5);
    const worse = altered(trialsOf(familyOf(own)), ({ final, madeOn }) => {
      const value = final * Math.exp(0.001 * 1.1 ** madeOn);
      return { expected: new Map([['chain ladder', { value, error: 0.1, cohorts: 9 }]]) };
    });
    const [first] = scoresOf(own, worse);
    expect(first?.coverage).toBeLessThan(0.6);
    expect(first?.reason).toMatch(/^the 80 % interval held only \d+ % of \d+ final totals$/);
    expect(first?.choice).toBeNull();
  });

  test('leaves a value that only trembles as it is', () => {
    const still = altered(scattered(100, 0.1, 6), ({ lastDay, final }) => ({
      readings: [{ age: 1, value: (final?.value ?? 1000) * (0.99 + 0.02 * (lastDay % 2)) }],
    }));
    const [score] = scoresOf(still, trialsOf(familyOf(still)));
    expect(score?.medianError).toBeGreaterThan(score?.medianErrorAsIs ?? 0);
    expect(score?.reason).toMatch(/^projections were nearer than the values as they are for only \d+ of \d+ periods$/);
    expect(score?.choice).toBeNull();
  });

  test('borrows from a lower age where that is known better, and expects the rest from the level where little is known', () => {
    const own = scattered(120, 1.2, 7);
    const steady = altered(own, (cohort) => ({
      ...readAs(cohort, () => (cohort.final?.value ?? 1000) * 0.4),
      final: cohort.final === null ? null : { age: 5, value: cohort.final.value * 0.5 },
    }));
    const trials = trialsOf({ own, lower: new Map([['revenue_d7', steady]]) }).filter(({ age }) => age === 1);
    expect(choiceFrom(trials)?.method).toBe('chain ladder of revenue_d7');
    const alone = trialsOf(familyOf(own)).filter(({ age }) => age === 1);
    expect(choiceFrom(alone)?.method).toBe('chain ladder and level');
  });

  test('takes the mean of chain ladder and average share until another method is nearer by a tenth', () => {
    const own = scattered(100, 0.2, 9);
    const trials = trialsOf(familyOf(own)).filter(({ age }) => age === 1);
    for (const { expected, asIs, byAverageShare } of trials.slice(-20)) {
      const [ladder, both] = [expected.get('chain ladder')?.value ?? 0, expected.get(MEAN_OF_BOTH)?.value];
      expect(ladder).toBeGreaterThan(asIs);
      expect(both).toBeCloseTo((ladder + (byAverageShare ?? 0)) / 2, 9);
    }
    const withLadder = (error: number): typeof trials =>
      altered(trials, ({ final }) => {
        const of = (by: number) => ({ value: final * Math.exp(by), error: 0.1, cohorts: 9 });
        return {
          expected: new Map([
            [MEAN_OF_BOTH, of(0.1)],
            ['chain ladder', of(error)],
          ]),
        };
      });
    expect(choiceFrom(withLadder(0.095))?.method).toBe(MEAN_OF_BOTH);
    expect(choiceFrom(withLadder(0.085))?.method).toBe('chain ladder');
  });

  test('projects 100 periods of 1,082 installs, and none where half of them have 1,081, whatever they come to', () => {
    const own = scattered(100, 0.2, 8);
    const trials = trialsOf(familyOf(own));
    const counting = (installs: number): Counted => ({
      name: 'installs',
      development: altered(own, ({ final }) => (final === null ? {} : { final: { age: 8, value: installs } })),
    });
    expect(scoresOf(own, trials, counting(1082))).toStrictEqual(scoresOf(own, trials));
    expect(scoresOf(own, trials).map(({ choice }) => choice === null)).toEqual([false, false]);
    const told =
      'half of the periods have 1081 installs at most, and below 1082 chance alone moves one in ten by more than 5 %';
    for (const { choice, reason, medianError } of scoresOf(own, trials, counting(1081))) {
      expect([choice, reason]).toEqual([null, told]);
      expect(medianError).not.toBeNull();
    }
  });

  test('gives its place to the average share where the mean came out more than a tenth further off, with what that came to', () => {
    const own = scattered(100, 0.2, 9);
    const trials = trialsOf(familyOf(own)).filter(({ age }) => age === 1);
    const further = (by: number) =>
      scoresOf(
        own,
        altered(trials, ({ final, expected, byAverageShare }) => {
          const off = Math.abs((byAverageShare ?? 0) / final - 1);
          const mean = expected.get(MEAN_OF_BOTH);
          const simple = expected.get(AVERAGE_SHARE);
          if (mean === undefined || simple === undefined) return {};
          return {
            expected: new Map([
              [MEAN_OF_BOTH, { ...mean, value: final * (1 + by * off) }],
              [AVERAGE_SHARE, simple],
            ]),
          };
        }),
      )[0];
    const [near, far] = [further(1.09), further(1.11)];
    expect([near?.choice?.method, far?.choice?.method]).toEqual([MEAN_OF_BOTH, AVERAGE_SHARE]);
    expect((near?.medianError ?? 0) / (near?.medianErrorAverageShare ?? 1)).toBeCloseTo(1.09, 9);
    expect(far?.medianError).toBe(far?.medianErrorAverageShare);
  });

  test('projects the newest period with an interval around the value', () => {
    const own = scattered(100, 0.2, 8);
    const [score] = scoresOf(own, trialsOf(familyOf(own)));
    const standing = standingOn(familyOf(own), 99);
    const expected = expectationsOf(standing, { lastDay: 98, age: 1, value: 300 }, () => null);
    const projection = projected(expected, score?.choice ?? { method: 'none', width: 1 });
    expect(projection?.value).toBeCloseTo(1000, -2);
    expect(projection?.low).toBeLessThan(projection?.value ?? 0);
    expect(projection?.high).toBeGreaterThan(projection?.value ?? 0);
    expect(projection?.cohorts).toBeGreaterThan(80);
  });
});
