/**
 * The report parameters a slice, or `defaults` for all slices, can set under the service's own names
 * (service-interface: GET report).
 */

import * as z from 'zod';

import { dimensionFilters, dimensions, metricFilters } from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import { suggestion } from './config-problems.ts';
import { isServiceName, listedText, serviceName, text, utcOffset, wholeNumber } from './setting-kinds.ts';

/** What a parameter can be set to before it becomes the text that goes on the wire. */
export type ParameterValue = string | number | boolean | readonly (string | number)[];

const LIST_OR_TEXT = 'must be text, a number or a list of them; an empty list selects nothing and is refused';

const textList = z.array(listedText).min(1);
const listedValue = z.union([listedText, z.number()], { error: 'must be text or a number' });
const filterValue = z.union([text, z.number(), z.array(listedValue).min(1)], { error: LIST_OR_TEXT });
const extraValue = z.union([text, z.number(), z.boolean(), z.array(listedValue).min(1)], { error: LIST_OR_TEXT });

const sortKey = text.refine((value) => isServiceName(value.replace(/^-/, '')), {
  error: 'is not a name to sort by; must be a metric or a dimension, with a leading - for descending order',
});

/**
 * Parameters with a name of their own; null leaves one out of the request. Time zone and maturity give values their meaning, and
 * are always sent. Sets of values drift between the service's documents: any text is accepted.
 */
const parameterShape = {
  cohort_maturity: listedText
    .optional()
    .describe('Whether values of unfinished cohorts are fetched (immature, the default) or withheld (mature).'),
  utc_offset: utcOffset.optional().describe('The report\'s time zone, "+HH:MM"; knows no daylight saving. "+00:00".'),
  attribution_type: listedText.nullish().describe('The engagement credited: all, click or impression. all.'),
  attribution_types: textList
    .nullish()
    .describe('Engagements credited, in place of attribution_type, which is then null.'),
  attribution_source: listedText.nullish().describe('Which attribution is reported: dynamic or first. dynamic.'),
  reattributed: z
    .union([listedText, z.boolean()], { error: 'must be text such as all, true or false' })
    .nullish()
    .describe("Filter for reattributed users: all, true or false. Left to the service's default unless set."),
  iap_revenue_mode: listedText
    .nullish()
    .describe("Share of gross revenue returned, such as GROSS_70. Left to the service's default unless set."),
  ad_revenue_sources: textList.nullish().describe('Ad revenue sources to include.'),
  os_names: textList.nullish().describe('Operating systems to include.'),
  ad_spend_mode: listedText
    .nullish()
    .describe("Source of ad spend: attribution, network or mixed. Left to the service's default unless set."),
  sandbox: z.boolean().nullish().describe('Sandbox instead of production. false.'),
  sort: z.array(sortKey).min(1).nullish().describe('Metrics or dimensions to sort by; a leading - sorts descending.'),
  index: z.array(serviceName('dimension')).min(1).nullish().describe('Dimensions that index the report.'),
  period_over_period: listedText.nullish().describe('Period to compare with, such as previous_week.'),
  currency: listedText
    .nullish()
    .describe("Currency that money is converted to, such as USD. Left to the service's default unless set."),
  limit: wholeNumber(1).nullish().describe('Most rows of one answer; as many rows as this are held incomplete.'),
} as const;

export const parameterNames = z.object(parameterShape).keyof().options;

/** The values the service's own document knows of a parameter; filters-data, where it answers, knows better. */
export const documentedValues: ReadonlyMap<string, readonly string[]> = new Map([
  ['ad_spend_mode', ['attribution', 'network', 'mixed']],
  ['attribution_source', ['first', 'dynamic']],
  ['attribution_type', ['all', 'click', 'impression']],
  ['cohort_maturity', ['mature', 'immature']],
  ['reattributed', ['all', 'true', 'false']],
]);

/** Documented defaults, and ripen's own where the service's is uncertain: sent unless a setting is null. */
export const statedDefaults: Readonly<Record<string, string | boolean>> = {
  attribution_source: 'dynamic',
  attribution_type: 'all',
  cohort_maturity: 'immature',
  sandbox: false,
  utc_offset: '+00:00',
};

