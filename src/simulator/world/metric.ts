/** What a metric is: its entry in the catalog, the additive measures it is made of, and how they combine. */

import type { metricFilterNames } from '../../model/catalog.ts';
import type { Measure } from './measures.ts';

export type MetricFilterName = Exclude<(typeof metricFilterNames)[number], 'etl_metrics'>;

/** service-interface: Filter item; `description` is in newer answers only. */
export interface FilterItem {
  readonly id: string;
  readonly name: string;
  readonly short_name: string;
  readonly section: string;
  readonly formatting: string;
  readonly description: string;
}

interface Formula {
  readonly formatting: string;
  /** `count` and `micros` are exact integers; `number` is a double. */
  readonly unit: 'count' | 'micros' | 'number';
  /** Whether rows add up to totals. */
  readonly additive: boolean;
  readonly measures: readonly Measure[];
  /** The value of a group from the sums of its measures; null carries no information. */
  readonly combine: (sums: readonly number[]) => number | null;
  /** For cumulative cohort values: days after the install day when they are complete. */
  readonly completeAfterDays?: number;
}

export interface WorldMetric extends FilterItem, Formula {
  /** The filter name it is listed under; null for none. */
  readonly filter: MetricFilterName | null;
}

/** Every metric by its id, in the order the catalog lists them. */
export type WorldMetrics = ReadonlyMap<string, WorldMetric>;

export type MetricLine = readonly [id: string, name: string, section: string, formula: Formula];

/** The metrics of a list of filters-data. */
export function metricsOf(filter: MetricFilterName | null, lines: readonly MetricLine[]): WorldMetric[] {
  return lines.map(([id, name, section, formula]) => {
    const description = `${name}, as the simulated world has them`;
    return { id, name, short_name: '', section, description, filter, ...formula };
  });
}

const MICRO = 1_000_000;

const added = (formatting: string, unit: 'count' | 'micros', measure: Measure): Formula => {
  return { formatting, unit, additive: true, measures: [measure], combine: ([sum = 0]) => sum };
};

/** One measure: whole numbers that add up. */
export const counted = (measure: Measure, formatting = 'integer'): Formula => added(formatting, 'count', measure);

/** One measure: money that adds up. */
export const money = (measure: Measure): Formula => added('money', 'micros', measure);

/** How far two measures are apart, in their own unit. */
export function apart(unit: 'count' | 'micros', left: Measure, right: Measure): Formula {
  const formatting = unit === 'count' ? 'integer' : 'decimal';
  return { formatting, unit, additive: false, measures: [left, right], combine: ([a = 0, b = 0]) => Math.abs(a - b) };
}

/** One measure divided by another, times a factor; null when there is nothing to divide by. */
export function ratio(above: Measure, below: Measure, factor = 1, formatting = 'percent'): Formula {
  const combine: Formula['combine'] = ([a = 0, b = 0]) => (b === 0 ? null : (a / b) * factor);
  return { formatting, unit: 'number', additive: false, measures: [above, below], combine };
}

/** Money divided by a count, in whole units of the currency. */
export const price = (above: Measure, below: Measure, factor = 1): Formula =>
  ratio(above, below, factor / MICRO, 'money');

/** Users of whom many are the same: the more rows are taken together, the fewer each adds. */
export function distinct(measure: Measure): Formula {
  const combine: Formula['combine'] = ([sum = 0]) => 10 * Math.sqrt(sum);
  return { formatting: 'decimal', unit: 'number', additive: false, measures: [measure], combine };
}

/** A value as a number in the metric's own terms: micro-units become units of the currency. */
export function inUnits(metric: WorldMetric, value: number): number {
  return metric.unit === 'micros' ? value / MICRO : value;
}
