/** filters-data: what a report may request, from the same tables that reports are computed from. */

import { catalogFilters, catalogSections, metricFilterNames } from '../../model/catalog.ts';
import { dimensions, isDateDimension } from '../../model/dimension.ts';
import { countries } from './countries.ts';
import type { WorldApp, WorldPartner } from './entities.ts';
import type { TrafficLane } from './lanes.ts';
import { type FilterItem, readable, type WorldMetric, type WorldMetrics } from './metric.ts';
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

function listsOf({ apps, partners, lanes, metrics }: CatalogSource) {
  const itemsOf = (isListed: (metric: WorldMetric) => boolean) =>
    [...metrics.values()].filter(isListed).map(({ item }) => item);
  const textsOf = (dimension: string) =>
    [...new Set(lanes.map(({ texts }) => texts.get(dimension) ?? ''))].map((text) => choice(text));
  const offsets = Array.from({ length: 53 }, (_, index) => {
    const halfHours = index - 24;
    const hours = String(Math.floor(Math.abs(halfHours) / 2)).padStart(2, '0');
    const id = `${halfHours < 0 ? '-' : '+'}${hours}:${halfHours % 2 === 0 ? '00' : '30'}`;
    return choice(id, `UTC${id}`);
  });
  const dimensionItems = dimensions.map((id) =>
    choice(id, readable(id), id !== 'quarter' && isDateDimension(id) ? 'date' : 'string'),
  );
  const options = Object.entries(parameterValues).map(
    ([name, ids]) => [name, choices(ids)] as const,
  );
  const named = metricFilterNames.map(
    (name) => [name, itemsOf(({ filter }) => filter === name)] as const,
  );
  return new Map<string, readonly FilterItem[]>([
    ...options,
    ...named,
    ['etl_metrics', itemsOf(({ additive, filter }) => additive && filter === 'overview_metrics')],
    ['apps', apps.map(({ token, name }) => choice(token, name))],
    [
      'apps_network',
      apps.map(({ storeType, storeId, name }) => choice(`${storeType}:${storeId}`, name)),
    ],
    ['dimensions', dimensionItems],
    ['countries', countries.map(({ code, name }) => choice(code, name))],
    ['currencies', currencies.map(({ code, name }) => choice(code, name))],
    ['os_names', textsOf('os_name')],
    ['networks', textsOf('network')],
    [
      'partners',
      [
        choice('-300', 'Organic'),
        ...partners.map((partner) => choice(String(partner.id), partner.display_name)),
      ],
    ],
    ['attribution_status', choices(['installed', 'reattributed', 'rejected'])],
    ['utc_offset', offsets],
    ['attributes', choices(['tracker', 'fingerprint_attribution', 'match_type'])],
    ['index', dimensionItems],
    ['cohort_metric_names', choices(cohortFamilies)],
    ['full_cohort_periods', choices(cohortPeriods.map(({ id }) => id))],
    ['store_type', textsOf('store_type')],
    ['skad_time_adjustment', choices(['0', '24', '36', '48', '60', '72'])],
  ]);
}

export function listFilterItems(query: URLSearchParams, source: CatalogSource) {
  const required = query.get('required_filters') ?? '';
  if (required === '') throw invalid('required_filters', 'field required');
  const section = query.get('section');
  if (section !== null && !catalogSections.some((name) => name === section)) {
    const permitted = catalogSections.join(', ');
    throw invalid('section', `value is not a valid enumeration member; permitted: ${permitted}`);
  }
  const sectionOf = (item: FilterItem) => item.section.toLowerCase().replaceAll(' ', '_');
  const lists = listsOf(source);
  const answer = required.split(',').map((name): [string, readonly FilterItem[]] => {
    const items = catalogFilters.some((filter) => filter === name) ? lists.get(name) : undefined;
    if (items === undefined) throw invalid('required_filters', 'is not valid');
    const part = (query.get(`${name}__contains`) ?? '').toLowerCase();
    const matching = items.filter(
      (item) =>
        (section === null || sectionOf(item) === section) &&
        (item.id.toLowerCase().includes(part) || item.name.toLowerCase().includes(part)),
    );
    return [name, matching];
  });
  return Object.fromEntries(answer);
}
