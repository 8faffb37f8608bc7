/** The backtest: which method projects a metric at an age, how wide its interval has to be, and whether it may at all; pure. */

import { chanceOfAtMost } from '../model/confidence.ts';
import { columnAges, median, valueAt, type Development } from './development.ts';
import { AVERAGE_SHARE, MEAN_OF_BOTH, TRIED_COHORTS, type Expectations, type Trial } from './trials.ts';

/** What the interval is to cover. */
const COVERED_SHARE = 0.8;
/** An interval that covered less is not told. */
const LEAST_COVERAGE = 0.6;
/** A factor says nothing of periods without a value; where more than these are, it would speak for too few. */
const MOST_UNTRIED = 0.2;
/** Another method takes the place of the usual one where its errors are at most this share: less is chance. */
const MOST_OF_USUAL = 0.9;
/** An interval whose upper end is further above the value says too little to go by. */
const FURTHEST_REACH = 1.5;
/** A projection that is no better comes nearer as often as not; more wins than that by chance are this rare. */
const MOST_CHANCE = 0.05;
/** What came out further off than the average share by more than this gives its place to it. */
const MOST_OF_AVERAGE_SHARE = 1.1;
/**
 * A period that counts fewer is off its own level by more than 5 % in more than one of ten, by chance alone: (1.645 / 0.05)², the
 * standard of full credibility (Mowbray 1914, "How extensive a payroll exposure is necessary to give a dependable pure premium?";
 * Longley-Cook 1962, "An introduction to credibility theory"). It takes what is counted for independent, so that it is the least.
 */
const FEWEST_COUNTED = 1082;
/** With fewer outcomes neither a method can be chosen nor a spread be measured: the 80 % rank of 8 is the largest. */
export const FEWEST_TRIALS = 8;

/** How a metric is projected at an age. */
export interface Choice {
  readonly method: string;
  /** How many standard errors the interval reaches to both sides, on the scale of logarithms. */
  readonly width: number;
}

export interface Projection {
  readonly method: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** The fewest cohorts that any factor rests on. */
  readonly cohorts: number;
}

/** What would have been projected at an age, against what became final. */
export interface Score {
  readonly age: number;
  /** Periods of which a projection could have been made on its day, from outcomes known by then. */
  readonly cohorts: number;
  /** Medians of the distance to the final total, as a share of it; null without a cohort. */
  readonly medianError: number | null;
  readonly medianErrorAsIs: number | null;
  readonly medianErrorAverageShare: number | null;
  /** The share of final totals inside their interval. */
  readonly coverage: number | null;
  /** How it is projected from now on; null where it is not. */
  readonly choice: Choice | null;
  /** Why it is not projected; null where it is. */
  readonly reason: string | null;
}

/**
 * The method and the width its interval needs, from trials of one age whose outcome is known; null with fewer than eight:
 * the one with the least mean error, where it is clearly less than that of the mean of chain ladder and average share. The
 * width is the 80 % rank of the errors in standard errors, so that the interval is as wide as the past asks for where Mack's is
 * too narrow (split conformal prediction: Lei et al. 2018, "Distribution-free predictive inference for regression", algorithm 2).
 */
export function choiceFrom(judged: readonly Trial[]): Choice | null {
  return choiceAmong(
    recordsOf(judged),
    judged.map(() => true),
  );
}

/** How a method did in some trials, in their order; NaN where it expected nothing. */
interface MethodRecord {
  readonly method: string;
  /** How far it was from the final total, on the scale of logarithms. */
  readonly misses: Float64Array;
  /** The same in standard errors. */
  readonly strays: Float64Array;
  /** Places of the trials in which it expected something, by how far it strayed. */
  readonly byStray: readonly number[];
}

function recordsOf(trials: readonly Trial[]): MethodRecord[] {
  const methods = [...new Set(trials.flatMap(({ expected }) => [...expected.keys()]))];
  return methods.map((method) => {
    const misses = new Float64Array(trials.length).fill(Number.NaN);
    const strays = new Float64Array(trials.length);
    const byStray: number[] = [];
    for (const [at, { expected, final }] of trials.entries()) {
      const of = expected.get(method);
      if (of === undefined) continue;
      const miss = Math.abs(Math.log(final / of.value));
      misses[at] = miss;
      strays[at] = miss === 0 ? 0 : miss / of.error;
      byStray.push(at);
    }
    byStray.sort((one, other) => (strays[one] ?? 0) - (strays[other] ?? 0));
    return { method, misses, strays, byStray };
  });
}

/** `isJudged`: of each trial whether its outcome is known. */
function choiceAmong(records: readonly MethodRecord[], isJudged: readonly boolean[]): Choice | null {
  const candidates = records.flatMap((record) => {
    let [sum, count] = [0, 0];
    for (let at = 0; at < isJudged.length; at += 1) {
      const miss = record.misses[at] ?? Number.NaN;
      if (isJudged[at] !== true || Number.isNaN(miss)) continue;
      sum += miss;
      count += 1;
    }
    return count < FEWEST_TRIALS ? [] : [{ record, count, mean: sum / count }];
  });
  const usual = candidates.find(({ record }) => record.method === MEAN_OF_BOTH);
  const [nearest] = candidates.toSorted((a, b) => a.mean - b.mean);
  if (nearest === undefined) return null;
  const { record, count } = usual === undefined || nearest.mean <= MOST_OF_USUAL * usual.mean ? nearest : usual;
  let left = Math.min(count, Math.ceil((count + 1) * COVERED_SHARE));
  const last = record.byStray.find((at) => {
    if (isJudged[at] === true) left -= 1;
    return left === 0;
  });
  return { method: record.method, width: record.strays[last ?? -1] ?? Infinity };
}

