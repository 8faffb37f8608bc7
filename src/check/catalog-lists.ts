/** The lists of filters-data that slices are compared with, and which of them has the names of a setting. */

import { documentedValues, type parseFilterKey } from '../config/report-settings.ts';
import { dimensionValues, metricFilterNames, type Catalog, type CatalogFilter } from '../model/catalog.ts';
import { isMetricItem } from '../model/metric.ts';

export type ListedNames = ReadonlySet<string>;

/** What rows contain where there is no partner, network or country to name (observed: organic, odd values); no list need have it. */
export const oddValues: ListedNames = new Set([
  '-300',
  'Organic',
  'unknown',
  'Expired Attributions',
  'Unknown Devices',
]);

/** Parameters whose allowed values filters-data lists under their own name, or under another. */
const parameterValues: ReadonlyMap<string, CatalogFilter> = new Map<string, CatalogFilter>([
  ['ad_revenue_sources', 'ad_revenue_sources'],
  ['ad_spend_mode', 'ad_spend_mode'],
  ['attribution_source', 'attribution_source'],
  ['attribution_type', 'attribution_type'],
  ['attribution_types', 'attribution_type'],
  ['cohort_maturity', 'cohort_maturity'],
  ['currency', 'currencies'],
  ['iap_revenue_mode', 'iap_revenue_mode'],
  ['index', 'index'],
  ['os_names', 'os_names'],
  ['period_over_period', 'period_over_period'],
]);

/** Every list of filters-data that a slice is compared with. */
export const checkedFilters: readonly CatalogFilter[] = [
  ...new Set<CatalogFilter>([
    ...metricFilterNames,
    'dimensions',
    ...[...dimensionValues.values()].map(([filter]) => filter),
    ...parameterValues.values(),
  ]),
];

/** The lists of filters-data, as names are looked up in them. */
export class CatalogLists {
  readonly #catalog: Catalog;
  /** Every metric a report can request. */
  readonly metrics: ListedNames;
  /** Lists of metrics without an item: what is in none of the others may be in one of them. */
  readonly silent: readonly CatalogFilter[];

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
    this.metrics = new Set(catalog.filter(isMetricItem).map(({ id }) => id));
    this.silent = metricFilterNames.filter((filter) => this.of(filter).size === 0);
  }

  of(filter: CatalogFilter, field: 'id' | 'name' = 'id'): ListedNames {
    const names = this.#catalog.filter((item) => item.filter === filter).map((item) => item[field]);
    return new Set(names.filter((name) => name !== ''));
  }

  /** What a parameter or an exact filter may be set to; empty where nobody knows. */
  valuesOf(key: string, filter: ReturnType<typeof parseFilterKey>): ListedNames {
    if (filter !== null) {
      const isExact = filter.suffix === 'in' || filter.suffix === 'not_in';
      const source = isExact ? dimensionValues.get(filter.name) : undefined;
      return source === undefined ? new Set() : this.of(...source);
    }
    const list = parameterValues.get(key);
    const listed = list === undefined ? new Set<string>() : this.of(list);
    return listed.size === 0 ? new Set(documentedValues.get(key) ?? []) : listed;
  }
}
