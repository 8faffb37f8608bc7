/** filters-data: what a report may ask for, generated from the same tables the report answers from. */

import { type CatalogFilter, catalogFilters, catalogSections } from '../../model/catalog.ts';
import { isDateDimension } from '../../model/dimension.ts';
import { cohortFamilies, cohortPeriods } from './cohort-metrics.ts';
import { countries } from './countries.ts';
import type { WorldApp, WorldPartner } from './entities.ts';
import type { TrafficLane } from './lanes.ts';
import type { FilterItem, WorldMetric, MetricFilterName, Vocabulary } from './metric.ts';
import { currencies, invalid, missing, parameterValues } from './parameters.ts';

export interface CatalogSource {
  readonly apps: readonly WorldApp[];
  readonly partners: readonly WorldPartner[];
  readonly lanes: readonly TrafficLane[];
  readonly vocabulary: Vocabulary;
}

function choice(id: string, name = id): FilterItem {
  return {
    id,
    name,
    short_name: '',
    section: '',
    formatting: 'select',
    description: '',
    increase_is_negative: false,
  };
}

const choices = (ids: readonly string[]): FilterItem[] => ids.map((id) => choice(id, readable(id)));

function readable(id: string): string {
  const words = id.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The item of a metric, without what else is known of it. */
function metricItem(metric: WorldMetric): FilterItem {
  const { id, name, short_name, section, formatting, description, increase_is_negative } = metric;
  return { id, name, short_name, section, formatting, description, increase_is_negative };
}

function listedUnder(filter: MetricFilterName): Lister {
  return ({ vocabulary }) =>
    [...vocabulary.metrics.values()].filter((metric) => metric.filter === filter).map((metric) => metricItem(metric));
}

/** Offsets by the half hour, as the service accepts them. */
function utcOffsets(): FilterItem[] {
  const firstHalfHour = -24;
  const lastHalfHour = 28;
  return Array.from({ length: lastHalfHour - firstHalfHour + 1 }, (_, index) => {
    const halfHours = firstHalfHour + index;
    const size = Math.abs(halfHours);
    const hours = String(Math.floor(size / 2)).padStart(2, '0');
    const id = `${halfHours < 0 ? '-' : '+'}${hours}:${size % 2 === 0 ? '00' : '30'}`;
    return choice(id, `UTC${id}`);
  });
}

/** Values of a text dimension that have traffic, in order of first appearance. */
function seen(source: CatalogSource, dimension: 'os_name' | 'network' | 'store_type'): FilterItem[] {
  return [...new Set(source.lanes.map((lane) => lane.texts[dimension]))].map((text) => choice(text));
}

function dimensionItem(id: string): FilterItem {
  return { ...choice(id, readable(id)), formatting: id !== 'quarter' && isDateDimension(id) ? 'date' : 'string' };
}

type Lister = (source: CatalogSource) => readonly FilterItem[];

const listers: Readonly<Record<CatalogFilter, Lister>> = {
  apps: ({ apps }) => apps.map((app) => choice(app.token, app.name)),
  apps_network: ({ apps }) =>
    apps.map((app) => choice(`${app.os === 'ios' ? 'app_store' : 'google_play'}:${app.storeId}`, app.name)),
  overview_metrics: listedUnder('overview_metrics'),
  skad_metrics: listedUnder('skad_metrics'),
  cohort_maturity: () => choices(parameterValues.cohort_maturity),
  cohort_metrics: listedUnder('cohort_metrics'),
  event_metrics: listedUnder('event_metrics'),
  cost_metrics: listedUnder('cost_metrics'),
  etl_metrics: ({ vocabulary }) =>
    [...vocabulary.metrics.values()]
      .filter((metric) => metric.additive && metric.filter === 'overview_metrics')
      .map((metric) => metricItem(metric)),
  dimensions: ({ vocabulary }) => vocabulary.dimensions.map((dimension) => dimensionItem(dimension)),
  countries: () => countries.map((country) => choice(country.code, country.name)),
  currencies: () => currencies.map((currency) => choice(currency.code, currency.name)),
  os_names: (source) => seen(source, 'os_name'),
  networks: (source) => seen(source, 'network'),
  partners: ({ partners }) => [
    choice('-300', 'Organic'),
    ...partners.map((partner) => choice(String(partner.id), partner.display_name)),
  ],
  ad_revenue_sources: () => choices(parameterValues.ad_revenue_sources),
  iap_revenue_mode: () => choices(parameterValues.iap_revenue_mode),
  attribution_type: () => choices(parameterValues.attribution_type),
  attribution_source: () => choices(parameterValues.attribution_source),
  attribution_status: () => choices(['installed', 'reattributed', 'rejected']),
  ad_spend_mode: () => choices(parameterValues.ad_spend_mode),
  utc_offset: () => utcOffsets(),
  attributes: () => choices(['tracker', 'fingerprint_attribution', 'match_type']),
  index: ({ vocabulary }) => vocabulary.dimensions.map((dimension) => dimensionItem(dimension)),
  period_over_period: () => choices(parameterValues.period_over_period),
  cohort_metric_names: () => cohortFamilies.map(([id, name]) => choice(id, name)),
  full_cohort_periods: () => choices(cohortPeriods.map((period) => period.id)),
  store_type: (source) => seen(source, 'store_type'),
  skad_time_adjustment: () => choices(['0', '24', '36', '48', '60', '72']),
};

const isFilter = (name: string): name is CatalogFilter => catalogFilters.some((known) => known === name);
const isSection = (name: string): boolean => catalogSections.some((known) => known === name);
const sectionOf = (item: FilterItem): string => item.section.toLowerCase().replaceAll(' ', '_');

function parseSection(query: URLSearchParams): string | null {
  const section = query.get('section');
  if (section !== null && !isSection(section)) {
    throw invalid('section', `value is not a valid enumeration member; permitted: ${catalogSections.join(', ')}`);
  }
  return section;
}

/**
 * The items of each filter in `required_filters`, limited by `section` and `<filter>__contains` (id or name, whatever
 * the case). Throws RequestRefused where the service answers 400.
 */
export function listFilterItems(
  query: URLSearchParams,
  source: CatalogSource,
): Readonly<Record<string, readonly FilterItem[]>> {
  const required = query.get('required_filters') ?? '';
  if (required === '') throw missing(['required_filters']);
  const section = parseSection(query);
  const answer = required.split(',').map((filter): [string, readonly FilterItem[]] => {
    if (!isFilter(filter)) throw invalid('required_filters', 'is not valid');
    const part = (query.get(`${filter}__contains`) ?? '').toLowerCase();
    const items = listers[filter](source).filter(
      (item) =>
        (section === null || sectionOf(item) === section) &&
        (item.id.toLowerCase().includes(part) || item.name.toLowerCase().includes(part)),
    );
    return [filter, items];
  });
  return Object.fromEntries(answer);
}
