/**
 * The chain ladder: the final total to expect of a period from how older periods went on, with its standard error; pure.
 *
 * Source: Mack (1993), "Distribution-free calculation of the standard error of chain ladder reserve estimates", ASTIN
 * Bulletin 23(2). Reserving calls a period an accident year; the totals of a report's days develop by the same rule.
 */

import { isFinalOn, pairsOf, reached, type Columns, type Pairs } from './columns.ts';

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
 * The ladder of a triangle as far as it was known on a day; empty where a step has no cohort, or one alone and no two steps
 * before it to borrow a spread from. A cohort counts for a step where its earlier total is above zero: growth from nothing has
 * no factor.
 */
export function ladderOn(columns: Columns, day: number): Ladder {
  const standing = standingColumns(columns, day);
  const steps: Step[] = [];
  for (const [index, column] of standing.entries()) {
    const step = stepOf(pairsOf(columns, column, standing[index + 1] ?? null), day);
    const variance = step.cohorts > 1 ? step.strayed / (step.cohorts - 1) : borrowedVariance(steps);
    if (variance === null || !(step.factor > 0)) return [];
    const { factor, sum, cohorts } = step;
    steps.push({ age: columns.ages[column] ?? 0, factor, variance, sum, cohorts });
  }
  return steps;
}

/** The columns that were read for at least half of the cohorts that were final on a day; the others are nights that came late. */
function standingColumns(columns: Columns, day: number): number[] {
  let known = 0;
  for (let at = 0; at < columns.lastDays.length; at += 1) if (isFinalOn(columns, at, day)) known += 1;
  return columns.totals.flatMap((totals, column) => {
    const count = reached(columns, columns.ages[column] ?? 0, day);
    let read = 0;
    for (let at = 0; at < count; at += 1) {
      if (isFinalOn(columns, at, day) && !Number.isNaN(totals[at] ?? Number.NaN)) read += 1;
    }
    return read > 0 && 2 * read >= known ? [column] : [];
  });
}

/** Over the pairs known on a day; `strayed` is the square distance from the factor, weighted by the earlier total. */
function stepOf({ from, to, since }: Pairs, day: number): Omit<Step, 'age' | 'variance'> & { strayed: number } {
  let [sum, grown, cohorts, strayed] = [0, 0, 0, 0];
  const isKnown = (at: number): boolean => (since[at] ?? Infinity) <= day;
  for (let at = 0; at < from.length; at += 1) {
    if (!isKnown(at)) continue;
    sum += from[at] ?? 0;
    grown += to[at] ?? 0;
    cohorts += 1;
  }
  const factor = grown / sum;
  for (let at = 0; at < from.length; at += 1) {
    if (!isKnown(at)) continue;
    const start = from[at] ?? 0;
    strayed += start * ((to[at] ?? 0) / start - factor) ** 2;
  }
  return { factor, sum, cohorts, strayed };
}

/** The spread of a step with one cohort, carried on from the two before it (Mack 1993, after his theorem 3). */
function borrowedVariance(steps: readonly Step[]): number | null {
  const [before, last] = steps.slice(-2).map(({ variance }) => variance);
  if (before === undefined || last === undefined) return null;
  return before === 0 ? 0 : Math.min(last ** 2 / before, before, last);
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
