/** A report's query, read and checked: what the service would refuse never gets further than here. */

import {
  addDays,
  type DayInterval,
  daysBetween,
  parseDay,
  parseUtcOffset,
  type UtcOffset,
  type WeekStart,
} from '../../model/calendar.ts';
import { dimensionFilters, metricFilters } from '../../model/dimension.ts';
import type { Moment } from './measures.ts';
import { inUnits, type WorldMetric, type Vocabulary } from './metric.ts';
import {
  currencies,
  type Currency,
  type ParameterName,
  parameterValues,
  type ValueOf,
  invalid,
  missing,
  unsupported,
} from './parameters.ts';

export interface SortKey {
  /** A requested dimension or metric. */
  readonly name: string;
  readonly descending: boolean;
}

export interface ReportQuery {
  readonly dimensions: readonly string[];
  readonly metrics: readonly WorldMetric[];
  readonly filters: Filters;
  readonly days: DayInterval;
  readonly weekStartsOn: WeekStart;
  readonly utcOffset: UtcOffset;
  readonly currency: Currency;
  readonly moment: Moment;
  readonly attributionType: ValueOf<'attribution_type'>;
  readonly attributionSource: ValueOf<'attribution_source'>;
  readonly reattributed: ValueOf<'reattributed'>;
  /** Operating systems to report; null is all. */
  readonly osNames: ReadonlySet<string> | null;
  readonly sandbox: boolean;
  /** Cumulative values of cohorts that are not complete are withheld. */
  readonly matureOnly: boolean;
  readonly sort: readonly SortKey[];
  /** At most this many rows; null is all. */
  readonly limit: number | null;
}

const MS_PER_HOUR = 3_600_000;
const required = ['dimensions', 'metrics', 'date_period'] as const;

function listOf(query: URLSearchParams, parameter: string): string[] {
  const text = query.get(parameter);
  return text === null || text === '' ? [] : [...new Set(text.split(','))];
}

function oneOf<Name extends ParameterName>(
  query: URLSearchParams,
  parameter: Name,
  fallback: ValueOf<Name>,
): ValueOf<Name> {
  const text = query.get(parameter);
  if (text === null) return fallback;
  const allowed: readonly ValueOf<Name>[] = parameterValues[parameter];
  const known = allowed.find((value) => value === text.trim());
  if (known === undefined)
    throw invalid(parameter, `value is not a valid enumeration member; permitted: ${allowed.join(', ')}`);
  return known;
}

function parseDimensions(query: URLSearchParams, parameter: string, known: readonly string[]): readonly string[] {
  const names = listOf(query, parameter);
  for (const name of names) if (!known.includes(name)) throw unsupported('dimension', name, parameter);
  return names;
}

function parseMetrics(query: URLSearchParams, metrics: Vocabulary['metrics']): WorldMetric[] {
  return listOf(query, 'metrics').map((name) => {
    const metric = metrics.get(name);
    if (metric === undefined) throw unsupported('metric', name, 'metrics');
    return metric;
  });
}

function parseOffset(query: URLSearchParams): UtcOffset {
  const offset = parseUtcOffset(query.get('utc_offset') ?? '+00:00');
  if (offset === null) throw invalid('utc_offset', 'is not of the form [+-]HH:MM');
  return offset;
}

function parseCurrency(query: URLSearchParams): Currency {
  const code = query.get('currency') ?? currencies[0].code;
  const currency = currencies.find((known) => known.code === code);
  if (currency === undefined) throw invalid('currency', 'is not a supported currency code');
  return currency;
}

function parseSources(query: URLSearchParams): readonly string[] | null {
  const sources = listOf(query, 'ad_revenue_sources');
  const unknown = sources.find((source) => !parameterValues.ad_revenue_sources.some((known) => known === source));
  if (unknown !== undefined) throw invalid('ad_revenue_sources', `unknown source: ${unknown}`);
  return sources.length === 0 ? null : sources;
}

function parseSort(query: URLSearchParams, requested: readonly string[]): SortKey[] {
  return listOf(query, 'sort').map((text) => {
    const descending = text.startsWith('-');
    const name = descending ? text.slice(1) : text;
    if (!requested.includes(name)) throw invalid('sort', `is not a requested dimension or metric: ${name}`);
    return { name, descending };
  });
}

