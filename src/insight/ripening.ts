/**
 * How totals grow until they are final, the final total to expect (chain ladder), and how good such projections would have been
 * (backtest). Pure.
 */

import { chanceOfAtMost } from '../model/sampling.ts';

/** One period of one metric. An age is the number of days from the period's last day to the fetch, in the slice's offset. */
export interface Cohort {
  /** The period's last day, in days since 1970. */
  readonly lastDay: number;
  /** Totals before the value was final, by age, ascending. */
  readonly readings: ReadonlyMap<number, number>;
  /** Totals since the value is final, by age, ascending: the first, and each that differs from the one before. */
  readonly finals: readonly { readonly age: number; readonly value: number }[];
}

/** The development triangle of one metric, oldest period first. */
export type Development = readonly Cohort[];

/** The final total as it was known on a day (in days since 1970); null if none was. */
function finalOn({ lastDay, finals }: Cohort, day: number): number | null {
  return finals.findLast(({ age }) => lastDay + age <= day)?.value ?? null;
}

/** Returns the final total as it is known now; null while it matures. */
const finalOf = ({ finals }: Cohort): number | null => finals.at(-1)?.value ?? null;

export const median = (values: readonly number[]): number | null => quantile(values, 0.5);

/**
 * Returns a quantile of some numbers, linearly interpolated between neighbours; null if there are none (Hyndman and Fan 1996,
 * "Sample quantiles in statistical packages", definition 7).
 */
export function quantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below === undefined || above === undefined
    ? null
    : below + (above - below) * (at - Math.floor(at));
}

/** With fewer final periods, a quartile is a single value or next to one: such an age is left out. */
export const MIN_PERIODS = 8;

/**
 * Returns how much of the final total was known at some ages, in their order: quartiles of shares, over final periods only.
 * Leaves out an age with fewer than eight of them.
 */
export function maturationOf(development: Development, ages: readonly number[]) {
  return ages.flatMap((age) => {
    const shares = development.flatMap((cohort) => {
      const [value, final] = [cohort.readings.get(age), finalOf(cohort) ?? 0];
      return value === undefined || final <= 0 ? [] : [value / final];
    });
    if (shares.length < MIN_PERIODS) return [];
    const at = (share: number): number => quantile(shares, share) ?? 0;
    const quartiles = { share_q25: at(0.25), share_median: at(0.5), share_q75: at(0.75) };
    return [{ age_days: age, periods: shares.length, ...quartiles }];
  });
}

interface Factor {
  readonly value: number;
  /** The smallest number of periods behind any step of the ladder. */
  readonly periods: number;
}

interface KnownFactors {
  /** The ages of the triangle's columns, ascending. */
  readonly ages: readonly number[];
  /** By age; an age is missing if no period is known to have become final from there. */
  readonly factors: ReadonlyMap<number, Factor>;
}

interface KnownPeriod {
  readonly lastDay: number;
  readonly firstAge: number;
  readonly finalAge: number;
  readonly final: number | null;
  /** One for each age of the triangle; undefined without a fetch at that age. */
  readonly totals: readonly (number | undefined)[];
}

/** An age, and the index of its total in `totals`. */
interface Column {
  readonly age: number;
  readonly at: number;
}

/**
 * Returns a function from a day (in days since 1970) to what was known of a triangle on it: the chain ladder (Mack 1993,
 * "Distribution-free calculation of the standard error of chain ladder reserve estimates", ASTIN Bulletin 23(2)).
 */
export function standings(development: Development): (day: number) => KnownFactors {
  const read = new Set(development.flatMap(({ readings }) => [...readings.keys()]));
  const ages = [...read].sort((a, b) => a - b);
  const columns = ages.map((age, at): Column => ({ age, at }));
  const periods = development.map(({ lastDay, readings, finals }) => {
    const [firstAge = Infinity] = readings.keys();
    const finalAge = finals[0]?.age ?? Infinity;
    return { lastDay, firstAge, finalAge, totals: ages.map((age) => readings.get(age)) };
  });
  const made = new Map<number, KnownFactors>();
  return (day) => {
    const before = made.get(day);
    if (before !== undefined) return before;
    const finals = development.map((cohort) => finalOn(cohort, day));
    const known = periods.map((period, at): KnownPeriod =>
      Object.assign({ final: finals[at] ?? null }, period),
    );
    // At the other ages, fewer than half of the final periods that could be fetched were: they are those of late runs.
    const standing = columns.filter(({ age, at }) => {
      const possible = known.filter(
        ({ final, firstAge, finalAge }) => final !== null && firstAge <= age && age < finalAge,
      );
      const fetched = possible.filter(({ totals }) => totals[at] !== undefined);
      return fetched.length > 0 && 2 * fetched.length >= possible.length;
    });
    const factors = new Map<number, Factor>();
    let [value, fewest] = [1, Infinity];
    for (const [index, column] of [...standing.entries()].reverse()) {
      const step = stepOf(column, standing[index + 1], known, day);
      value *= step.factor;
      fewest = Math.min(fewest, step.periods);
      if (!(value > 0)) break;
      factors.set(column.age, { value, periods: fewest });
    }
    const standingNow = { ages: standing.map(({ age }) => age), factors };
    made.set(day, standingNow);
    return standingNow;
  };
}

