/** A triangle as columns of numbers, so that what was known on any day is read off without copying it; pure. */

import type { Development } from './development.ts';

/** Cohorts are in the order of the triangle; NaN stands for what no fetch found. */
export interface Columns {
  readonly lastDays: Float64Array;
  /** Every age at which a fetch fell before the value was final, ascending. */
  readonly ages: readonly number[];
  /** The total of each cohort, for each of the ages. */
  readonly totals: readonly Float64Array[];
  /** The same as shares of the final totals above zero. */
  readonly shares: readonly Float64Array[];
  readonly finals: Float64Array;
  readonly finalAges: Float64Array;
  /** The day from which a final total counts: there it was found, and some reading of the cohort before it. */
  readonly finalFrom: Float64Array;
  /** Where a cohort stands, by its last day. */
  readonly places: ReadonlyMap<number, number>;
  /** The pairs of columns that were asked for, so that each is made once. */
  readonly pairs: Map<string, Pairs>;
}

/** Totals of one column above zero, and what came of them in a later one, each known from a day on. */
export interface Pairs {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly since: readonly number[];
}

export function columnsOf(development: Development): Columns {
  const { length } = development;
  const none = (): Float64Array => new Float64Array(length).fill(Number.NaN);
  const byAge = new Map<number, Float64Array>();
  const [lastDays, finals, finalAges, finalFrom] = [none(), none(), none(), none()];
  for (const [at, { lastDay, readings, final }] of development.entries()) {
    lastDays[at] = lastDay;
    for (const { age, value } of readings) {
      const column = byAge.get(age) ?? none();
      column[at] = value;
      byAge.set(age, column);
    }
    const [first] = readings;
    if (final === null || first === undefined) continue;
    finals[at] = final.value;
    finalAges[at] = final.age;
    finalFrom[at] = lastDay + Math.max(first.age, final.age);
  }
  const ages = [...byAge.keys()].sort((a, b) => a - b);
  const totals = ages.map((age) => byAge.get(age) ?? none());
  const shareOf = (total: number, at: number): number => {
    const final = finals[at] ?? Number.NaN;
    return final > 0 ? total / final : Number.NaN;
  };
  const shares = totals.map((column) => column.map(shareOf));
  const places = new Map(development.map(({ lastDay }, at) => [lastDay, at]));
  return { lastDays, ages, totals, shares, finals, finalAges, finalFrom, places, pairs: new Map() };
}

/** Whether the total of a cohort was known to be final on a day, in days since 1970. */
export function isFinalOn({ finalFrom }: Columns, at: number, day: number): boolean {
  return (finalFrom[at] ?? Number.NaN) <= day;
}

/** How many cohorts, counted from the oldest, are old enough on a day to have been read at an age. */
export function reached({ lastDays }: Columns, age: number, day: number): number {
  let count = lastDays.length;
  while (count > 0 && (lastDays[count - 1] ?? 0) + age > day) count -= 1;
  return count;
}

/** The pairs of a column and the next one, or the final totals where that is null. */
export function pairsOf(columns: Columns, column: number, next: number | null): Pairs {
  const key = `${column} ${next}`;
  const made = columns.pairs.get(key) ?? newPairs(columns, column, next);
  columns.pairs.set(key, made);
  return made;
}

/** By the later age a total may be final already, where the night that found it so came early. */
function newPairs(columns: Columns, column: number, next: number | null): Pairs {
  const { lastDays, ages, totals, finals, finalAges, finalFrom } = columns;
  const pairs: Record<keyof Pairs, number[]> = { from: [], to: [], since: [] };
  const by = next === null ? Infinity : (ages[next] ?? Infinity);
  for (const [at, from] of (totals[column] ?? []).entries()) {
    const later = next === null ? Number.NaN : (totals[next]?.[at] ?? Number.NaN);
    const isRead = !Number.isNaN(later);
    if (!(from > 0) || !(isRead || (finalAges[at] ?? Number.NaN) <= by)) continue;
    pairs.from.push(from);
    pairs.to.push(isRead ? later : (finals[at] ?? Number.NaN));
    pairs.since.push((isRead ? (lastDays[at] ?? Number.NaN) + by : finalFrom[at]) ?? Number.NaN);
  }
  return pairs;
}
