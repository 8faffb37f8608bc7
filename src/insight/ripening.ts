/**
 * How totals grow until they are final: how much of them is known at each age, what to expect of those that are not final (the chain
 * ladder), and how well that would have done (the backtest); pure.
 */

import { chanceOfAtMost } from '../model/sampling.ts';

/** One period of one metric. An age is in days from the period's last day to the fetch, in the slice's offset. */
export interface Cohort {
  /** The period's last day, in days since 1970. */
  readonly lastDay: number;
  /** The totals found before the value was final, by age, ascending. */
  readonly readings: ReadonlyMap<number, number>;
  /** The totals found since, ascending by age: the first, and each that differs from the one before. */
  readonly finals: readonly { readonly age: number; readonly value: number }[];
}

/** The development triangle of one metric, oldest period first. */
export type Development = readonly Cohort[];

/** The final total as it was known on a day, in days since 1970; null where none was. */
function finalOn({ lastDay, finals }: Cohort, day: number): number | null {
  return finals.findLast(({ age }) => lastDay + age <= day)?.value ?? null;
}

/** The final total as it is known now; null while it matures. */
export function finalOf({ finals }: Cohort): number | null {
  return finals.at(-1)?.value ?? null;
}

/** The periods that became final after an earlier fetch: only these tell how values mature. */
export function maturedOf(development: Development): Development {
  return development.filter(({ readings, finals }) => readings.size > 0 && finals.length > 0);
}

/** The middle of some numbers, null of none. */
export function median(values: readonly number[]): number | null {
  return quantile(values, 0.5);
}

/**
 * The quantile of some numbers with linear interpolation between neighbours, null of none (Hyndman and Fan 1996, "Sample
 * quantiles in statistical packages", definition 7).
 */
export function quantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below === undefined || above === undefined ? null : below + (above - below) * (at - Math.floor(at));
}

/** How much was known at an age, as a share of the final total: quartiles over final periods, never over others. */
export interface KnownShare {
  readonly age_days: number;
  readonly periods: number;
  readonly share_q25: number;
  readonly share_median: number;
  readonly share_q75: number;
}

/** With fewer final periods a quartile is a single value or next to it: nothing is said of an age. */
export const FEWEST_PERIODS = 8;

/** The shares at each of some ages, in their order; an age with fewer than eight final periods is left out. */
export function maturationOf(development: Development, ages: readonly number[]): KnownShare[] {
  return ages.flatMap((age): KnownShare[] => {
    const shares = development.flatMap((cohort) => {
      const [value, final] = [cohort.readings.get(age), finalOf(cohort) ?? 0];
      return value === undefined || final <= 0 ? [] : [value / final];
    });
    if (shares.length < FEWEST_PERIODS) return [];
    const at = (share: number): number => quantile(shares, share) ?? 0;
    return [{ age_days: age, periods: shares.length, share_q25: at(0.25), share_median: at(0.5), share_q75: at(0.75) }];
  });
}

/** By what a total is to be multiplied to expect its final total. */
interface Factor {
  readonly value: number;
  /** The fewest periods that any step of the ladder rests on. */
  readonly periods: number;
}

/** What a triangle said on a day. */
interface KnownFactors {
  /** The ages that stand for columns of the triangle, ascending. */
  readonly ages: readonly number[];
  /** By age; none of an age from which no period is known to have reached the end. */
  readonly factors: ReadonlyMap<number, Factor>;
}

/** A period as a day knew it. */
interface KnownPeriod {
  readonly lastDay: number;
  readonly firstAge: number;
  readonly finalAge: number;
  readonly final: number | null;
  /** At each age of the triangle; undefined where no fetch found one. */
  readonly totals: readonly (number | undefined)[];
}

/** An age, and where its totals stand in each period. */
interface Column {
  readonly age: number;
  readonly at: number;
}

/**
 * What a triangle said on each day, in days since 1970, from what that day knew alone: the chain ladder (Mack 1993,
 * "Distribution-free calculation of the standard error of chain ladder reserve estimates", ASTIN Bulletin 23(2)).
 */
export function standings(development: Development): (day: number) => KnownFactors {
  const ages = [...new Set(development.flatMap(({ readings }) => [...readings.keys()]))].sort((a, b) => a - b);
  const columns = ages.map((age, at): Column => ({ age, at }));
  const periods = development.map(({ lastDay, readings, finals }) => {
    const [firstAge = Infinity] = readings.keys();
    return { lastDay, firstAge, finalAge: finals[0]?.age ?? Infinity, totals: ages.map((age) => readings.get(age)) };
  });
  const made = new Map<number, KnownFactors>();
  return (day) => {
    const before = made.get(day);
    if (before !== undefined) return before;
    const finals = development.map((cohort) => finalOn(cohort, day));
    const known = periods.map((period, at): KnownPeriod => Object.assign({ final: finals[at] ?? null }, period));
    const standing = columns.filter((column) => isStanding(column, known));
    const found = { ages: standing.map(({ age }) => age), factors: factorsOf(standing, known, day) };
    made.set(day, found);
    return found;
  };
}

