/** Parses and checks the query of a report. Refuses what the service would refuse. */

import * as z from 'zod';

import { addDays, parseDay, parseUtcOffset } from '../../model/calendar.ts';
import {
  type dimensionFilters,
  isDimension,
  type metricFilters,
  parseFilterKey,
} from '../../model/dimension.ts';
import { MS_PER_HOUR } from './hash.ts';
import type { Moment } from './measures.ts';
import { inUnits, type WorldMetric, type WorldMetrics } from './metric.ts';
import { currencies, invalid, parameterValues as values, unsupported } from './parameters.ts';

function readAs<T>(read: (text: string) => T | null, message: string): z.ZodType<T, string> {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue(message);
    return z.NEVER;
  });
}

const namesIn = (text: string) => [...new Set(text.split(',').filter((name) => name !== ''))];
const names = z.string().transform(namesIn);
const someNames = readAs((text) => (text === '' ? null : namesIn(text)), 'field required');

/** `2026-01-31:2026-02-28`, both inclusive: the only form that the interface shows. */
const days = readAs((text) => {
  const [start = null, lastDay = null, ...rest] = text.split(':').map(parseDay);
  if (start === null || lastDay === null || start > lastDay || rest.length > 0) return null;
  return { start, end: addDays(lastDay, 1) };
}, 'is not a valid date period');

/** A known name, a relative day (`-7d`) or a calendar day. */
const isComparison = (text: string) =>
  /^-\d+d$/.test(text) ||
  parseDay(text) !== null ||
  values.period_over_period.some((name) => name === text);

/** service-interface: GET report, with the service's defaults. */
const parameters = z.object({
  dimensions: someNames,
  metrics: someNames,
  date_period: days,
  cohort_maturity: z.enum(values.cohort_maturity).default('immature'),
  utc_offset: readAs(parseUtcOffset, 'is not of the form [+-]HH:MM').prefault('+00:00'),
  attribution_type: z.enum(values.attribution_type).default('click'),
  attribution_source: z.enum(values.attribution_source).default('dynamic'),
  reattributed: z.enum(values.reattributed).default('all'),
  iap_revenue_mode: z.enum(values.iap_revenue_mode).default('GROSS_100'),
  ad_revenue_sources: names.pipe(z.array(z.enum(values.ad_revenue_sources))).prefault(''),
  os_names: z.string().optional(),
  ad_spend_mode: z.enum(values.ad_spend_mode).default('attribution'),
  sandbox: z.enum(values.sandbox).default('false'),
  sort: names.prefault(''),
  index: names.prefault(''),
  // The interface does not show how dates look by default: here they always have the form of `false`.
  format_dates: z.enum(values.format_dates).default('true'),
  // The answer with a comparison is not documented: the value is checked, but has no effect.
  period_over_period: z.string().refine(isComparison, 'is not a known period').optional(),
  currency: readAs(
    (text) => currencies.find(({ code }) => code === text) ?? null,
    'is not a supported currency code',
  ).prefault('USD'),
  limit: z.coerce.number().int().positive().default(Infinity),
});

/** Lists match exactly, others ignore case. */
const textTests: Readonly<
  Record<(typeof dimensionFilters)[number], (text: string, value: string) => boolean>
> = {
  in: (text, value) => value.split(',').includes(text),
  not_in: (text, value) => !value.split(',').includes(text),
  contains: (text, value) => text.toLowerCase().includes(value.toLowerCase()),
  exclude: (text, value) => !textTests.contains(text, value),
  starts_with: (text, value) => text.toLowerCase().startsWith(value.toLowerCase()),
  not_starts_with: (text, value) => !textTests.starts_with(text, value),
  ends_with: (text, value) => text.toLowerCase().endsWith(value.toLowerCase()),
  not_ends_with: (text, value) => !textTests.ends_with(text, value),
};

const comparisons: Readonly<
  Record<(typeof metricFilters)[number], (value: number, limit: number) => boolean>
> = {
  lt: (value, limit) => value < limit,
  lte: (value, limit) => value <= limit,
  gt: (value, limit) => value > limit,
  gte: (value, limit) => value >= limit,
  eq: (value, limit) => value === limit,
  ne: (value, limit) => value !== limit,
};

export type ReportQuery = ReturnType<typeof parseQuery>;

/** Throws RequestRefused for an unknown dimension or metric, so that it never widens a report silently. */
export function parseQuery(query: URLSearchParams, now: Date, metrics: WorldMetrics) {
  const parsed = parameters.safeParse(Object.fromEntries(query));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(String(issue?.path[0]), issue?.message ?? '');
  }
  const { data } = parsed;
  const { currency, ad_revenue_sources: sources, os_names: osNames } = data;
  const checkDimension = (name: string, parameter: string) => {
    if (!isDimension(name)) throw unsupported('dimension', name, parameter);
  };
  const metricOf = (name: string, parameter: string) => {
    const metric = metrics.get(name);
    if (metric === undefined) throw unsupported('metric', name, parameter);
    return metric;
  };
  for (const name of data.dimensions) checkDimension(name, 'dimensions');
  for (const name of data.index) checkDimension(name, 'index');
  const textFilters: { dimension: string; accepts: (text: string | null) => boolean }[] = [];
  const valueFilters: { metric: WorldMetric; accepts: (value: number | null) => boolean }[] = [];
  const osFilter = osNames === undefined ? [] : [['os_name__in', osNames] as const];
  for (const [parameter, operand] of [...query, ...osFilter]) {
    const filter = parseFilterKey(parameter);
    if (filter?.kind === 'dimension') {
      const { name: dimension, suffix } = filter;
      checkDimension(dimension, parameter);
      const accepts = (text: string | null) => text !== null && textTests[suffix](text, operand);
      textFilters.push({ dimension, accepts });
    } else if (filter !== null) {
      const metric = metricOf(filter.name, parameter);
      if (!/^[+-]?\d+(\.\d+)?$/.test(operand)) throw invalid(parameter, 'is not a number');
      const accepts = (value: number | null) =>
        value !== null && comparisons[filter.suffix](inUnits(metric, value), Number(operand));
      valueFilters.push({ metric, accepts });
    }
  }
  const requested = new Set([...data.dimensions, ...data.metrics]);
  return {
    ...data,
    textFilters,
    valueFilters,
    metrics: data.metrics.map((name) => metricOf(name, 'metrics')),
    sort: data.sort.map((text) => {
      const name = text.replace(/^-/, '');
      if (!requested.has(name))
        throw invalid('sort', `is not a requested dimension or metric: ${name}`);
      return { name, descending: name !== text };
    }),
    moment: {
      nowHour: Math.floor(now.getTime() / MS_PER_HOUR),
      rate: currency.rate,
      revenueRate: (currency.rate * Number(data.iap_revenue_mode.replace('GROSS_', ''))) / 100,
      adSpendMode: data.ad_spend_mode,
      revenueSources: sources.length === 0 ? null : sources,
    } satisfies Moment,
  };
}
