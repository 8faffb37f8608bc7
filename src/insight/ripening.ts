/** How totals mature, the final total to expect (chain ladder), and how good such projections would have been (backtest). Pure. */

import type { Cohort } from './development.ts';

type Triangle = Pick<Cohort, 'lastDay' | 'maturing' | 'finals'>;

/** The development triangle of one metric, oldest period first. */
export type Development = readonly Triangle[];

const finalOf = ({ finals }: Triangle) => finals.at(-1)?.value ?? 0;

function agesIn(development: Development) {
  const ages = new Set<number>();
  for (const { maturing } of development) for (const age of maturing.keys()) ages.add(age);
  return [...ages].sort((a, b) => a - b);
}

/** Interpolates between neighbours (Hyndman and Fan 1996, "Sample quantiles in statistical packages", definition 7). */
export function quantiles(values: readonly number[], shares: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort();
  return shares.flatMap((share) => {
    const at = (sorted.length - 1) * share;
    const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
    if (below === undefined || above === undefined) return [];
    return below + (above - below) * (at - Math.floor(at));
  });
}

export const median = (values: readonly number[]): number | null =>
  quantiles(values, [0.5])[0] ?? null;

/** With fewer final periods, a quartile is a single value or next to one: such an age is left out. */
export const MIN_PERIODS = 8;

export function maturationOf(development: Development) {
  return agesIn(development).flatMap((age) => {
    const shares: number[] = [];
    for (const cohort of development) {
      const [value, final] = [cohort.maturing.get(age), finalOf(cohort)];
      if (value !== undefined && final > 0) shares.push(value / final);
    }
    if (shares.length < MIN_PERIODS) return [];
    const [share_q25 = 0, share_median = 0, share_q75 = 0] = quantiles(shares, [0.25, 0.5, 0.75]);
    return [{ age_days: age, periods: shares.length, share_q25, share_median, share_q75 }];
  });
}

/** How totals grew from one age to another, as known from a day on. */
interface Growth {
  readonly day: number;
  /** Periods read at both ages, and those that were not read at the later one. */
  readonly seen: number;
  readonly missed: number;
  /** Those with a total above 0, and its sums at both ages. */
  readonly periods: number;
  readonly from: number;
  readonly to: number;
}

/** Returns by day how totals grew to a later age, or (null) to the final totals that were read by then. */
function growthOf(development: Development, age: number, later: number | null) {
  const events: Growth[] = [];
  const none = { seen: 0, missed: 0, periods: 0, from: 0, to: 0 };
  for (const { lastDay, maturing, finals } of development) {
    const total = maturing.get(age);
    if (total === undefined) continue;
    const next = later === null ? undefined : maturing.get(later);
    const final = finals[0]?.age ?? Infinity;
    const isFinal = final <= (later ?? final) && final < Infinity;
    if (next === undefined && !isFinal) {
      // That no run read the later age is known from the next reading on.
      const ages = later === null ? [] : [...maturing.keys(), final];
      const since = ages.find((read) => read > (later ?? Infinity) && read < Infinity);
      if (since !== undefined) events.push({ ...none, day: lastDay + since, missed: 1 });
      continue;
    }
    // A final total that changed counts as it was known on each day.
    const totals = next === undefined ? finals : [{ age: later ?? final, value: next }];
    for (const [index, { age: at, value }] of totals.entries()) {
      const event = { ...none, day: lastDay + at, seen: index === 0 ? 1 : 0 };
      const to = value - (totals[index - 1]?.value ?? 0);
      const sums = { periods: event.seen, from: event.seen * total, to };
      events.push(total > 0 ? { ...event, ...sums } : event);
    }
  }
  events.sort((one, other) => one.day - other.day);
  let sums: Growth = { ...none, day: 0 };
  return events.map(({ day, seen, missed, periods, from, to }) => {
    sums = {
      day,
      seen: sums.seen + seen,
      missed: sums.missed + missed,
      periods: sums.periods + periods,
      from: sums.from + from,
      to: sums.to + to,
    };
    return sums;
  });
}

function knownOn(growth: readonly Growth[], day: number) {
  let [low, high] = [0, growth.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((growth[middle]?.day ?? Infinity) <= day) low = middle + 1;
    else high = middle;
  }
  return growth[low - 1];
}

/** More days than any period is watched. */
const MAX_AGE = 100_000;

/** By age, with the least number of periods behind a step; without ages from which no period is known to have become final. */
type Factors = ReadonlyMap<number, { readonly value: number; readonly periods: number }>;

/**
 * Returns a function from a day (since 1970) to the factors known on it from each age to the final total: the chain ladder (Mack
 * 1993, "Distribution-free calculation of the standard error of chain ladder reserve estimates", ASTIN Bulletin 23(2)). A step
 * leads to the next age at which at least half of its periods were read: others are those of late runs.
 */
