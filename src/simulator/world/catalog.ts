/** filters-data: what a report may request, from the same tables that reports are computed from. */

import {
  type CatalogFilter,
  catalogFilters,
  catalogSections,
  metricFilterNames,
} from '../../model/catalog.ts';
import { dimensions, isDateDimension } from '../../model/dimension.ts';
import { countries } from './countries.ts';
import type { WorldApp, WorldPartner } from './entities.ts';
import type { TrafficLane } from './lanes.ts';
import {
  type FilterItem,
  type MetricFilterName,
  readable,
  type WorldMetric,
  type WorldMetrics,
} from './metric.ts';
import { cohortFamilies, cohortPeriods } from './metrics.ts';
import { currencies, invalid, parameterValues } from './parameters.ts';

interface CatalogSource {
  readonly apps: readonly WorldApp[];
  readonly partners: readonly WorldPartner[];
  readonly lanes: readonly TrafficLane[];
  readonly metrics: WorldMetrics;
}

const choice = (id: string, name = id, formatting = 'select'): FilterItem => {
  return { id, name, short_name: '', section: '', formatting, description: '' };
};

const choices = (ids: readonly string[]) => ids.map((id) => choice(id, readable(id)));

const itemsOf = ({ metrics }: CatalogSource, isListed: (metric: WorldMetric) => boolean) =>
  [...metrics.values()].filter(isListed).map((metric) => {
    const { id, name, short_name, section, formatting, description } = metric;
    return { id, name, short_name, section, formatting, description };
  });

function utcOffsets(): FilterItem[] {
  return Array.from({ length: 53 }, (_, index) => {
    const halfHours = index - 24;
    const hours = String(Math.floor(Math.abs(halfHours) / 2)).padStart(2, '0');
    const id = `${halfHours < 0 ? '-' : '+'}${hours}:${halfHours % 2 === 0 ? '00' : '30'}`;
    return choice(id, `UTC${id}`);
  });
}

const seen = ({ lanes }: CatalogSource, dimension: string) =>
  [...new Set(lanes.map(({ texts }) => texts.get(dimension) ?? ''))].map((text) => choice(text));

const dimensionItems = () =>
  dimensions.map((id) =>
    choice(id, readable(id), id !== 'quarter' && isDateDimension(id) ? 'date' : 'string'),
  );

type Lister = (source: CatalogSource) => readonly FilterItem[];

const isOfMetrics = (filter: CatalogFilter): filter is MetricFilterName =>
  filter !== 'etl_metrics' && metricFilterNames.some((name) => name === filter);

type ParameterFilter = CatalogFilter & keyof typeof parameterValues;

const isOfParameter = (filter: CatalogFilter): filter is ParameterFilter =>
  Object.hasOwn(parameterValues, filter);

const listers: Readonly<
  Record<Exclude<CatalogFilter, MetricFilterName | ParameterFilter>, Lister>
> = {
  apps: ({ apps }) => apps.map((app) => choice(app.token, app.name)),
  apps_network: ({ apps }) =>
    apps.map((app) => choice(`${app.storeType}:${app.storeId}`, app.name)),
  etl_metrics: (source) =>
    itemsOf(source, ({ additive, filter }) => additive && filter === 'overview_metrics'),
  dimensions: dimensionItems,
  countries: () => countries.map((country) => choice(country.code, country.name)),
  currencies: () => currencies.map((currency) => choice(currency.code, currency.name)),
  os_names: (source) => seen(source, 'os_name'),
  networks: (source) => seen(source, 'network'),
  partners: ({ partners }) => [
    choice('-300', 'Organic'),
    ...partners.map((partner) => choice(String(partner.id), partner.display_name)),
  ],
  attribution_status: () => choices(['installed', 'reattributed', 'rejected']),
  utc_offset: utcOffsets,
  attributes: () => choices(['tracker', 'fingerprint_attribution', 'match_type']),
  index: dimensionItems,
  cohort_metric_names: () => choices(cohortFamilies),
  full_cohort_periods: () => choices(cohortPeriods.map((period) => period.id)),
  store_type: (source) => seen(source, 'store_type'),
  skad_time_adjustment: () => choices(['0', '24', '36', '48', '60', '72']),
};

function listOf(filter: CatalogFilter, source: CatalogSource): readonly FilterItem[] {
  if (isOfMetrics(filter)) return itemsOf(source, (metric) => metric.filter === filter);
  return isOfParameter(filter) ? choices(parameterValues[filter]) : listers[filter](source);
}

export function listFilterItems(query: URLSearchParams, source: CatalogSource) {
  const required = query.get('required_filters') ?? '';
  if (required === '') throw invalid('required_filters', 'field required');
  const section = query.get('section');
  if (section !== null && !catalogSections.some((known) => known === section)) {
    const permitted = catalogSections.join(', ');
    throw invalid('section', `value is not a valid enumeration member; permitted: ${permitted}`);
  }
  const sectionOf = (item: FilterItem) => item.section.toLowerCase().replaceAll(' ', '_');
  const answer = required.split(',').map((name): [string, readonly FilterItem[]] => {
    const filter = catalogFilters.find((known) => known === name);
    if (filter === undefined) throw invalid('required_filters', 'is not valid');
    const part = (query.get(`${filter}__contains`) ?? '').toLowerCase();
    const items = listOf(filter, source).filter(
      (item) =>
        (section === null || sectionOf(item) === section) &&
        (item.id.toLowerCase().includes(part) || item.name.toLowerCase().includes(part)),
    );
    return [filter, items];
  });
  return Object.fromEntries(answer);
}
