/**
 * The chain ladder: the final total to expect of a period from how older periods went on, with its standard error; pure.
 *
 * Source: Mack (1993), "Distribution-free calculation of the standard error of chain ladder reserve estimates", ASTIN
 * Bulletin 23(2). Reserving calls a period an accident year; the totals of a report's days develop by the same rule.
 */

import { columnAges, type Development } from './development.ts';

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
  const columns = columnsOf(development, ages);
  const steps: Step[] = [];
  for (const [index, age] of ages.entries()) {
    const next = ages[index + 1];
    const pairs = pairsOf(development, columns.get(age) ?? [], {
      later: next === undefined ? [] : (columns.get(next) ?? []),
      by: next ?? Infinity,
    });
    let [sum, grown, strayed] = [0, 0, 0];
    for (const [at, from] of pairs.from.entries()) [sum, grown] = [sum + from, grown + (pairs.to[at] ?? 0)];
    const factor = grown / sum;
    for (const [at, from] of pairs.from.entries()) strayed += from * ((pairs.to[at] ?? 0) / from - factor) ** 2;
    const count = pairs.from.length;
    const variance = count > 1 ? strayed / (count - 1) : borrowedVariance(steps);
    if (variance === null || !(factor > 0)) return [];
    steps.push({ age, factor, variance, sum, cohorts: count });
  }
  return steps;
}

/**
 * The totals of a column above zero, and what came of them in the later one. By the later age a total may be final already,
 * where the night that found it so came early.
 */
function pairsOf(
  development: Development,
  earlier: readonly (number | undefined)[],
  { later, by }: { readonly later: readonly (number | undefined)[]; readonly by: number },
): { readonly from: number[]; readonly to: number[] } {
  const [starts, ends]: [number[], number[]] = [[], []];
  for (const [at, { final }] of development.entries()) {
    const [from, to] = [earlier[at], later[at] ?? (final !== null && final.age <= by ? final.value : undefined)];
    if (from === undefined || to === undefined || from <= 0) continue;
    starts.push(from);
    ends.push(to);
  }
  return { from: starts, to: ends };
}

/** The totals at each of some ages, in the order of cohorts, undefined where no fetch fell on it. */
function columnsOf(development: Development, ages: readonly number[]): Map<number, (number | undefined)[]> {
  const columns = new Map(ages.map((age) => [age, Array.from<number | undefined>({ length: development.length })]));
  for (const [at, { readings }] of development.entries()) {
    for (const { age, value } of readings) {
      const column = columns.get(age);
      if (column !== undefined) column[at] = value;
    }
  }
  return columns;
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