export function ladderOf(development: Development): (day: number) => Factors {
  const ages = agesIn(development);
  const steps = new Map<number, readonly Growth[]>();
  const known = new Map<number, Factors>();
  const factorsOn = (day: number): Factors => {
    const factors = new Map<number, { value: number; periods: number }>();
    for (const [index, age] of [...ages.entries()].reverse()) {
      for (const later of [...ages.slice(index + 1), null]) {
        const key = age * MAX_AGE + (later ?? 0);
        const growth = steps.get(key) ?? growthOf(development, age, later);
        steps.set(key, growth);
        const step = knownOn(growth, day);
        if (step === undefined) break;
        const rest = later === null ? { value: 1, periods: Infinity } : factors.get(later);
        const value = (rest?.value ?? 0) * (step.to / step.from);
        if (rest === undefined || step.missed > step.seen || !(value > 0 && value < Infinity))
          continue;
        factors.set(age, { value, periods: Math.min(rest.periods, step.periods) });
        break;
      }
    }
    return factors;
  };
  return (day) => {
    const factors = known.get(day) ?? factorsOn(day);
    known.set(day, factors);
    return factors;
  };
}

/** The share of final totals that an interval should cover, and the least that is reported. */
const COVERED_SHARE = 0.8;
const MIN_COVERAGE = 0.6;
/** An interval that reaches further above its projection says too little. */
const FURTHEST_REACH = 1.5;
/** A total that is this near its final one needs no projection. */
const NEAR_REACH = 1.05;
/** Significance level of the sign test: by chance alone, the projection is nearer than the current total half of the time. */
const MAX_CHANCE = 0.05;
/** The newest final periods: a quarter of a year of days, since older ones say little about tomorrow. */
const TRIED_PERIODS = 90;

/** What would have been projected at an age, compared with the final totals. */
export interface Score {
  readonly age_days: number;
  /** Periods that could have been projected at that age. */
  readonly cohorts: number;
  /** Median errors of the projection and of the total as it was, as shares of the final total. */
  readonly median_abs_error: number | null;
  readonly median_abs_error_as_is: number | null;
  /** Share of final totals inside the interval known on the day of the projection; null with fewer than eight. */
  readonly coverage: number | null;
  /** What totals of the age are projected from, or why they are not. */
  readonly basis: 'ladder' | 'as is' | 'too little history' | 'too uncertain';
  /** The interval is from the projection divided by this to the projection times this; null if nothing is projected. */
  readonly reach: number | null;
}

interface Trial {
  readonly cohort: Triangle;
  readonly madeOn: number;
  readonly asIs: number;
  readonly projected: number;
  readonly final: number;
}

/** Returns the score of each age. A trial uses only what was known on its day (Dawid 1984, "The prequential approach"). */
export function scoresOf(development: Development, factorsOn: (day: number) => Factors): Score[] {
  // Only periods that became final after an earlier reading show how values mature.
  const matured = development.filter(
    ({ maturing, finals }) => maturing.size > 0 && finals.length > 0,
  );
  const tried = matured.slice(-TRIED_PERIODS);
  return agesIn(development).map((age) => {
    const trials: Trial[] = [];
    for (const cohort of tried) {
      const madeOn = cohort.lastDay + age;
      const [asIs, final] = [cohort.maturing.get(age) ?? 0, finalOf(cohort)];
      const factor = factorsOn(madeOn).get(age);
      if (factor !== undefined && asIs > 0 && final > 0)
        trials.push({ cohort, madeOn, asIs, projected: asIs * factor.value, final });
    }
    return scoreOf(age, trials);
  });
}

function scoreOf(age: number, trials: readonly Trial[]): Score {
  const errors = trials.map(({ projected, final }) => Math.abs(projected / final - 1));
  const errorsAsIs = trials.map(({ asIs, final }) => Math.abs(asIs / final - 1));
  const [error, errorAsIs] = [median(errors), median(errorsAsIs)];
  const nearer = errors.filter((miss, at) => miss < (errorsAsIs[at] ?? 0)).length;
  // A sign test: Diebold and Mariano 1995, "Comparing predictive accuracy", section 2.2.
  const isByChance = chanceOfAtMost(trials.length - nearer, trials.length) > MAX_CHANCE;
  const isNearer = (error ?? 0) <= (errorAsIs ?? 0) && !isByChance;
  const isSound = ({ reach, coverage }: typeof ladder, furthest: number) =>
    reach !== null && reach <= furthest && (coverage ?? 1) >= MIN_COVERAGE;
  const score = {
    age_days: age,
    cohorts: trials.length,
    median_abs_error: error,
    median_abs_error_as_is: errorAsIs,
  };
  const ladder = intervalOf(trials, ({ projected }) => projected);
  if (isNearer && isSound(ladder, FURTHEST_REACH)) return { ...score, ...ladder, basis: 'ladder' };
  const asIs = intervalOf(trials, (trial) => trial.asIs);
  if (isSound(asIs, NEAR_REACH)) return { ...score, ...asIs, basis: 'as is' };
  const basis = ladder.reach === null ? 'too little history' : 'too uncertain';
  return { ...score, coverage: ladder.coverage, basis, reach: null };
}

