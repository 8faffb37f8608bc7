/** The backtest: how far off projections would have been, how wide their interval has to be, and whether they may be made; pure. */

import { chanceOfAtMost } from '../model/sampling.ts';
import type { KnownFactors } from './chain-ladder.ts';
import { FEWEST_PERIODS, finalOf, finalOn, maturedOf, median, type Cohort, type Development } from './development.ts';

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
  readonly age: number;
  /** Periods of which a projection could have been made on its day, from what was known then. */
  readonly cohorts: number;
  /** Medians of the distance to the final total, as a share of it; null without a cohort. */
  readonly medianError: number | null;
  readonly medianErrorAsIs: number | null;
  /** The share of final totals inside the interval that was known on their day; null with fewer than eight. */
  readonly coverage: number | null;
  /** The interval goes from the value over this to the value times this; null where nothing is projected. */
  readonly reach: number | null;
  /** Why it is not projected; null where it is. */
  readonly reason: string | null;
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
  const held = trials.flatMap((trial) => {
    const reach = reachOn(trials, trial.madeOn);
    return reach === null ? [] : [missOf(trial, trial.final) <= Math.log(reach)];
  });
  const score = {
    age,
    cohorts: trials.length,
    medianError: median(trials.map((trial) => off(trial.projected, trial))),
    medianErrorAsIs: median(trials.map((trial) => off(trial.asIs, trial))),
    coverage: held.length < FEWEST_PERIODS ? null : held.filter((isHeld) => isHeld).length / held.length,
  };
  const reach = reachOn(trials, Infinity);
  const nearer = trials.filter((trial) => off(trial.projected, trial) < off(trial.asIs, trial)).length;
  const reason = reasonAgainst(score, reach, nearer);
  return { ...score, reach: reason === null ? reach : null, reason };
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

/**
 * Why an age is not to be projected; null where it is. That projections are better than the values as they are has to pass a
 * sign test (Diebold and Mariano 1995, "Comparing predictive accuracy", section 2.2): `nearer` counts those that were.
 */
function reasonAgainst(
  { cohorts, coverage, medianError, medianErrorAsIs }: Omit<Score, 'reach' | 'reason'>,
  reach: number | null,
  nearer: number,
): string | null {
  if (reach === null)
    return `${cohorts} past ${cohorts === 1 ? 'period' : 'periods'} could have been projected; ${FEWEST_PERIODS} are needed`;
  if (coverage !== null && coverage < LEAST_COVERAGE)
    return `the 80 % interval held only ${Math.round(100 * coverage)} % of the final totals`;
  if (reach > FURTHEST_REACH)
    return `the 80 % interval reached ${Math.round(100 * (reach - 1))} % above the projected value`;
  const isBetter = (medianError ?? 0) <= (medianErrorAsIs ?? 0);
  if (!isBetter || chanceOfAtMost(cohorts - nearer, cohorts, 0.5) > MOST_CHANCE)
    return `projections were nearer than the values as they are for only ${nearer} of ${cohorts} periods`;
  return null;
}
