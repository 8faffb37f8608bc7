/** How the totals of periods grew from fetch to fetch until they were final, and how much of it was known at each age; pure. */

/** A period's total as a fetch found it. */
export interface Reading {
  /** Days from the period's last day to the fetch, in the slice's offset. */
  readonly age: number;
  readonly value: number;
}

/** One period of one metric. */
export interface Cohort {
  /** The period's last day, in days since 1970. */
  readonly lastDay: number;
  /** What fetches found before the value was final, ascending by age. */
  readonly readings: readonly Reading[];
  /** The final total, with the age at which a fetch first found it final; null while it is maturing. */
  readonly final: Reading | null;
}

/** The development triangle of one metric, oldest period first. */
export type Development = readonly Cohort[];

/** A cohort's total at exactly an age; null where no fetch fell on it. */
export function valueAt({ readings }: Pick<Cohort, 'readings'>, age: number): number | null {
  return readings.find((reading) => reading.age === age)?.value ?? null;
}

/**
 * The ages that stand for columns of the triangle: those on which a fetch fell for at least half of the final cohorts. The
 * others are nights that came late.
 */
export function columnAges(development: Development): number[] {
  const final = development.filter((cohort) => cohort.final !== null);
  const counts = new Map<number, number>();
  for (const { readings } of final) {
    for (const { age } of readings) counts.set(age, (counts.get(age) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => 2 * count >= final.length)
    .map(([age]) => age)
    .sort((a, b) => a - b);
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
export interface Known {
  readonly age: number;
  readonly periods: number;
  readonly q25: number;
  readonly median: number;
  readonly q75: number;
}

/** With fewer final periods a quartile is a single value or next to it: nothing is said of an age, nor of the way between two. */
export const FEWEST_PERIODS = 8;

/** The shares at each age of a triangle, ascending; an age with fewer final periods than that is left out. */
export function maturationOf(development: Development): Known[] {
  return columnAges(development).flatMap((age): Known[] => {
    const shares = development.flatMap((cohort) => {
      const value = valueAt(cohort, age);
      return cohort.final === null || cohort.final.value <= 0 || value === null ? [] : [value / cohort.final.value];
    });
    if (shares.length < FEWEST_PERIODS) return [];
    const at = (share: number): number => quantile(shares, share) ?? 0;
    return [{ age, periods: shares.length, q25: at(0.25), median: at(0.5), q75: at(0.75) }];
  });
}
