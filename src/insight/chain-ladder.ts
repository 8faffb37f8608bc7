/**
 * By what a total is to be multiplied to expect its final total, as it was known on any day: the chain ladder (Mack 1993,
 * "Distribution-free calculation of the standard error of chain ladder reserve estimates", ASTIN Bulletin 23(2)); pure.
 */

import { finalOn, type Development } from './development.ts';

export interface Factor {
  readonly value: number;
  /** The fewest periods that any step of the ladder rests on. */
  readonly periods: number;
}

/** What a triangle said on a day. */
export interface KnownFactors {
  /** The ages that stand for columns of the triangle, ascending. */
  readonly ages: readonly number[];
  /** By age; none of an age from which no period is known to have reached the end. */
  readonly factors: ReadonlyMap<number, Factor>;
}

/** The totals of all periods at one age; NaN where no fetch found one. */
interface TriangleColumn {
  readonly age: number;
  readonly totals: Float64Array;
}

/** The triangle as arrays, and the final totals as a day knew them: what all columns are compared with. */
interface Triangle {
  readonly lastDays: Float64Array;
  readonly firstAges: Float64Array;
  readonly finalAges: Float64Array;
  readonly finals: Float64Array;
}

/** What a triangle said on each day, in days since 1970, from what that day knew alone. */
export function standings(development: Development): (day: number) => KnownFactors {
  const ages = [...new Set(development.flatMap(({ readings }) => [...readings.keys()]))].sort((a, b) => a - b);
  const columns = ages.map((age) => {
    return { age, totals: Float64Array.from(development, ({ readings }) => readings.get(age) ?? Number.NaN) };
  });
  const arrays = {
    lastDays: Float64Array.from(development, ({ lastDay }) => lastDay),
    firstAges: Float64Array.from(development, ({ readings }) => [...readings.keys()][0] ?? Infinity),
    finalAges: Float64Array.from(development, ({ finals }) => finals[0]?.age ?? Infinity),
  };
  const made = new Map<number, KnownFactors>();
  return (day) => {
    const before = made.get(day);
    if (before !== undefined) return before;
    const triangle = { ...arrays, finals: Float64Array.from(development, (each) => finalOn(each, day) ?? Number.NaN) };
    const standing = columns.filter((column) => isStanding(column, triangle));
    const found = { ages: standing.map(({ age }) => age), factors: factorsOf(standing, triangle, day) };
    made.set(day, found);
    return found;
  };
}

/**
 * Whether at least half of the final periods that could be fetched at this age, between their first fetch and the one that
 * found them final, were: other ages are those of nights that came late.
 */
function isStanding({ age, totals }: TriangleColumn, { firstAges, finalAges, finals }: Triangle): boolean {
  let [read, possible] = [0, 0];
  for (let at = 0; at < totals.length; at += 1) {
    if (Number.isNaN(finals[at]) || age < (firstAges[at] ?? 0) || age >= (finalAges[at] ?? 0)) continue;
    possible += 1;
    if (!Number.isNaN(totals[at])) read += 1;
  }
  return read > 0 && 2 * read >= possible;
}

function factorsOf(columns: readonly TriangleColumn[], triangle: Triangle, day: number): Map<number, Factor> {
  const factors = new Map<number, Factor>();
  let [value, periods] = [1, Infinity];
  for (const [index, column] of [...columns.entries()].reverse()) {
    const step = stepOf(column, columns[index + 1], triangle, day);
    value *= step.factor;
    periods = Math.min(periods, step.periods);
    if (!(value > 0)) break;
    factors.set(column.age, { value, periods });
  }
  return factors;
}

/** How totals grew from a column to the next, or to the end. Growth from nothing has no factor. By the next age a total may be final already. */
function stepOf({ age, totals }: TriangleColumn, next: TriangleColumn | undefined, triangle: Triangle, day: number) {
  const { lastDays, finalAges, finals } = triangle;
  let [from, to, periods] = [0, 0, 0];
  for (let at = 0; at < totals.length; at += 1) {
    const [lastDay, total, final] = [lastDays[at] ?? 0, totals[at] ?? Number.NaN, finals[at] ?? Number.NaN];
    if (lastDay + age > day) break;
    const read = next !== undefined && lastDay + next.age <= day ? (next.totals[at] ?? Number.NaN) : Number.NaN;
    const isFinalBy = next === undefined || (finalAges[at] ?? Infinity) <= next.age;
    const later = Number.isNaN(read) && isFinalBy ? final : read;
    if (Number.isNaN(later) || !(total > 0)) continue;
    from += total;
    to += later;
    periods += 1;
  }
  return { factor: to / from, periods };
}
