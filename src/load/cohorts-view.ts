/** The view of a slice's cohort metrics in long form: one row per cell, the age as a number. Pure: names in, SQL out. */

import type { Metric } from '../model/metric.ts';
import { cohortAgeOf } from '../model/metric.ts';
import { identifier, literal } from '../warehouse/quoting.ts';
import type { Target } from './target.ts';

export const cohortsName = (slice: string): string => `main.${identifier(`${slice}_cohorts`)}`;

/** What its own columns say of themselves. */
export const cohortComments: readonly (readonly [string, string])[] = [
  ['metric', 'Name of the metric without its age; rows of several metrics or ages must not be summed together'],
  ['age_days', 'Age of the cohort in days: 7 for d7 and w1, 30 for m1'],
  ['value', 'The value of the metric; a ratio, where metric names one, must not be summed'],
  ['is_final', 'Whether the value can no longer change'],
];

/** The view's text; null for a slice without cohort metrics, or with a dimension that would stand twice in it. */
export function cohortsView(target: Target, periodCondition: string): string | null {
  const { slice, metrics, fingerprint, table } = target;
  const cells = cohortCells(metrics);
  if (cells.length === 0 || slice.dimensions.some((name) => cohortComments.some(([own]) => own === name))) return null;
  const dimensions = slice.dimensions.map((name) => `s.${identifier(name)}`).join(', ');
  const selects = cells.map(({ id, name, ageDays, horizonMs }) => {
    const isFinal =
      horizonMs === null
        ? 'false'
        : `coalesce(p.sound_at >= p.ends_at + to_seconds(${(horizonMs + slice.settleMs) / 1000}), false)`;
    return `select ${dimensions}, ${literal(name)} as metric, ${ageDays} as age_days, s.${identifier(id)} as "value", ${isFinal} as is_final
from ${table} as s
left join ripen.periods as p
    on p.slice = ${literal(slice.name)} and p.fingerprint = ${literal(fingerprint)} and ${periodCondition}
where s.${identifier(id)} is not null`;
  });
  return `create or replace view ${cohortsName(slice.name)} as\n${selects.join('\nunion all\n')}`;
}

interface CohortCell extends Pick<Metric, 'id' | 'horizonMs'> {
  readonly name: string;
  readonly ageDays: number;
}

/** A week and seven days of one metric are two values of one age: the later one keeps its unit in its name. */
function cohortCells(metrics: readonly Metric[]): CohortCell[] {
  const taken = new Set<string>();
  return metrics.flatMap(({ id, horizonMs, cohortMs }) => {
    const age = cohortMs === null ? null : cohortAgeOf(id);
    if (age === null) return [];
    const isTaken = taken.has(`${age.name} ${age.days}`);
    taken.add(`${age.name} ${age.days}`);
    return [{ id, horizonMs, name: isTaken ? `${age.name}_${age.unit}` : age.name, ageDays: age.days }];
  });
}
