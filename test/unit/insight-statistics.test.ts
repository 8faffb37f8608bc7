/** The statistics of how values ripen, on triangles whose answers are known: published, made by a rule, or by chance. */

import { describe, expect, test } from 'vitest';

import { type Cohort, horizonEvidence, totalOfNight } from '../../src/insight/development.ts';
import {
  type Development,
  ladderOf,
  maturationOf,
  projectionOf,
  quantiles,
  scoresOf,
  type Score,
} from '../../src/insight/ripening.ts';
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

type Triangle = Development[number];

function cohortOf(values: readonly number[], lastDay: number): Triangle {
  const maturing = new Map(
    values.slice(0, FINAL_AGE - 1).map((value, index) => [index + 1, value]),
  );
  const final = values[FINAL_AGE - 1];
  return {
    lastDay,
    maturing,
    finals: final === undefined ? [] : [{ age: FINAL_AGE, value: final }],
  };
}

const now = (development: Development) => ladderOf(development)(Infinity);

describe('the factor to the final total', () => {
  test('is that of the chain ladder that Mack (1993) publishes', () => {
    const factors = now(published.map(cohortOf));
    const ladder = [3.491, 1.747, 1.457, 1.174, 1.104, 1.086, 1.054, 1.077, 1.018];
    for (const at of ladder.keys()) {
      const climb = ladder.slice(at).reduce((product, factor) => product * factor, 1);
      expect(factors.get(at + 1)?.value).toBeCloseTo(climb, 1);
    }
    expect(factors.get(1)?.periods).toBe(1);
  });

  test('is none where no period is final', () => {
    expect(now(published.slice(1).map(cohortOf)).size).toBe(0);
  });
});

test('quantiles lie between neighbours: 1, 2, 3, 10 have the quartiles 1.75, 2.5 and 4.75', () => {
  expect(quantiles([10, 1, 3, 2], [0.25, 0.5, 0.75])).toEqual([1.75, 2.5, 4.75]);
});

/** Periods whose known share at ages 1 and 3 scatters around 0.3 and 0.8, final at age 8. */
function scattered(periods: number, spread: number, seed: number): Triangle[] {
  return Array.from({ length: periods }, (_, at) => {
    const chance = (salt: number): number => fraction(mix(mix(seed, salt), at)) - 0.5;
    const final = 1000 * (1 + 0.4 * chance(1));
    const shareOf = (share: number, salt: number): number =>
      final * share * (1 + spread * chance(salt));
    const maturing = new Map([
      [1, shareOf(0.3, 2)],
      [3, shareOf(0.8, 3)],
    ]);
    return { lastDay: at, maturing, finals: at + 8 < periods ? [{ age: 8, value: final }] : [] };
  });
}

describe('maturation', () => {
  test('knows 30 % and 80 % at ages 1 and 3 of 52 final periods, and counts none of 8 unfinal ones', () => {
    const [one, three] = maturationOf(scattered(60, 0.1, 1));
    expect([one?.age_days, one?.periods, three?.age_days, three?.periods]).toEqual([1, 52, 3, 52]);
    expect(one?.share_median).toBeCloseTo(0.3, 2);
    expect(three?.share_median).toBeCloseTo(0.8, 1);
    expect(
      (one?.share_q25 ?? 1) < (one?.share_median ?? 0) &&
        (one?.share_median ?? 1) < (one?.share_q75 ?? 0),
    ).toBe(true);
  });

  test('says nothing with 7 final periods, and does with 8 beside 60 that were final when they were first loaded', () => {
    const loadedFinal = scattered(60, 0.1, 2).map((cohort): Triangle => {
      return {
        lastDay: cohort.lastDay - 60,
        maturing: new Map(),
        finals: [{ age: 20, value: 1000 }],
      };
    });
    expect(maturationOf([...loadedFinal, ...scattered(15, 0.1, 1)])).toEqual([]);
    expect(
      maturationOf([...loadedFinal, ...scattered(16, 0.1, 1)]).map(({ periods }) => periods),
    ).toEqual([8, 8]);
  });
});

