/**
 * Trials: what would have been projected on each past day from what was known then, against what became final; pure.
 *
 * Nothing of a trial was known later than its day: the triangle is cut there, and so is every score that a choice rests on
 * (Dawid 1984, "The prequential approach").
 */

import { climb, ladderOn, type Expected, type Ladder } from './chain-ladder.ts';
import { columnsOf, isFinalOn, reached, type Columns } from './columns.ts';
import { valueAt, type Cohort, type Development, type Reading } from './development.ts';

/** A metric's triangle, and those of the same metric at lower cohort ages, which are final earlier. */
export interface Family {
  readonly own: Development;
  readonly lower: ReadonlyMap<string, Development>;
}

/** What was known of a triangle on a day, and the ladder it gives. */
interface Past {
  readonly columns: Columns;
  readonly ladder: Ladder;
  readonly newest: Standing['newest'];
  /** The mean share of the final total that was known, by age, over final cohorts. */
  readonly shares: ReadonlyMap<number, number>;
}

/** The pasts of triangles by day: metrics of one family look at the same ones, and each is built once. */
export class Pasts {
  readonly #columns = new Map<Development, Columns>();
  readonly #built = new Map<Development, Map<number, Past>>();

  /** `day` in days since 1970. */
  of(development: Development, day: number): Past {
    const days = this.#built.get(development) ?? new Map<number, Past>();
    const built = days.get(day);
    if (built !== undefined) return built;
    const columns = this.#columns.get(development) ?? columnsOf(development);
    this.#columns.set(development, columns);
    const ladder = ladderOn(columns, day);
    const past = { columns, ladder, newest: newestOn(columns, day, ladder), shares: averageShares(columns, day) };
    this.#built.set(development, days.set(day, past));
    return past;
  }
}

/** What each method expects, by its name. */
export type Expectations = ReadonlyMap<string, Expected>;

const CHAIN_LADDER = 'chain ladder';
/** What people divide by today. */
export const AVERAGE_SHARE = 'average share';
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
  const past = pasts.of(own, day);
  const { ladder, newest, shares } = past;
  const under = [...lower].flatMap(([metric, development]) => {
    const below = pasts.of(development, day);
    const ratio = ratioOn(day, past.columns, below.columns);
    return ratio === null ? [] : [{ metric, ladder: below.ladder, ratio }];
  });
  return { ladder, newest, shares, lower: under };
}

/** The newest cohorts of which something was known, with the share of the final total that the ladder says it was. */
function newestOn(columns: Columns, day: number, ladder: Ladder): Standing['newest'] {
  const { lastDays, ages, totals, finals } = columns;
  const newest: { lastDay: number; value: number; share: number }[] = [];
  let known = 0;
  for (let at = lastDays.length - 1; at >= 0 && known < LEVEL_COHORTS; at -= 1) {
    const lastDay = lastDays[at] ?? 0;
    let [last, value] = [totals.length, Number.NaN];
    while (last > 0 && Number.isNaN(value)) {
      last -= 1;
      if (lastDay + (ages[last] ?? Infinity) <= day) value = totals[last]?.[at] ?? Number.NaN;
    }
    if (Number.isNaN(value)) continue;
    known += 1;
    if (isFinalOn(columns, at, day)) {
      newest.push({ lastDay, value: finals[at] ?? Number.NaN, share: 1 });
      continue;
    }
    const climbed = climb(ladder, ages[last] ?? 0, value);
    if (climbed !== null) newest.push({ lastDay, value, share: value / climbed.value });
  }
  return newest.reverse();
}

/** The ratio of the sums, and the mean square distance from it weighted by the lower total, as Mack's step has it. */
function ratioOn(day: number, own: Columns, lower: Columns): Ratio | null {
  const [aboves, belows]: [number[], number[]] = [[], []];
  let [sum, grown, strayed] = [0, 0, 0];
  for (let at = 0; at < own.finals.length; at += 1) {
    if (!isFinalOn(own, at, day)) continue;
    const place = lower.places.get(own.lastDays[at] ?? 0) ?? -1;
    const [above, below] = [own.finals[at] ?? Number.NaN, lower.finals[place] ?? Number.NaN];
    if (!isFinalOn(lower, place, day) || !(below > 0)) continue;
    aboves.push(above);
    belows.push(below);
    sum += below;
    grown += above;
  }
  const { length: cohorts } = belows;
  const value = grown / sum;
  if (cohorts < FEWEST_COHORTS || value <= 0) return null;
  for (let at = 0; at < cohorts; at += 1) {
    const below = belows[at] ?? 0;
    strayed += (below / sum) * ((aboves[at] ?? 0) / below / value - 1) ** 2;
  }
  return { value, spread: Math.sqrt((strayed * cohorts) / (cohorts - 1)), cohorts };
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
    const rest = (1 - value / own.value) * levelOf(newest, lastDay);
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

/** The level of the newest cohorts but one. */
function levelOf(newest: Standing['newest'], without: number): number {
  let [values, shares] = [0, 0];
  for (const { lastDay, value, share } of newest) {
    if (lastDay === without) continue;
    values += value;
    shares += share;
  }
  return values / shares;
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

function averageShares(columns: Columns, day: number): Map<number, number> {
  const averages = new Map<number, number>();
  for (const [column, shares] of columns.shares.entries()) {
    const age = columns.ages[column] ?? 0;
    const known = reached(columns, age, day);
    let [sum, count] = [0, 0];
    for (let at = 0; at < known; at += 1) {
      const share = shares[at] ?? Number.NaN;
      if (Number.isNaN(share) || !isFinalOn(columns, at, day)) continue;
      sum += share;
      count += 1;
    }
    if (sum > 0) averages.set(age, sum / count);
  }
  return averages;
}
