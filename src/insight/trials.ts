/**
 * Trials: what would have been projected on each past day from what was known then, against what became final; pure.
 *
 * Nothing of a trial was known later than its day: the triangle is cut there, and so is every score that a choice rests on
 * (Dawid 1984, "The prequential approach").
 */

import { climb, ladderOf, type Expected, type Ladder } from './chain-ladder.ts';
import { knownOn, valueAt, type Cohort, type Development, type Reading } from './development.ts';

/** A metric's triangle, and those of the same metric at lower cohort ages, which are final earlier. */
export interface Family {
  readonly own: Development;
  readonly lower: ReadonlyMap<string, Development>;
}

/** What was known of a triangle on a day, and the ladder it gives. */
interface Past {
  readonly ladder: Ladder;
  readonly newest: Standing['newest'];
  /** Final totals by the last day of the period. */
  readonly finals: ReadonlyMap<number, number>;
  /** The mean share of the final total that was known, by age, over final cohorts. */
  readonly shares: ReadonlyMap<number, number>;
}

/** The pasts of triangles by day: metrics of one family look at the same ones, and each is built once. */
export class Pasts {
  readonly #built = new Map<Development, Map<number, Past>>();

  /** `day` in days since 1970. */
  of(development: Development, day: number): Past {
    const days = this.#built.get(development) ?? new Map<number, Past>();
    const built = days.get(day);
    if (built !== undefined) return built;
    const known = knownOn(development, day);
    const ladder = ladderOf(known);
    const newest = known.slice(-LEVEL_COHORTS).flatMap((cohort) => shareKnown(cohort, ladder));
    // What was known itself is not kept: hundreds of days of it would be.
    const past = { ladder, newest, finals: finalsOf(known), shares: averageShares(known) };
    this.#built.set(development, days.set(day, past));
    return past;
  }
}

/** What each method expects, by its name. */
export type Expectations = ReadonlyMap<string, Expected>;

const CHAIN_LADDER = 'chain ladder';
const AVERAGE_SHARE = 'average share';
/** The method that every other has to beat. */
export const MEAN_OF_BOTH = 'mean of chain ladder and average share';
const WITH_LEVEL = 'chain ladder and level';

export interface Trial {
  readonly age: number;
  /** In days since 1970: when it was made, and when its outcome was known. */
  readonly madeOn: number;
  readonly judgedOn: number;
  readonly expected: Expectations;
  /** The total as it was, and divided by the average share of final cohorts at its age (null without one). */
  readonly asIs: number;
  readonly byAverageShare: number | null;
  readonly final: number;
}

/** Everything that is known on a day, ready to climb. */
export interface Standing {
  readonly ladder: Ladder;
  readonly shares: Past['shares'];
  /** The newest cohorts: what is known of each, and which share of its final total that should be. */
  readonly newest: readonly { readonly lastDay: number; readonly value: number; readonly share: number }[];
  readonly lower: readonly { readonly metric: string; readonly ladder: Ladder; readonly ratio: Ratio }[];
}

/** How much more a metric comes to in the end than its lower age. */
interface Ratio {
  readonly value: number;
  /** Its spread over single cohorts, as a share of it. */
  readonly spread: number;
  readonly cohorts: number;
}

/** Fewer cohorts with both finals give no ratio. */
const FEWEST_COHORTS = 3;
/** Four weeks of days: every weekday four times. */
const LEVEL_COHORTS = 28;

/** What was known of a metric and its lower ages on a day. */
export function standingOn({ own, lower }: Family, day: number, pasts = new Pasts()): Standing {
  const { finals, ...past } = pasts.of(own, day);
  const under = [...lower].flatMap(([name, development]) => {
    const { ladder, finals: below } = pasts.of(development, day);
    const ratio = ratioOf(finals, below);
    return ratio === null ? [] : [{ metric: name, ladder, ratio }];
  });
  return { ...past, lower: under };
}

function shareKnown({ lastDay, readings, final }: Cohort, ladder: Ladder): Standing['newest'] {
  const last = readings.at(-1);
  if (final !== null) return [{ lastDay, value: final.value, share: 1 }];
  const climbed = last === undefined ? null : climb(ladder, last.age, last.value);
  return last === undefined || climbed === null
    ? []
    : [{ lastDay, value: last.value, share: last.value / climbed.value }];
}

/** The ratio of the sums, and the mean square distance from it weighted by the lower total, as Mack's step has it. */
function ratioOf(own: Past['finals'], lower: Past['finals']): Ratio | null {
  const pairs: { readonly below: number; readonly above: number }[] = [];
  for (const [lastDay, above] of own) {
    const below = lower.get(lastDay) ?? 0;
    if (below > 0) pairs.push({ below, above });
  }
  const sum = pairs.reduce((total, { below }) => total + below, 0);
  const value = pairs.reduce((total, { above }) => total + above, 0) / sum;
  if (pairs.length < FEWEST_COHORTS || value <= 0) return null;
  const strayed = pairs.reduce(
    (total, { below, above }) => total + (below / sum) * (above / below / value - 1) ** 2,
    0,
  );
  return { value, spread: Math.sqrt((strayed * pairs.length) / (pairs.length - 1)), cohorts: pairs.length };
}