/**
 * Whether at least half of the final periods that could be fetched at this age, between their first fetch and the one that
 * found them final, were: other ages are those of nights that came late.
 */
function isStanding({ age, at }: Column, known: readonly KnownPeriod[]): boolean {
  const possible = known.filter(({ final, firstAge, finalAge }) => final !== null && firstAge <= age && age < finalAge);
  const read = possible.filter(({ totals }) => totals[at] !== undefined);
  return read.length > 0 && 2 * read.length >= possible.length;
}

function factorsOf(columns: readonly Column[], known: readonly KnownPeriod[], day: number): Map<number, Factor> {
  const factors = new Map<number, Factor>();
  let [value, periods] = [1, Infinity];
  for (const [index, column] of [...columns.entries()].reverse()) {
    const step = stepOf(column, columns[index + 1], known, day);
    value *= step.factor;
    periods = Math.min(periods, step.periods);
    if (!(value > 0)) break;
    factors.set(column.age, { value, periods });
  }
  return factors;
}

/** How totals grew from a column to the next, or to the end. Growth from nothing has no factor. By the next age a total may be final already. */
function stepOf({ age, at }: Column, next: Column | undefined, known: readonly KnownPeriod[], day: number) {
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

/** What the interval is to cover. */
const COVERED_SHARE = 0.8;
/** An interval that covered less is not shown. */
const LEAST_COVERAGE = 0.6;
/** An interval whose upper end is further above the value says too little to go by. */
const FURTHEST_REACH = 1.5;
/** A projection that is no better comes nearer as often as not; more wins than that by chance are this rare. */
const MOST_CHANCE = 0.05;
/** So many of the newest final periods are tried: a quarter of a year of days, as older ones say little of tomorrow. */
const TRIED_PERIODS = 90;

/** What would have been projected at an age, compared with what became final. */
export interface Score {
  readonly age_days: number;
  /** Periods of which a projection could have been made on its day, from what was known then. */
  readonly cohorts: number;
  /** Medians of the distance to the final total, as a share of it; null without a cohort. */
  readonly median_abs_error: number | null;
  readonly median_abs_error_as_is: number | null;
  /** The share of final totals inside the interval that was known on their day; null with fewer than eight. */
  readonly coverage: number | null;
  readonly is_projected: boolean;
  /** The interval goes from the value over this to the value times this; null where it is not projected. */
  readonly reach: number | null;
}

/** What would have been projected of a period on the day of a fetch. */
interface Trial {
  readonly cohort: Cohort;
  readonly madeOn: number;
  readonly asIs: number;
  readonly projected: number;
  readonly final: number;
}

/**
 * The score of each age that stands for a column of a triangle, ascending. Nothing of a trial was known later than its day: not
 * the factor, not the final totals behind it, not the errors its interval rests on (Dawid 1984, "The prequential approach").
 */
export function scoresOf(development: Development, standingOn: (day: number) => KnownFactors): Score[] {
  const tried = maturedOf(development).slice(-TRIED_PERIODS);
  return standingOn(Infinity).ages.map((age) => {
    const trials = tried.flatMap((cohort): Trial[] => {
      const [madeOn, asIs, final] = [cohort.lastDay + age, cohort.readings.get(age) ?? 0, finalOf(cohort) ?? 0];
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
    covered.length < FEWEST_PERIODS ? null : covered.filter((isCovered) => isCovered).length / covered.length;
  const projected = median(trials.map((trial) => off(trial.projected, trial)));
  const asIs = median(trials.map((trial) => off(trial.asIs, trial)));
  const reach = reachOn(trials, Infinity);
  const nearer = trials.filter((trial) => off(trial.projected, trial) < off(trial.asIs, trial)).length;
  const isSound = reach !== null && reach <= FURTHEST_REACH && (coverage ?? 1) >= LEAST_COVERAGE;
  // A sign test: Diebold and Mariano 1995, "Comparing predictive accuracy", section 2.2.
  const isByChance = chanceOfAtMost(trials.length - nearer, trials.length, 0.5) > MOST_CHANCE;
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

/** How far a projection was from a final total, on the scale of logarithms. */
const missOf = ({ projected }: Trial, final: number): number => Math.abs(Math.log(final / projected));

/**
 * The reach of the interval as a day knew it: the 80 % rank of the errors of the trials whose outcome it knew, so that it is as
 * wide as the past asks for (split conformal prediction: Lei et al. 2018, "Distribution-free predictive inference for
 * regression", algorithm 2). Null with fewer than eight: only from there on is the 80 % rank one of them.
 */
function reachOn(trials: readonly Trial[], day: number): number | null {
  const misses = trials.flatMap((trial) => {
    const final = finalOn(trial.cohort, day) ?? 0;
    return final > 0 ? [missOf(trial, final)] : [];
  });
  if (misses.length < FEWEST_PERIODS) return null;
  const rank = Math.min(misses.length, Math.ceil((misses.length + 1) * COVERED_SHARE));
  return Math.exp(misses.sort((a, b) => a - b)[rank - 1] ?? Infinity);
}
