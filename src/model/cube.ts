/** Cubes: slices in long form, with one row per key, metric and age of the cohort. Pure. */

import { alike } from './alike.ts';
import { parseAge } from './metric-forms.ts';
import type { CubeMetric, Slice } from './slice.ts';

export const cubeColumns = ['cohort', 'metric', 'age', 'age_days', 'value'] as const;

export const AGE_SLOT = '{age}';

/** A key that ends with `_{age}` is the same cohort as one without that. */
export function cubeMetrics(cohorts: Readonly<Record<string, readonly string[]>>): CubeMetric[] {
  return Object.entries(cohorts).flatMap(([key, ages]) =>
    ages.map((age) => ({
      metric: key.includes(AGE_SLOT) ? key.replace(AGE_SLOT, age) : `${key}_${age}`,
      cohort: key.replace(/_\{age\}$/, ''),
      age,
      ageDays: parseAge(age)?.days ?? 0,
    })),
  );
}

const RANGE = /^([dwm])(\d{1,3})\.\.\1(\d{1,3})$/;

/** Reads `d7` or `d0..d120`, both ends included. */
export function agesIn(text: string): string[] | null {
  const ages: string[] = [];
  const [, unit, first, last] = RANGE.exec(text) ?? [];
  if (unit === undefined) ages.push(text);
  else for (let age = Number(first); age <= Number(last); age += 1) ages.push(`${unit}${age}`);
  return ages.length > 0 && ages.every((age) => parseAge(age) !== null) ? ages : null;
}

export function metricsByAge<T extends { readonly id: string }>(
  slice: Pick<Slice, 'cube'>,
  metrics: readonly T[],
): Map<string, T[]> {
  const ageOf = ageIn(slice);
  const groups = alike(metrics, ({ id }) => ageOf(id));
  return new Map(groups.map((group) => [ageOf(group[0].id), group]));
}

export function ageIn({ cube }: Pick<Slice, 'cube'>) {
  const ages = new Map(cube?.map(({ metric, age }) => [metric, age]));
  return (metric: string) => ages.get(metric) ?? '';
}
