/** The statistics of how values ripen, on triangles whose answers are known: published, made by a rule, or by chance. */

import { describe, expect, test } from 'vitest';

import {
  type Cohort,
  type Development,
  maturationOf,
  quantile,
  scoresOf,
  type Score,
  standings,
} from '../../src/insight/ripening.ts';
import { horizonEvidence, proposedHorizonDays, type Look } from '../../src/model/sampling.ts';
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

function cohortOf(values: readonly number[], lastDay: number): Cohort {
  const readings = new Map(
    values.slice(0, FINAL_AGE - 1).map((value, index) => [index + 1, value]),
  );
  const final = values[FINAL_AGE - 1];
  return {
    lastDay,
    readings,
    finals: final === undefined ? [] : [{ age: FINAL_AGE, value: final }],
  };
}

const now = (development: Development) => standings(development)(Infinity);

describe('the factor to the final total', () => {
  test('is that of the chain ladder that Mack (1993) publishes', () => {
    const { factors } = now(published.map(cohortOf));
    const ladder = [3.491, 1.747, 1.457, 1.174, 1.104, 1.086, 1.054, 1.077, 1.018];
    for (const at of ladder.keys()) {
      const climb = ladder.slice(at).reduce((product, factor) => product * factor, 1);
      expect(factors.get(at + 1)?.value).toBeCloseTo(climb, 1);
    }
    expect(factors.get(1)?.periods).toBe(1);
  });

  test('is none where no period is final', () => {
    expect(now(published.slice(1).map(cohortOf)).factors.size).toBe(0);
  });

  test('is not made of a night that came late: 1 of 10 periods read at age 5.5 instead of 5', () => {
    const all = Array.from({ length: 10 }, (_, at) => cohortOf(published[0] ?? [], at));
    const odd = new Map([...(all[3]?.readings ?? []), [5.5, 1]]);
    const late = all.map((cohort) =>
      cohort.lastDay === 3 ? { lastDay: 3, readings: odd, finals: cohort.finals } : cohort,
    );
    expect(now(late).ages).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

test('quantiles lie between neighbours: 1, 2, 3, 10 have the quartiles 1.75, 2.5 and 4.75', () => {
  expect([0.25, 0.5, 0.75].map((share) => quantile([10, 1, 3, 2], share))).toEqual([
    1.75, 2.5, 4.75,
  ]);
  expect(quantile([], 0.5)).toBeNull();
});

/** Periods whose known share at ages 1 and 3 scatters around 0.3 and 0.8, final at age 8. */
function scattered(periods: number, spread: number, seed: number): Cohort[] {
  return Array.from({ length: periods }, (_, at) => {
    const chance = (salt: number): number => fraction(mix(mix(seed, salt), at)) - 0.5;
    const final = 1000 * (1 + 0.4 * chance(1));
    const shareOf = (share: number, salt: number): number =>
      final * share * (1 + spread * chance(salt));
    const readings = new Map([
      [1, shareOf(0.3, 2)],
      [3, shareOf(0.8, 3)],
    ]);
    return { lastDay: at, readings, finals: at + 8 < periods ? [{ age: 8, value: final }] : [] };
  });
}

const known = (development: Development) => maturationOf(development, now(development).ages);

describe('maturation', () => {
  test('knows 30 % and 80 % at ages 1 and 3 of 52 final periods, and counts none of 8 unfinal ones', () => {
    const [one, three] = known(scattered(60, 0.1, 1));
    expect([one?.age_days, one?.periods, three?.age_days, three?.periods]).toEqual([1, 52, 3, 52]);
    expect(one?.share_median).toBeCloseTo(0.3, 2);
    expect(three?.share_median).toBeCloseTo(0.8, 1);
    expect(
      (one?.share_q25 ?? 1) < (one?.share_median ?? 0) &&
        (one?.share_median ?? 1) < (one?.share_q75 ?? 0),
    ).toBe(true);
  });

  test('says nothing with 7 final periods, and does with 8 beside 60 that were final when they were first loaded', () => {
    const loadedFinal = scattered(60, 0.1, 2).map((cohort): Cohort => {
      return {
        lastDay: cohort.lastDay - 60,
        readings: new Map(),
        finals: [{ age: 20, value: 1000 }],
      };
    });
    expect(known([...loadedFinal, ...scattered(15, 0.1, 1)])).toEqual([]);
    expect(known([...loadedFinal, ...scattered(16, 0.1, 1)]).map(({ periods }) => periods)).toEqual(
      [8, 8],
    );
  });
});

const scores = (own: Development): Score[] => scoresOf(own, standings(own));
const changed = (own: readonly Cohort[], change: (cohort: Cohort) => Partial<Cohort>): Cohort[] =>
  own.map((cohort) => Object.assign({}, cohort, change(cohort)));

describe('the backtest', () => {
  test('covers 70 to 90 % of 90 final totals, and comes nearer than the values as they are', () => {
    for (const score of scores(scattered(200, 0.2, 3))) {
      expect(score.cohorts).toBeGreaterThan(70);
      expect(score.coverage).toBeGreaterThan(0.7);
      expect(score.coverage).toBeLessThan(0.9);
      expect(score.median_abs_error).toBeLessThan((score.median_abs_error_as_is ?? 0) / 2);
      expect(score.is_projected).toBe(true);
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
    expect(scores(scattered(22, 0.1, 4))[0]?.cohorts).toBe(7);
    const wild = changed(scattered(100, 1.9, 4), ({ lastDay, finals }) => {
      return {
        finals: finals.map(({ age }) => ({ age, value: 10 ** (4 * fraction(mix(7, lastDay))) })),
      };
    });
    expect(scores(wild).map(({ reach }) => reach)).toEqual([null, null]);
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

  test('leaves a value that only trembles as it is', () => {
    const still = changed(scattered(100, 0.1, 6), ({ lastDay, finals: [final] }) => {
      return { readings: new Map([[1, (final?.value ?? 1000) * (0.99 + 0.02 * (lastDay % 2))]]) };
    });
    const [score] = scores(still);
    expect(score?.is_projected).toBe(false);
  });
});

/** So many looks alike. */
const looks = (times: number, from: number, to: number, hasChanged = false): Look[] =>
  Array.from({ length: times }, () => ({ from, to, hasChanged }));

describe('when a metric changed last', () => {
  const seen = [...looks(20, 3, 10, true), ...looks(1, 10, 11, true)];

  test('is age 11, and 12 days are proposed once 8 later looks found nothing', () => {
    expect(horizonEvidence([...seen, ...looks(8, 10, 20)])).toEqual({
      lastChangeAge: 11,
      laterLooks: 8,
    });
    expect(proposedHorizonDays(horizonEvidence([...seen, ...looks(8, 10, 20)]))).toBe(12);
    expect(proposedHorizonDays(horizonEvidence([...seen, ...looks(7, 10, 20)]))).toBeNull();
  });

  test('is confirmed neither by looks that end with it nor by such as begin 3 days after it', () => {
    expect(horizonEvidence([...seen, ...looks(9, 4, 11), ...looks(9, 14, 30)]).laterLooks).toBe(0);
    expect(horizonEvidence([...seen, ...looks(9, 13, 30)]).laterLooks).toBe(9);
  });

  test('is unknown of a metric that changed at no look, and never confirmed of one that changed at every look', () => {
    expect(horizonEvidence(looks(90, 1, 30))).toEqual({ lastChangeAge: null, laterLooks: 0 });
    expect(
      proposedHorizonDays(horizonEvidence([...looks(20, 8, 21, true), ...looks(20, 21, 43, true)])),
    ).toBeNull();
  });
});