/** How totals grew from a column to the next, or to the final total if it is found by then. Skips totals of 0 or less. */
function stepOf(
  { age, at }: Column,
  next: Column | undefined,
  known: readonly KnownPeriod[],
  day: number,
) {
  let [from, to, periods] = [0, 0, 0];
  for (const { lastDay, finalAge, final, totals } of known) {
    if (lastDay + age > day) break;
    const total = totals[at] ?? 0;
    const read = next !== undefined && lastDay + next.age <= day ? totals[next.at] : undefined;
    const later = read ?? (next === undefined || finalAge <= next.age ? final : null);
    if (later === null || total <= 0) continue;
    from += total;
    to += later;
    periods += 1;
  }
  return { factor: to / from, periods };
}

/** The share of final totals that the interval should cover. */
const COVERED_SHARE = 0.8;
/** An interval that covered less is not reported. */
const MIN_COVERAGE = 0.6;
/** An interval whose upper end is further above the projection says too little to be useful. */
const FURTHEST_REACH = 1.5;
/** Significance level of the sign test: by chance alone, the projection is nearer than the current total half of the time. */
const MAX_CHANCE = 0.05;
/** Number of newest final periods to try: a quarter of a year of days, since older ones say little about tomorrow. */
const TRIED_PERIODS = 90;

/** What would have been projected at an age, compared with the final totals. */
export interface Score {
  readonly age_days: number;
  /** Number of periods for which a projection could have been made at that age, from what was known then. */
  readonly cohorts: number;
  /** Median errors of the projection and of the total as it was, as shares of the final total; null without a cohort. */
  readonly median_abs_error: number | null;
  readonly median_abs_error_as_is: number | null;
  /** Share of final totals inside the interval known on the day of the projection; null with fewer than eight. */
  readonly coverage: number | null;
  readonly is_projected: boolean;
  /** The interval is from the projection divided by this to the projection times this; null if `is_projected` is false. */
  readonly reach: number | null;
}

/** What would have been projected for a period on the day of a fetch. */
interface Trial {
  readonly cohort: Cohort;
  readonly madeOn: number;
  readonly asIs: number;
  readonly projected: number;
  readonly final: number;
}

/**
 * Returns the score of each column of a triangle, by age, ascending. A trial uses only what was known on its day: for the
 * factor, the final totals behind it, and the errors behind its interval (Dawid 1984, "The prequential approach").
 */
export function scoresOf(
  development: Development,
  standingOn: (day: number) => KnownFactors,
): Score[] {
  // Only periods that became final after an earlier fetch show how values mature.
  const matured = development.filter(
    ({ readings, finals }) => readings.size > 0 && finals.length > 0,
  );
  const tried = matured.slice(-TRIED_PERIODS);
  return standingOn(Infinity).ages.map((age) => {
    const trials = tried.flatMap((cohort): Trial[] => {
      const madeOn = cohort.lastDay + age;
      const [asIs, final] = [cohort.readings.get(age) ?? 0, finalOf(cohort) ?? 0];
      const factor = standingOn(madeOn).factors.get(age);
      if (factor === undefined || asIs <= 0 || final <= 0) return [];
      return [{ cohort, madeOn, asIs, projected: asIs * factor.value, final }];
    });
    return scoreOf(age, trials);
  });
}

function scoreOf(age: number, trials: readonly Trial[]): Score {
  const off = (value: number, { final }: Trial): number => Math.abs(value / final - 1);
  const covered = trials.flatMap((trial) => {
    const reach = reachOn(trials, trial.madeOn);
    return reach === null ? [] : [missOf(trial, trial.final) <= Math.log(reach)];
  });
  const coverage =
    covered.length < MIN_PERIODS
      ? null
      : covered.filter((isCovered) => isCovered).length / covered.length;
  const projected = median(trials.map((trial) => off(trial.projected, trial)));
  const asIs = median(trials.map((trial) => off(trial.asIs, trial)));
  const reach = reachOn(trials, Infinity);
  const nearer = trials.filter(
    (trial) => off(trial.projected, trial) < off(trial.asIs, trial),
  ).length;
  const isSound = reach !== null && reach <= FURTHEST_REACH && (coverage ?? 1) >= MIN_COVERAGE;
  // A sign test: Diebold and Mariano 1995, "Comparing predictive accuracy", section 2.2.
  const isByChance = chanceOfAtMost(trials.length - nearer, trials.length, 0.5) > MAX_CHANCE;
  const isProjected = isSound && (projected ?? 0) <= (asIs ?? 0) && !isByChance;
  return {
    age_days: age,
    cohorts: trials.length,
    median_abs_error: projected,
    median_abs_error_as_is: asIs,
    coverage,
    is_projected: isProjected,
    reach: isProjected ? reach : null,
  };
}

/** The distance of a projection from a final total, on a logarithmic scale. */
const missOf = ({ projected }: Trial, final: number): number =>
  Math.abs(Math.log(final / projected));

/**
 * The reach of the interval as known on a day: the 80 % rank of the errors of the trials whose final total was known then; null
 * if there are fewer than eight (split conformal prediction: Lei et al. 2018, "Distribution-free predictive inference for
 * regression", algorithm 2).
 */
function reachOn(trials: readonly Trial[], day: number): number | null {
  const misses = trials.flatMap((trial) => {
    const final = finalOn(trial.cohort, day) ?? 0;
    return final > 0 ? [missOf(trial, final)] : [];
  });
  if (misses.length < MIN_PERIODS) return null;
  const rank = Math.min(misses.length, Math.ceil((misses.length + 1) * COVERED_SHARE));
  return Math.exp(misses.sort((a, b) => a - b)[rank - 1] ?? Infinity);
}
