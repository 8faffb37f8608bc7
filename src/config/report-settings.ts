/** The report parameters that a slice or `defaults` can set, under the service's own names (service-interface: GET report). */

import * as z from 'zod';

import {
  dimensionFilters,
  dimensions,
  isDimension,
  metricFilters,
  parseFilterKey,
} from '../model/dimension.ts';
import type { Slice } from '../model/slice.ts';
import { suggestion } from './config-problems.ts';
import {
  isServiceName,
  listedText,
  serviceName,
  text,
  utcOffset,
  wholeNumber,
} from './setting-kinds.ts';

const LIST_OR_TEXT =
  'must be text, a number or a list of them; an empty list selects nothing and is refused';

const textList = z.array(listedText).min(1);
const listedValue = z.union([listedText, z.number()], { error: 'must be text or a number' });
const filterValue = z.union([text, z.number(), z.array(listedValue).min(1)], {
  error: LIST_OR_TEXT,
});
const extraValue = z.union([text, z.number(), z.boolean(), z.array(listedValue).min(1)], {
  error: LIST_OR_TEXT,
});

const sortKey = text.refine((value) => isServiceName(value.replace(/^-/, '')), {
  error:
    'is not a name to sort by; must be a metric or a dimension, with a leading - for descending order',
});

const optional = (text: string) => `${text} Left to the service's default unless set.`;

/** Null leaves a parameter out. Any text is accepted, as the documents differ. */
const parameterShape = {
  cohort_maturity: listedText
    .default('immature')
    .describe('Whether values of unfinished cohorts are fetched (immature) or withheld (mature).'),
  utc_offset: utcOffset
    .prefault('+00:00')
    .describe('The report\'s time zone, "+HH:MM", without daylight saving time.'),
  attribution_type: listedText
    .nullable()
    .default('all')
    .describe('The engagement credited: all, click or impression.'),
  attribution_types: textList
    .nullish()
    .describe('Engagements credited, in place of attribution_type, which is then null.'),
  attribution_source: listedText
    .nullable()
    .default('dynamic')
    .describe('Which attribution is reported: dynamic or first.'),
  reattributed: z
    .union([listedText, z.boolean()], { error: 'must be text such as all, true or false' })
    .nullish()
    .describe(optional('Filter for reattributed users: all, true or false.')),
  iap_revenue_mode: listedText
    .nullish()
    .describe(optional('Share of gross revenue returned, such as GROSS_70.')),
  ad_revenue_sources: textList.nullish().describe('Ad revenue sources to include.'),
  os_names: textList.nullish().describe('Operating systems to include.'),
  ad_spend_mode: listedText
    .nullish()
    .describe(optional('Source of ad spend: attribution, network or mixed.')),
  sandbox: z.boolean().nullable().default(false).describe('Sandbox instead of production.'),
  sort: z
    .array(sortKey)
    .min(1)
    .nullish()
    .describe('Metrics or dimensions to sort by; a leading - sorts descending.'),
  index: z
    .array(serviceName('dimension'))
    .min(1)
    .nullish()
    .describe('Dimensions that index the report.'),
  period_over_period: listedText
    .nullish()
    .describe('Period to compare with, such as previous_week.'),
  currency: listedText
    .nullish()
    .describe(optional('Currency that money is converted to, such as USD.')),
  limit: wholeNumber(1)
    .nullish()
    .describe('Maximum rows of one response; a response with as many counts as incomplete.'),
} as const;

export const parameterNames = z.object(parameterShape).keyof().options;

/** As documented. filters-data may list further ones. */
export const documentedValues: ReadonlyMap<string, readonly string[]> = new Map([
  ['ad_spend_mode', ['attribution', 'network', 'mixed']],
  ['attribution_source', ['first', 'dynamic']],
  ['attribution_type', ['all', 'click', 'impression']],
  ['cohort_maturity', ['mature', 'immature']],
  ['reattributed', ['all', 'true', 'false']],
]);

/** Parameters whose default affects what values mean. */
const weighty = [
  'ad_spend_mode',
  'attribution_source',
  'attribution_type',
  'currency',
  'iap_revenue_mode',
  'reattributed',
  'sandbox',
];

export function leftToService({ parameters }: Pick<Slice, 'parameters'>): string[] {
  const sent = new Set(Object.keys(parameters));
  if (sent.has('attribution_types')) sent.add('attribution_type');
  return weighty.filter((name) => !sent.has(name));
}

const ownParameters = ['dimensions', 'metrics', 'date_period', 'format_dates'] as const;

const keyWithout = (problemOf: (key: string) => string | null) =>
  z.string().refine((key) => problemOf(key) === null, {
    error: ({ input }) => problemOf(String(input)) ?? '',
  });

const filterKey = keyWithout(filterKeyProblem).meta({
  pattern: `.__(${[...dimensionFilters, ...metricFilters].join('|')})$`,
});
const extraKey = keyWithout(extraKeyProblem);

export const reportShape = {
  ...parameterShape,
  filters: z
    .record(filterKey, filterValue)
    .optional()
    .describe(
      `Filters, <dimension>__<suffix> or <metric>__<suffix>. Dimensions: ${dimensionFilters.join(', ')} (the first two are lists). Metrics: ${metricFilters.join(', ')} (numbers).`,
    ),
  extra_parameters: z
    .record(extraKey, extraValue)
    .optional()
    .describe('Other report parameters, sent as written.'),
} as const;

function filterKeyProblem(key: string) {
  const filter = parseFilterKey(key);
  const suffixes = [...dimensionFilters, ...metricFilters];
  if (filter === null || (filter.kind === 'metric' && isDimension(filter.name))) {
    const prefix = key.slice(0, Math.max(0, key.lastIndexOf('__')));
    const names = [prefix, ...dimensions].filter((name) => name !== '');
    const keys = names.flatMap((name) => suffixes.map((suffix) => `${name}__${suffix}`));
    const allowed = `<dimension>__ ${dimensionFilters.join(', ')}, or <metric>__ ${metricFilters.join(', ')}`;
    return `is not a filter; must be ${allowed}${suggestion(key, keys)}`;
  }
  if (isServiceName(filter.name)) return null;
  return 'filters by something that is not a name; must be text without commas, control characters and blanks around it';
}

function extraKeyProblem(key: string) {
  if (!/^[\w.[\]-]+$/.test(key))
    return 'is not a parameter name; must be letters, digits and _ . - [ ]';
  if (ownParameters.some((name) => name === key)) return 'is set by ripen itself; remove it';
  const isKnown = Object.hasOwn(parameterShape, key) || parseFilterKey(key) !== null;
  return isKnown ? `is a parameter or a filter; set ${key} itself, a filter under filters` : null;
}
