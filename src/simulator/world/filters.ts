/** Filters of dimensions and metrics (service-interface: Dimension filters, Metric filters). */

import { dimensionFilters, metricFilters } from '../../model/dimension.ts';
import { inUnits, type WorldMetric, type Vocabulary } from './metric.ts';
import { invalid, unsupported } from './parameters.ts';

export interface DimensionFilter {
  readonly dimension: string;
  /** NULL passes no filter, as in SQL. */
  readonly accepts: (text: string | null) => boolean;
}

export interface MetricFilter {
  readonly metric: WorldMetric;
  /** Given the value in units of the metric; a value without information satisfies no comparison. */
  readonly accepts: (value: number | null) => boolean;
}

type DimensionSuffix = (typeof dimensionFilters)[number];
type MetricSuffix = (typeof metricFilters)[number];

const isDimensionSuffix = (text: string): text is DimensionSuffix => dimensionFilters.some((known) => known === text);
const isMetricSuffix = (text: string): text is MetricSuffix => metricFilters.some((known) => known === text);

/** Lists match exactly, all else without regard to case. */
function textTest(suffix: DimensionSuffix, value: string): DimensionFilter['accepts'] {
  const listed = new Set(value.split(','));
  const part = value.toLowerCase();
  const tests: Record<DimensionSuffix, (text: string) => boolean> = {
    in: (text) => listed.has(text),
    not_in: (text) => !listed.has(text),
    contains: (text) => text.toLowerCase().includes(part),
    exclude: (text) => !text.toLowerCase().includes(part),
    starts_with: (text) => text.toLowerCase().startsWith(part),
    not_starts_with: (text) => !text.toLowerCase().startsWith(part),
    ends_with: (text) => text.toLowerCase().endsWith(part),
    not_ends_with: (text) => !text.toLowerCase().endsWith(part),
  };
  return (text) => text !== null && tests[suffix](text);
}

const comparisons: Readonly<Record<MetricSuffix, (value: number, limit: number) => boolean>> = {
  lt: (value, limit) => value < limit,
  lte: (value, limit) => value <= limit,
  gt: (value, limit) => value > limit,
  gte: (value, limit) => value >= limit,
  eq: (value, limit) => value === limit,
  ne: (value, limit) => value !== limit,
};

export interface Filters {
  readonly dimensions: readonly DimensionFilter[];
  readonly metrics: readonly MetricFilter[];
}

/**
 * The filters among a query's parameters, all of which a row must pass. A filter of an unknown dimension or metric is
 * refused with 400, so that it never widens a report in silence; a parameter without a known suffix is none.
 */
export function parseFilters(query: URLSearchParams, vocabulary: Vocabulary): Filters {
  const byDimension: DimensionFilter[] = [];
  const byMetric: MetricFilter[] = [];
  for (const [parameter, value] of query) {
    const cut = parameter.lastIndexOf('__');
    const name = parameter.slice(0, Math.max(0, cut));
    const suffix = parameter.slice(cut + 2);
    if (cut < 1) continue;
    if (isDimensionSuffix(suffix)) {
      if (!vocabulary.dimensions.includes(name)) throw unsupported('dimension', name, parameter);
      byDimension.push({ dimension: name, accepts: textTest(suffix, value) });
    } else if (isMetricSuffix(suffix)) {
      const metric = vocabulary.metrics.get(name);
      if (metric === undefined) throw unsupported('metric', name, parameter);
      byMetric.push(parseMetricFilter(metric, suffix, parameter, value));
    }
  }
  return { dimensions: byDimension, metrics: byMetric };
}

function parseMetricFilter(metric: WorldMetric, suffix: MetricSuffix, parameter: string, text: string): MetricFilter {
  const limit = /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : null;
  if (limit === null) throw invalid(parameter, 'is not a number');
  return {
    metric,
    accepts: (value) => value !== null && comparisons[suffix](inUnits(metric, value), limit),
  };
}