/** Parameters without a documented default: sent when set. */
const undocumentedDefaults = ['ad_spend_mode', 'currency', 'iap_revenue_mode', 'reattributed'] as const;

/** Parameters that a slice leaves to the service's own default. */
export function leftToService({ parameters }: Pick<Slice, 'parameters'>): string[] {
  const isSent = (name: string): boolean =>
    Object.hasOwn(parameters, name) || (name === 'attribution_type' && Object.hasOwn(parameters, 'attribution_types'));
  return [...Object.keys(statedDefaults), ...undocumentedDefaults].filter((name) => !isSent(name)).toSorted();
}

/** What ripen itself puts into a report request. */
const ownParameters = ['dimensions', 'metrics', 'date_period', 'format_dates'] as const;

const filterKey = z
  .string()
  .meta({ pattern: `.__(${[...dimensionFilters, ...metricFilters].join('|')})$` })
  .refine((key) => filterKeyProblem(key) === null, {
    error: (issue) => filterKeyProblem(String(issue.input)) ?? '',
  });

const extraKey = z.string().refine((key) => extraKeyProblem(key) === null, {
  error: (issue) => extraKeyProblem(String(issue.input)) ?? '',
});

/** Every report parameter. */
export const reportShape = {
  ...parameterShape,
  filters: z
    .record(filterKey, filterValue)
    .optional()
    .describe(
      'Filters, <dimension>__<suffix> or <metric>__<suffix>. Dimensions: in, not_in (lists), contains, exclude, ' +
        'starts_with, not_starts_with, ends_with, not_ends_with (text). Metrics: lt, lte, gt, gte, eq, ne (numbers).',
    ),
  extra_parameters: z.record(extraKey, extraValue).optional().describe('Other report parameters, passed on as stated.'),
} as const;

const reportSettings = z.object(reportShape);

export type ReportSettings = z.output<typeof reportSettings>;

export interface FilterKey {
  readonly name: string;
  readonly suffix: string;
  readonly kind: 'dimension' | 'metric';
}

/** The parts of `<name>__<suffix>`; null when the key has no such form or the suffix is unknown. */
export function parseFilterKey(key: string): FilterKey | null {
  const split = key.lastIndexOf('__');
  if (split < 1) return null;
  const [name, suffix] = [key.slice(0, split), key.slice(split + 2)];
  if (dimensionFilters.some((known) => known === suffix)) return { name, suffix, kind: 'dimension' };
  return metricFilters.some((known) => known === suffix) ? { name, suffix, kind: 'metric' } : null;
}

/** What is wrong with a filter's key; null when nothing is. */
function filterKeyProblem(key: string): string | null {
  const split = key.lastIndexOf('__');
  if (split < 1) {
    const near = suggestion(
      key,
      dimensions.flatMap((name) => dimensionFilters.map((suffix) => `${name}__${suffix}`)),
    );
    return `is not a filter; must be <dimension>__<suffix> or <metric>__<suffix>${near}`;
  }
  const [name, suffix] = [key.slice(0, split), key.slice(split + 2)];
  const isDimension = dimensions.some((known) => known === name);
  const parsed = parseFilterKey(key);
  if (parsed === null || (isDimension && parsed.kind === 'metric')) {
    const suffixes = isDimension ? dimensionFilters : [...dimensionFilters, ...metricFilters];
    const near = suggestion(
      key,
      suffixes.map((known) => `${name}__${known}`),
    );
    return `has the suffix ${JSON.stringify(suffix)}; allowed${isDimension ? ' for a dimension' : ''}: ${suffixes.join(', ')}${near}`;
  }
  return isServiceName(name)
    ? null
    : 'filters by what is no name; must be text without commas, control characters and blanks around it';
}

/** What is wrong with the key of an extra parameter; null when nothing is. */
function extraKeyProblem(key: string): string | null {
  if (!/^[\w.[\]-]+$/.test(key)) return 'is not a parameter name; must be letters, digits and _ . - [ ]';
  if (ownParameters.some((known) => known === key)) return `restates ${key}, which ripen sends itself; leave it out`;
  if (Object.hasOwn(parameterShape, key)) return `restates a parameter with a name of its own; set ${key} itself`;
  return parseFilterKey(key) === null ? null : 'restates a filter; set it under filters';
}
