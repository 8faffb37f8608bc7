/** What a metric is: its entry in the catalog, the additive measures it is made of, and how they combine. */

import type { metricFilterNames } from '../../model/catalog.ts';
import type { Measure } from './measures.ts';

export type MetricFilterName = Exclude<(typeof metricFilterNames)[number], 'etl_metrics'>;

/** `count` and `micros` are exact integers; `number` is a double. */
export type Unit = 'count' | 'micros' | 'number';

export interface Metric {
  readonly id: string;
  readonly name: string;
  readonly shortName: string;
  readonly section: string;
  readonly formatting: string;
  /** The filter name it is listed under; null for none. */
  readonly filter: MetricFilterName | null;
  readonly description: string;
  readonly increaseIsNegative: boolean;
  readonly unit: Unit;
  /** Whether rows add up to totals. */
  readonly additive: boolean;
  readonly measures: readonly Measure[];
  /** The value of a group from the sums of its measures and the days it spans; null carries no information. */
  readonly combine: (sums: readonly number[], days: number) => number | null;
  /** For cumulative cohort values: days after the install day when they are complete; else null. */
  readonly completeAfterDays: number | null;
}

type Entry = Pick<Metric, 'id' | 'name' | 'section' | 'filter'> &
  Partial<Pick<Metric, 'shortName' | 'formatting' | 'description' | 'increaseIsNegative' | 'completeAfterDays'>>;

const MICRO = 1_000_000;

function complete(entry: Entry, formatting: string): Omit<Metric, 'unit' | 'additive' | 'measures' | 'combine'> {
  return {
    shortName: '',
    formatting,
    description: `${entry.name}, as the simulated world has them`,
    increaseIsNegative: false,
    completeAfterDays: null,
    ...entry,
  };
}

/** A metric that is one measure: whole numbers that add up. */
export function counted(entry: Entry, measure: Measure): Metric {
  return {
    ...complete(entry, 'integer'),
    unit: 'count',
    additive: true,
    measures: [measure],
    combine: ([sum = 0]) => sum,
  };
}

/** A metric that is one measure: money that adds up. */
export function money(entry: Entry, measure: Measure): Metric {
  return {
    ...complete(entry, 'money'),
    unit: 'micros',
    additive: true,
    measures: [measure],
    combine: ([sum = 0]) => sum,
  };
}

/** How far two measures are apart, in their own unit; not additive. */
export function apart(entry: Entry, unit: 'count' | 'micros', left: Measure, right: Measure): Metric {
  return {
    ...complete(entry, unit === 'count' ? 'integer' : 'decimal'),
    unit,
    additive: false,
    measures: [left, right],
    combine: ([a = 0, b = 0]) => Math.abs(a - b),
  };
}

/** One measure divided by another, times a factor; null when there is nothing to divide by. */
export function ratio(entry: Entry, above: Measure, below: Measure, factor = 1): Metric {
  return {
    ...complete(entry, 'percent'),
    unit: 'number',
    additive: false,
    measures: [above, below],
    combine: ([a = 0, b = 0]) => (b === 0 ? null : (a / b) * factor),
  };
}

/** Money divided by a count, in whole units of the currency. */
export function price(entry: Entry, above: Measure, below: Measure, factor = 1): Metric {
  const metric = ratio({ formatting: 'money', ...entry }, above, below);
  return { ...metric, combine: ([a = 0, b = 0]) => (b === 0 ? null : (a / MICRO / b) * factor) };
}

/** The mean of a measure over the days of a group, times a factor; not additive. */
export function dailyMean(entry: Entry, measure: Measure, factor: number): Metric {
  return {
    ...complete(entry, 'decimal'),
    unit: 'number',
    additive: false,
    measures: [measure],
    combine: ([sum = 0], days) => (days === 0 ? null : (sum * factor) / days),
  };
}

/** A value as a number in the metric's own terms: micro-units become units of the currency. */
export function inUnits(metric: Metric, value: number): number {
  return metric.unit === 'micros' ? value / MICRO : value;
}