const scores = (own: Development): Score[] => scoresOf(own, ladderOf(own));
const changed = (
  own: readonly Triangle[],
  change: (cohort: Triangle) => Partial<Triangle>,
): Triangle[] => own.map((cohort) => Object.assign({}, cohort, change(cohort)));

describe('the backtest', () => {
  test('covers 70 to 90 % of 90 final totals, and comes nearer than the values as they are', () => {
    for (const score of scores(scattered(200, 0.2, 3))) {
      expect(score.cohorts).toBeGreaterThan(70);
      expect(score.coverage).toBeGreaterThan(0.7);
      expect(score.coverage).toBeLessThan(0.9);
      expect(score.median_abs_error).toBeLessThan((score.median_abs_error_as_is ?? 0) / 2);
      expect(score.basis).toBe('ladder');
      expect(score.reach).toBeGreaterThan(1);
    }
  });

  test('knows no more than its day: totals that all rise by 13.8 % at age 40, long final, are 12 % off, not 0', () => {
    const steady = scattered(90, 0, 2);
    const risen = changed(steady, ({ finals }) => {
      return {
        finals: finals.flatMap(({ value }) => [
          { age: 8, value },
          { age: 40, value: value * 1.138 },
        ]),
      };
    });
    expect(scores(steady)[0]?.median_abs_error).toBeCloseTo(0, 6);
    // The day a trial was made knew the risen totals of the oldest alone.
    const oldest = risen.filter(({ lastDay }) => lastDay < 40);
    expect(scores(oldest)[0]?.median_abs_error).toBeCloseTo(1 - 1 / 1.138, 3);
  });

  test('does not project with 7 periods that could have been, or where the interval reaches far', () => {
    expect(scores(scattered(22, 0.1, 4)).map(({ reach }) => reach)).toEqual([
      null,
      expect.any(Number),
    ]);
    expect(scores(scattered(22, 0.1, 4))[0]).toMatchObject({
      cohorts: 7,
      basis: 'too little history',
    });
    const wild = changed(scattered(100, 1.9, 4), ({ lastDay, finals }) => {
      return {
        finals: finals.map(({ age }) => ({ age, value: 10 ** (4 * fraction(mix(7, lastDay))) })),
      };
    });
    expect(scores(wild).map(({ reach, basis }) => [reach, basis])).toEqual([
      [null, 'too uncertain'],
      [null, 'too uncertain'],
    ]);
  });

  test('does not project where the world changed its ways and the interval held less than 60 %', () => {
    const drifting = changed(scattered(60, 0.02, 5), ({ lastDay, finals }) => {
      return {
        finals: finals.map(({ age, value }) => ({
          age,
          value: value * Math.exp(0.0005 * lastDay ** 1.5),
        })),
      };
    });
    const [first] = scores(drifting);
    expect(first?.coverage).toBeLessThan(0.6);
    expect(first?.reach).toBeNull();
  });
});