/**
 * What each method expects of a cohort at an age; `lowerValue` has the total of each lower metric at that age. The ladder and
 * the average share lead to the end in two ways whose errors are of one size, and their mean strays from neither by more than
 * half of what parts them (Bates and Granger 1969, "The combination of forecasts"; equal weights: Clemen 1989, "Combining
 * forecasts", section 4). One more takes what is known as it is and expects the rest from the level of the newest other
 * cohorts: where little is known, little is multiplied (Bornhuetter and Ferguson 1972, "The actuary and IBNR"; the level is
 * Stanard's Cape Cod: the sum of what is known over the sum of the shares that should be).
 */
export function expectationsOf(
  { ladder, shares, newest, lower }: Standing,
  { lastDay, age, value }: Reading & Pick<Cohort, 'lastDay'>,
  lowerValue: (metric: string) => number | null,
): Expectations {
  const expected = new Map<string, Expected>();
  const own = climb(ladder, age, value);
  if (own !== null) {
    expected.set(CHAIN_LADDER, own);
    const share = shares.get(age);
    if (share !== undefined && share > 0) {
      expected.set(AVERAGE_SHARE, { ...own, value: value / share });
      expected.set(MEAN_OF_BOTH, { ...own, value: (own.value + value / share) / 2 });
    }
    const others = newest.filter((cohort) => cohort.lastDay !== lastDay);
    const level = others.reduce((sum, each) => sum + each.value, 0) / others.reduce((sum, each) => sum + each.share, 0);
    const rest = (1 - value / own.value) * level;
    if (Number.isFinite(rest) && value + rest > 0) expected.set(WITH_LEVEL, { ...own, value: value + rest });
  }
  for (const { metric, ladder: below, ratio } of lower) {
    const from = lowerValue(metric);
    const climbed = from === null ? null : climb(below, age, from);
    if (climbed === null) continue;
    const error = Math.hypot(climbed.error, ratio.spread);
    const cohorts = Math.min(climbed.cohorts, ratio.cohorts);
    expected.set(`${CHAIN_LADDER} of ${metric}`, { value: climbed.value * ratio.value, error, cohorts });
  }
  return expected;
}

/** So many of the newest final cohorts are tried: a quarter of a year of days, as older trials say little of tomorrow. */
export const TRIED_COHORTS = 90;

/** The trials of the newest final cohorts: each reading above zero, in the order of days. */
export function trialsOf(family: Family, pasts = new Pasts()): Trial[] {
  const byDay = new Map<number, { readonly cohort: Cohort; readonly age: number; readonly value: number }[]>();
  const final = family.own.filter((cohort) => cohort.final !== null);
  for (const cohort of final.slice(-TRIED_COHORTS)) {
    if ((cohort.final?.value ?? 0) <= 0) continue;
    for (const { age, value } of cohort.readings) {
      if (value <= 0) continue;
      const day = cohort.lastDay + age;
      byDay.set(day, [...(byDay.get(day) ?? []), { cohort, age, value }]);
    }
  }
  const lower = new Map([...family.lower].map(([name, each]) => [name, byLastDay(each)]));
  return [...byDay]
    .sort(([one], [other]) => one - other)
    .flatMap(([day, readings]) => {
      const standing = standingOn(family, day, pasts);
      return readings.flatMap(({ cohort, age, value }): Trial[] => {
        const { lastDay, final } = cohort;
        if (final === null) return [];
        const lowerValue = (name: string): number | null => {
          const found = lower.get(name)?.get(lastDay);
          return found === undefined ? null : valueAt(found, age);
        };
        const share = standing.shares.get(age) ?? null;
        return [
          {
            age,
            madeOn: day,
            judgedOn: lastDay + final.age,
            expected: expectationsOf(standing, { lastDay, age, value }, lowerValue),
            asIs: value,
            byAverageShare: share === null ? null : value / share,
            final: final.value,
          },
        ];
      });
    });
}

export function byLastDay(development: Development): Map<number, Cohort> {
  return new Map(development.map((cohort) => [cohort.lastDay, cohort]));
}

function finalsOf(known: Development): Map<number, number> {
  return new Map(known.flatMap(({ lastDay, final }) => (final === null ? [] : [[lastDay, final.value]])));
}

function averageShares(known: Development): Map<number, number> {
  const sums = new Map<number, { sum: number; count: number }>();
  for (const { readings, final } of known) {
    if (final === null || final.value <= 0) continue;
    for (const { age, value } of readings) {
      const { sum, count } = sums.get(age) ?? { sum: 0, count: 0 };
      sums.set(age, { sum: sum + value / final.value, count: count + 1 });
    }
  }
  return new Map([...sums].flatMap(([age, { sum, count }]) => (sum <= 0 ? [] : [[age, sum / count]])));
}
