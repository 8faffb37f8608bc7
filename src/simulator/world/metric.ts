/** A metric: its entry in the catalog, its additive measures and how they combine. */

import type { metricFilterNames } from '../../model/catalog.ts';
import type { Measure } from './measures.ts';

export type MetricFilterName = Exclude<(typeof metricFilterNames)[number], 'etl_metrics'>;

/** service-interface: Filter item. Only newer answers have `description`. */
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
  readonly unit: 'count' | 'micros' | 'number';
  readonly additive: boolean;
  readonly measures: readonly Measure[];
  readonly combine: (sums: readonly number[]) => number | null;
  /** Of cumulative cohort values: days after the install day. */
  readonly completeAfterDays?: number;
}

export interface WorldMetric extends Formula {
  readonly id: string;
  readonly filter: MetricFilterName | null;
  readonly item: FilterItem;
}

export type WorldMetrics = ReadonlyMap<string, WorldMetric>;

export type MetricLine = readonly [id: string, section: string, formula: Formula];

export const readable = (id: string): string =>
  id.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());

export function metricsOf(filter: MetricFilterName | null, lines: readonly MetricLine[]) {
  return lines.map(([id, section, formula]): WorldMetric => {
    const { formatting } = formula;
    const name = readable(id);
    const description = `${name}, as the simulated world has them`;
    const item = { id, name, short_name: '', section, formatting, description };
    return { id, filter, item, ...formula };
  });
}

const MICRO = 1_000_000;

const added = (formatting: string, unit: 'count' | 'micros', measure: Measure): Formula => ({
  formatting,
  unit,
  additive: true,
  measures: [measure],
  combine: ([sum = 0]) => sum,
});

export const counted = (measure: Measure, formatting = 'integer'): Formula =>
  added(formatting, 'count', measure);

export const money = (measure: Measure): Formula => added('money', 'micros', measure);

export const apart = (unit: 'count' | 'micros', left: Measure, right: Measure): Formula => ({
  formatting: unit === 'count' ? 'integer' : 'decimal',
  unit,
  additive: false,
  measures: [left, right],
  combine: ([a = 0, b = 0]) => Math.abs(a - b),
});

export function ratio(above: Measure, below: Measure, factor = 1, formatting = 'percent'): Formula {
  const combine: Formula['combine'] = ([a = 0, b = 0]) => (b === 0 ? null : (a / b) * factor);
  return { formatting, unit: 'number', additive: false, measures: [above, below], combine };
}

export const price = (above: Measure, below: Measure, factor = 1): Formula =>
  ratio(above, below, factor / MICRO, 'money');

/** The more rows are combined, the less each adds. */
export function distinct(measure: Measure): Formula {
  const combine: Formula['combine'] = ([sum = 0]) => 10 * Math.sqrt(sum);
  return { formatting: 'decimal', unit: 'number', additive: false, measures: [measure], combine };
}

export const inUnits = ({ unit }: WorldMetric, value: number): number =>
  unit === 'micros' ? value / MICRO : value;