describe('a projection', () => {
  const own = scattered(200, 0.1, 3);
  const scored = new Map(scores(own).map((score) => [score.age_days, score]));
  const project = (
    cohort: Partial<Triangle> | undefined,
    age: number,
    total = cohort?.maturing?.get(age) ?? null,
  ) =>
    projectionOf(
      cohort && { lastDay: 200, maturing: new Map(), finals: [], ...cohort },
      { age, total },
      now(own),
      scored,
    );

  test('of a period loaded at age 1 with 300 that has 800 at age 3 leads from what was loaded to what 800 will be', () => {
    const maturing = new Map([
      [1, 300],
      [3, 800],
    ]);
    const early = project({ maturing }, 1);
    const late = project({ maturing }, 3);
    expect(early).toMatchObject({ basis: 'ladder', age_days: 3 });
    expect(early?.factor).toBeCloseTo(((late?.factor ?? 0) * 800) / 300, 9);
    expect((early?.factor ?? 0) * 300).toBeCloseTo(1000, -2);
  });

  test('says why there is none: no total, none on the night it was loaded, an age without history', () => {
    expect(project(undefined, 1)).toMatchObject({ basis: 'total of 0', factor: null });
    expect(project({ maturing: new Map([[1, 0]]) }, 1)).toMatchObject({ basis: 'total of 0' });
    expect(project({ maturing: new Map([[3, 800]]) }, 1)).toBeNull();
    expect(project({ maturing: new Map([[2, 500]]) }, 2)).toMatchObject({
      basis: 'too little history',
      factor: null,
    });
  });

  test('of a final total that is not loaded yet is that total', () => {
    const finals = [{ age: 8, value: 1200 }];
    expect(project({ maturing: new Map([[1, 300]]), finals }, 1)).toMatchObject({
      basis: 'stated',
      age_days: 8,
      factor: 4,
      factor_low: 4,
      factor_high: 4,
    });
  });
});

describe('the total of the night of a load', () => {
  const hour = 3600;
  const [early, late] = [
    { seconds: 3 * hour, value: 300 },
    { seconds: 27 * hour, value: 500 },
  ];
  const readings = [3 * hour, 9 * hour, 27 * hour, 75 * hour];
  const totalAt = (hours: number) =>
    totalOfNight({ readings, changes: [early, late] }, hours * hour);

  test('is that of the nearest reading, whether it was shortly before or after, and none of another night', () => {
    expect([2.9, 3.1, 8, 26, 28].map(totalAt)).toEqual([300, 300, 300, 500, 500]);
    expect([51, 62, 88].map(totalAt)).toEqual([null, null, null]);
    expect(totalAt(76)).toBe(500);
  });

  test('is not known of rows that were computed before the period ended, and 0 if nothing was stated', () => {
    expect(totalAt(-1)).toBeNull();
    expect(totalOfNight({ readings, changes: [late] }, 3 * hour)).toBe(0);
  });
});

/** Periods that were read at every age and changed last at one; the first so many at another. */
const changing = (periods: number, changedAge: number, others = 0, otherAge = 0): Cohort[] =>
  Array.from({ length: periods }, (_, at) => {
    const changed = at < others ? otherAge : changedAge;
    const finals = [{ age: 8, value: 1 }].concat(changed > 8 ? [{ age: changed, value: 2 }] : []);
    return {
      firstDay: at,
      lastDay: at,
      maturing: new Map(),
      finals,
      firstAge: 1,
      lastAge: 60,
      changed: { from: changed - 1, to: changed },
      readings: [],
      changes: [],
    };
  });

describe('the horizon that the history supports', () => {
  test('is 3 days for 30 periods that last changed at age 4, which leave 4 of 7 days quiet; 29 say nothing', () => {
    expect(horizonEvidence(changing(30, 4), 7)).toMatchObject({
      supported_days: 3,
      supported_periods: 30,
      supported_moved: 0,
      final_moved: 0,
      last_moved_day: null,
    });
    expect(horizonEvidence(changing(29, 4), 7).supported_days).toBeNull();
  });

  test('is 11 days where 7 let 40 of 40 final totals move, and the same if the metric was never final', () => {
    expect(horizonEvidence(changing(40, 12), 7)).toMatchObject({
      final_periods: 40,
      final_moved: 40,
      last_moved_day: '1970-02-21',
      last_change_age: 12,
      supported_days: 11,
    });
    expect(horizonEvidence(changing(40, 12), null).supported_days).toBe(11);
  });

  test('is not made longer by a correction of 2 of 40 periods, and not shorter than the day of one', () => {
    const corrected = changing(40, 4, 2, 30);
    expect(horizonEvidence(corrected, 7)).toMatchObject({
      supported_days: 7,
      supported_moved: 2,
      final_moved: 2,
    });
    expect(horizonEvidence(changing(40, 4, 1, 6), 7).supported_days).toBe(5);
  });
});
