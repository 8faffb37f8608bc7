/** What a metric is: its entry in the catalog, the additive measures it is made of, and how they combine. */

import type { metricFilterNames } from '../../model/catalog.ts';
import type { Measure } from './measures.ts';

export type MetricFilterName = Exclude<(typeof metricFilterNames)[number], 'etl_metrics'>;

/** service-interface: Filter item; `description` and `increase_is_negative` are in newer answers only. */
export interface FilterItem {
  readonly id: string;
  readonly name: string;
  readonly short_name: string;
  readonly section: string;
  readonly formatting: string;
  readonly description: string;
  readonly increase_is_negative: boolean;
}

interface Formula {
  readonly formatting: string;
  /** `count` and `micros` are exact integers; `number` is a double. */
  readonly unit: 'count' | 'micros' | 'number';
  /** Whether rows add up to totals. */
  readonly additive: boolean;
  readonly measures: readonly Measure[];
  /** The value of a group from the sums of its measures and the days it spans; null carries no information. */
  readonly combine: (sums: readonly number[], days: number) => number | null;
}

export interface WorldMetric extends FilterItem, Formula {
  /** The filter name it is listed under; null for none. */
  readonly filter: MetricFilterName | null;
  /** For cumulative cohort values: days after the install day when they are complete; else null. */
  readonly completeAfterDays: number | null;
}

/** The names a world's reports know. */
export interface Vocabulary {
  readonly dimensions: readonly string[];
  /** Every metric by its id, in the order the catalog lists them. */
  readonly metrics: ReadonlyMap<string, WorldMetric>;
}

/** A line of a table of metrics: id, name, formula, and what differs from the rest of the table. */
export type MetricLine = readonly [id: string, name: string, formula: Formula, change?: Partial<WorldMetric>];

const MICRO = 1_000_000;

export function metricsOf(
  filter: MetricFilterName | null,
  section: string,
  lines: readonly MetricLine[],
  common: Partial<WorldMetric> = {},
): WorldMetric[] {
  return lines.map(([id, name, formula, change]) => ({
    id,
    name,
    short_name: '',
    section,
    filter,
    description: `${name}, as the simulated world has them`,
    increase_is_negative: false,
    completeAfterDays: null,
    ...formula,
    ...common,
    ...change,
  }));
}

const firstSum: Formula['combine'] = ([sum = 0]) => sum;

/** One measure: whole numbers that add up. */
export function counted(measure: Measure): Formula {
  return { formatting: 'integer', unit: 'count', additive: true, measures: [measure], combine: firstSum };
}

/** One measure: money that adds up. */
export function money(measure: Measure): Formula {
  return { formatting: 'money', unit: 'micros', additive: true, measures: [measure], combine: firstSum };
}

/** How far two measures are apart, in their own unit. */
export function apart(unit: 'count' | 'micros', left: Measure, right: Measure): Formula {
  const formatting = unit === 'count' ? 'integer' : 'decimal';
  return { formatting, unit, additive: false, measures: [left, right], combine: ([a = 0, b = 0]) => Math.abs(a - b) };
}

const calculated = (formatting: string, measures: readonly Measure[], combine: Formula['combine']): Formula => {
  return { formatting, unit: 'number', additive: false, measures, combine };
};

/** One measure divided by another, times a factor; null when there is nothing to divide by. */
export function ratio(above: Measure, below: Measure, factor = 1): Formula {
  return calculated('percent', [above, below], ([a = 0, b = 0]) => (b === 0 ? null : (a / b) * factor));
}

/** Money divided by a count, in whole units of the currency. */
export function price(above: Measure, below: Measure, factor = 1): Formula {
  return calculated('money', [above, below], ([a = 0, b = 0]) => (b === 0 ? null : (a / MICRO / b) * factor));
}

/** The mean of a measure over the days of a group, times a factor. */
export function dailyMean(measure: Measure, factor: number): Formula {
  return calculated('decimal', [measure], ([sum = 0], days) => (days === 0 ? null : (sum * factor) / days));
}

/** A value as a number in the metric's own terms: micro-units become units of the currency. */
export function inUnits(metric: WorldMetric, value: number): number {
  return metric.unit === 'micros' ? value / MICRO : value;
}
