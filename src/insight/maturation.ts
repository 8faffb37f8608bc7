/** Maturation: how much of the final value was known at each age; pure. */

import { columnAges, quantile, valueAt, type Development } from './development.ts';

/** How much was known at an age, as a share of the final total: quartiles over final periods, never over others. */
export interface Known {
  readonly age: number;
  readonly periods: number;
  readonly q25: number;
  readonly median: number;
  readonly q75: number;
}

/** With fewer final periods a quartile is a single value or next to it. */
export const FEWEST_PERIODS = 8;

/** The shares at each age of a triangle, ascending; an age with fewer than eight final periods is left out. */
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
