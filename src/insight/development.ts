/** How the totals of periods grew from fetch to fetch until they were final, and how much of them was known at each age; pure. */

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
  /** The totals found before the value was final, by age, ascending. */
  readonly readings: ReadonlyMap<number, number>;
  /** The totals found since, ascending by age: the first, and each that differs from the one before. */
  readonly finals: readonly Reading[];
}

/** The development triangle of one metric, oldest period first. */
export type Development = readonly Cohort[];

/** The final total as it was known on a day, in days since 1970; null where none was. */
export function finalOn({ lastDay, finals }: Cohort, day: number): number | null {
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
  readonly age: number;
  readonly periods: number;
  readonly q25: number;
  readonly median: number;
  readonly q75: number;
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
    return [{ age, periods: shares.length, q25: at(0.25), median: at(0.5), q75: at(0.75) }];
  });
}