/** The chance of at most `heads` in so many tosses of a coin. */
function chanceOfAtMost(heads: number, tosses: number) {
  let [chance, sum] = [0.5 ** tosses, 0];
  for (let head = 0; head <= heads; head += 1) {
    sum += chance;
    chance *= (tosses - head) / (head + 1);
  }
  return sum;
}

const missOf = (projected: number, final: number) => Math.abs(Math.log(final / projected));

/**
 * Returns the reach of the interval of estimates, the 80 % rank of the errors of enough trials (split conformal prediction: Lei et
 * al. 2018, "Distribution-free predictive inference for regression", algorithm 2), and its coverage.
 */
function intervalOf(trials: readonly Trial[], estimateOf: (trial: Trial) => number) {
  const events: { day: number; miss: number | null; replaced: number | null }[] = [];
  for (const trial of trials) {
    const estimate = estimateOf(trial);
    let replaced: number | null = null;
    for (const { age, value } of trial.cohort.finals) {
      const miss = value > 0 ? missOf(estimate, value) : null;
      events.push({ day: trial.cohort.lastDay + age, miss, replaced });
      replaced = miss;
    }
  }
  events.sort((one, other) => one.day - other.day);
  /** The errors of trials whose final total is known, ascending. */
  const misses: number[] = [];
  let next = 0;
  const missOn = (day: number) => {
    for (; (events[next]?.day ?? NaN) <= day; next += 1) {
      const { miss = null, replaced = null } = events[next] ?? {};
      if (replaced !== null) misses.splice(misses.indexOf(replaced), 1);
      const at = misses.findIndex((other) => other > (miss ?? 0));
      if (miss !== null) misses.splice(at < 0 ? misses.length : at, 0, miss);
    }
    if (misses.length < MIN_PERIODS) return null;
    const rank = Math.min(misses.length, Math.ceil((misses.length + 1) * COVERED_SHARE));
    return misses[rank - 1] ?? null;
  };
  let [tried, covered] = [0, 0];
  for (const trial of trials) {
    const miss = missOn(trial.madeOn);
    if (miss === null) continue;
    tried += 1;
    if (missOf(estimateOf(trial), trial.final) <= miss) covered += 1;
  }
  const coverage = tried < MIN_PERIODS ? null : covered / tried;
  const miss = missOn(Infinity);
  return { reach: miss === null ? null : Math.exp(miss), coverage };
}

/** Returns a projection without a number, as it is stored. */
export const unprojected = (basis: string) => {
  const none = { age_days: null, factor: null, factor_low: null, factor_high: null };
  return { basis, ...none, periods: null };
};

/**
 * Projects a period from its newest total, which may be later than the one it was loaded with. Undefined is one that never had a
 * total. Returns the factors from the total that was loaded to the final one, or null if none was read on the night of the load.
 */
export function projectionOf(
  cohort: Triangle | undefined,
  loaded: { readonly age: number; readonly total: number | null },
  factors: Factors,
  scores: ReadonlyMap<number, Score>,
) {
  if (cohort === undefined) return unprojected('total of 0');
  const maturing = Array.from(cohort.maturing, ([age, value]) => ({ age, value }));
  const newest = [...maturing, ...cohort.finals].at(-1);
  if (newest === undefined || loaded.total === null) return null;
  if (newest.value <= 0 || loaded.total <= 0) return unprojected('total of 0');
  const growth = newest.value / loaded.total;
  const projectedAge = Math.max(newest.age, loaded.age);
  const made = (basis: string, factor: number, reach: number, periods: number | null) => {
    const ends = { factor_low: factor / reach, factor_high: factor * reach };
    return { basis, age_days: projectedAge, factor, ...ends, periods };
  };
  // A final total that is not loaded as such yet, as its load failed or came too early.
  if (cohort.finals.length > 0) return made('stated', growth, 1, null);
  const factor = factors.get(projectedAge);
  const {
    basis = 'too little history',
    reach = null,
    cohorts = 0,
  } = scores.get(projectedAge) ?? {};
  if (reach === null || factor === undefined) return unprojected(basis);
  return basis === 'as is'
    ? made(basis, growth, reach, cohorts)
    : made(basis, growth * factor.value, reach, factor.periods);
}