function parseLimit(query: URLSearchParams): number | null {
  const text = query.get('limit');
  if (text === null) return null;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw invalid('limit', 'is not a positive integer');
  return Number(text);
}

/** The comparison's answer is not documented: its value is checked, and changes nothing. */
function checkComparison(query: URLSearchParams): void {
  const text = query.get('period_over_period');
  if (text === null || /^-\d+d$/.test(text) || parseDay(text) !== null) return;
  oneOf(query, 'period_over_period', 'previous_period');
}

/** What a query is read by. */
export interface Understanding extends Pick<ReportQuery, 'weekStartsOn'>, Pick<Moment, 'settlingDays'> {
  readonly vocabulary: Vocabulary;
}

/** A report query as the service understands it; throws RequestRefused where the service answers 400. */
export function parseQuery(query: URLSearchParams, now: Date, understanding: Understanding): ReportQuery {
  const { vocabulary, settlingDays, weekStartsOn } = understanding;
  const absent = required.filter((parameter) => (query.get(parameter) ?? '') === '');
  if (absent.length > 0) throw missing(absent);

  const dimensions = parseDimensions(query, 'dimensions', vocabulary.dimensions);
  const requested = parseMetrics(query, vocabulary.metrics);
  const utcOffset = parseOffset(query);
  const currency = parseCurrency(query);
  const revenueMode = oneOf(query, 'iap_revenue_mode', 'GROSS_100');
  const revenueShare = Number(revenueMode.replace('GROSS_', '')) / 100;
  const osNames = listOf(query, 'os_names');
  parseDimensions(query, 'index', vocabulary.dimensions);
  checkComparison(query);
  // What dates look like unless told is not shown: here they always come in ISO form.
  oneOf(query, 'format_dates', 'true');

  return {
    dimensions,
    metrics: requested,
    filters: parseFilters(query, vocabulary),
    days: parsePeriod(query.get('date_period') ?? ''),
    weekStartsOn,
    utcOffset,
    currency,
    moment: {
      nowHour: Math.floor(now.getTime() / MS_PER_HOUR),
      rate: currency.rate,
      revenueRate: currency.rate * revenueShare,
      adSpendMode: oneOf(query, 'ad_spend_mode', 'attribution'),
      settlingDays,
      revenueSources: parseSources(query),
    },
    attributionType: oneOf(query, 'attribution_type', 'click'),
    attributionSource: oneOf(query, 'attribution_source', 'dynamic'),
    reattributed: oneOf(query, 'reattributed', 'all'),
    osNames: osNames.length === 0 ? null : new Set(osNames),
    sandbox: oneOf(query, 'sandbox', 'false') === 'true',
    matureOnly: oneOf(query, 'cohort_maturity', 'immature') === 'mature',
    sort: parseSort(query, [...dimensions, ...requested.map((metric) => metric.id)]),
    limit: parseLimit(query),
  };
}

/** The days of a `date_period` such as `2026-01-31:2026-02-28`, both inclusive, the one form that the interface shows. */
function parsePeriod(text: string): DayInterval {
  const [start = null, lastDay = null, ...rest] = text.split(':').map(parseDay);
  if (start === null || lastDay === null || rest.length > 0) throw invalid('date_period', 'is not a valid date period');
  if (daysBetween(start, lastDay) < 0) throw invalid('date_period', 'start date is after end date');
  return { start, end: addDays(lastDay, 1) };
}

interface DimensionFilter {
  readonly dimension: string;
  /** NULL passes no filter, as in SQL. */
  readonly accepts: (text: string | null) => boolean;
}

interface MetricFilter {
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

interface Filters {
  readonly dimensions: readonly DimensionFilter[];
  readonly metrics: readonly MetricFilter[];
}

/**
 * The filters among a query's parameters, all of which a row must pass. A filter of an unknown dimension or metric is
 * refused with 400, so that it never widens a report in silence; a parameter without a known suffix is none.
 */
function parseFilters(query: URLSearchParams, vocabulary: Vocabulary): Filters {
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
