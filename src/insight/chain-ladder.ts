/**
 * The chain ladder: the final total to expect of a period from how older periods went on, with its standard error; pure.
 *
 * Source: Mack (1993), "Distribution-free calculation of the standard error of chain ladder reserve estimates", ASTIN
 * Bulletin 23(2). Reserving calls a period an accident year; the totals of a report's days develop by the same rule.
 */

import { columnAges, valueAt, type Cohort, type Development } from './development.ts';

/** From one column of the triangle to the next. */
interface Step {
  readonly age: number;
  /** Mack's f: the later column's sum over the earlier one's, of the cohorts that have both. */
  readonly factor: number;
  /** Mack's sigma squared: how much single cohorts stray from the factor. */
  readonly variance: number;
  /** The earlier column's sum over those cohorts. */
  readonly sum: number;
  readonly cohorts: number;
}

/** The steps from each column to the next, the last one to the final total. */
export type Ladder = readonly Step[];

/** What to expect of a total in the end. */
export interface Expected {
  readonly value: number;
  /** Its standard error as a share of it. */
  readonly error: number;
  /** The fewest cohorts that any step rests on. */
  readonly cohorts: number;
}

/**
 * The ladder of a triangle as far as it is known; empty where a step has no cohort, or one alone and no two steps before it
 * to borrow a spread from. A cohort counts for a step where its earlier total is above zero: growth from nothing has no factor.
 */
export function ladderOf(development: Development): Ladder {
  const ages = columnAges(development);
  const steps: Step[] = [];
  for (const [index, age] of ages.entries()) {
    const next = ages[index + 1];
    const pairs = development.flatMap((cohort) => {
      const from = valueAt(cohort, age);
      const to = next === undefined ? (cohort.final?.value ?? null) : laterValue(cohort, next);
      return from === null || to === null || from <= 0 ? [] : [{ from, to }];
    });
    const sum = pairs.reduce((total, { from }) => total + from, 0);
    const factor = pairs.reduce((total, { to }) => total + to, 0) / sum;
    const strayed = pairs.reduce((total, { from, to }) => total + from * (to / from - factor) ** 2, 0);
    const variance = pairs.length > 1 ? strayed / (pairs.length - 1) : borrowedVariance(steps);
    if (variance === null || !(factor > 0)) return [];
    steps.push({ age, factor, variance, sum, cohorts: pairs.length });
  }
  return steps;
}

/** The spread of a step with one cohort, carried on from the two before it (Mack 1993, after his theorem 3). */
function borrowedVariance(steps: readonly Step[]): number | null {
  const [before, last] = steps.slice(-2).map(({ variance }) => variance);
  if (before === undefined || last === undefined) return null;
  return before === 0 ? 0 : Math.min(last ** 2 / before, before, last);
}

/** At an age a total may be final already, where the night that found it so came early. */
function laterValue(cohort: Cohort, age: number): number | null {
  const { final } = cohort;
  return valueAt(cohort, age) ?? (final !== null && final.age <= age ? final.value : null);
}

/**
 * The final total of a cohort whose total at an age is known: the product of the factors, with Mack's standard error (his
 * theorem 3). Null for an age without a column and for a total that is not above zero.
 */
export function climb(ladder: Ladder, age: number, value: number): Expected | null {
  const at = ladder.findIndex((step) => step.age === age);
  if (at < 0 || value <= 0) return null;
  let [expected, relative, cohorts] = [value, 0, Infinity];
  for (const { factor, variance, sum, cohorts: count } of ladder.slice(at)) {
    relative += (variance / factor ** 2) * (1 / expected + 1 / sum);
    expected *= factor;
    cohorts = Math.min(cohorts, count);
  }
  return { value: expected, error: Math.sqrt(relative), cohorts };
}