/** The projection a choice makes; null where its method expects nothing, or anything. The interval is log-normal, as Mack proposes. */
export function projected(expected: Expectations, { method, width }: Choice): Projection | null {
  const of = expected.get(method);
  if (of === undefined) return null;
  const reach = Math.exp(width * of.error);
  if (!Number.isFinite(reach)) return null;
  return { method, value: of.value, low: of.value / reach, high: of.value * reach, cohorts: of.cohorts };
}

/** What is counted in the periods of a slice, as the smallest unit that their totals are made of. */
export interface Counted {
  /** The metric that counts it. */
  readonly name: string;
  readonly development: Development;
}

/**
 * The score of each age that stands for a column of a triangle, ascending. Where the chosen methods came out further off than the
 * average share by more than a tenth, it is that of the average share alone, which is then projected. `counted` is null where
 * nothing tells how much stands behind a total.
 */
export function scoresOf(own: Development, trials: readonly Trial[], counted: Counted | null = null): Score[] {
  const final = newestFinal(own);
  const few = counted === null ? null : fewReason(counted);
  return columnAges(own).map((age) => {
    const read = final.filter((cohort) => valueAt(cohort, age) !== null);
    const tried = trials.filter((trial) => trial.age === age);
    const untried = untriedReason(read.length - tried.length, tried.length);
    const chosen = scoreOf(age, tried, few ?? untried);
    const limit = MOST_OF_AVERAGE_SHARE * (chosen.medianErrorAverageShare ?? Infinity);
    if ((chosen.medianError ?? 0) <= limit) return chosen;
    const simple = scoreOf(age, tried.map(withAverageShareAlone), few ?? untried);
    return simple.cohorts < FEWEST_TRIALS ? chosen : simple;
  });
}

const newestFinal = (development: Development): Development =>
  development.filter((cohort) => cohort.final !== null).slice(-TRIED_COHORTS);

/** A trial in which nothing but the average share expected something. */
function withAverageShareAlone(trial: Trial): Trial {
  return { ...trial, expected: new Map([...trial.expected].filter(([method]) => method === AVERAGE_SHARE)) };
}

/** `against`: what speaks against a projection whatever its trials came to; null where nothing does. */
function scoreOf(age: number, trials: readonly Trial[], against: string | null): Score {
  const records = recordsOf(trials);
  const made = trials.flatMap((trial) => {
    const isJudged = trials.map(({ judgedOn }) => judgedOn <= trial.madeOn);
    const choice = choiceAmong(records, isJudged);
    const projection = choice === null ? null : projected(trial.expected, choice);
    return projection === null ? [] : [{ trial, projection }];
  });
  const missed = (value: number, { final }: Trial): number => Math.abs(value / final - 1);
  const covered = made.filter(({ trial, projection: { low, high } }) => low <= trial.final && trial.final <= high);
  const score = {
    age,
    cohorts: made.length,
    medianError: median(made.map(({ trial, projection }) => missed(projection.value, trial))),
    medianErrorAsIs: median(made.map(({ trial }) => missed(trial.asIs, trial))),
    medianErrorAverageShare: median(
      made.flatMap(({ trial }) => (trial.byAverageShare === null ? [] : [missed(trial.byAverageShare, trial)])),
    ),
    coverage: made.length === 0 ? null : covered.length / made.length,
  };
  const nearer = made.filter(({ trial, projection }) => missed(projection.value, trial) < missed(trial.asIs, trial));
  const reach = median(made.map(({ projection: { high, value } }) => high / value)) ?? 1;
  const reason = against ?? reasonAgainst(score, reach, nearer.length);
  return { ...score, reason, choice: reason === null ? choiceFrom(trials) : null };
}

function untriedReason(untried: number, tried: number): string | null {
  if (untried <= MOST_UNTRIED * (untried + tried)) return null;
  return `${untried} of ${untried + tried} periods had no value above zero to grow from`;
}

/** Why nothing is projected of periods that count too little; null where they count enough, or none is final yet. */
function fewReason({ name, development }: Counted): string | null {
  const usual = median(newestFinal(development).map(({ final }) => final?.value ?? 0)) ?? Infinity;
  if (usual >= FEWEST_COUNTED) return null;
  return `half of the periods have ${Math.floor(usual)} ${name} at most, and below ${FEWEST_COUNTED} chance alone moves one in ten by more than 5 %`;
}

/**
 * Why an age is not to be projected; null where it is. That projections are better than the values as they are is held to a
 * sign test (Diebold and Mariano 1995, "Comparing predictive accuracy", section 2.2): `nearer` counts those that were.
 */
function reasonAgainst(score: Omit<Score, 'choice' | 'reason'>, reach: number, nearer: number): string | null {
  const { cohorts, coverage, medianError, medianErrorAsIs } = score;
  if (coverage === null || cohorts < FEWEST_TRIALS)
    return `${cohorts} past periods could have been projected, and a judgement takes ${FEWEST_TRIALS}`;
  if (coverage < LEAST_COVERAGE)
    return `the 80 % interval held only ${Math.round(100 * coverage)} % of ${cohorts} final totals`;
  if (reach > FURTHEST_REACH)
    return `the 80 % interval reached ${Math.round(100 * (reach - 1))} % above the projected value`;
  const isBetter = (medianError ?? 0) <= (medianErrorAsIs ?? 0);
  if (!isBetter || chanceOfAtMost(cohorts - nearer, cohorts, 0.5) > MOST_CHANCE)
    return `projections were nearer than the values as they are for only ${nearer} of ${cohorts} periods`;
  return null;
}
