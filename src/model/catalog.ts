/** The catalog: the metrics, dimensions and filter values that filters-data lists. */

import type { CatalogItem } from './catalog-item.ts';

/** Lists of metrics that a report can request, the most specific first. */
export const metricFilterNames = [
  'event_metrics',
  'cohort_metrics',
  'skad_metrics',
  'cost_metrics',
  'overview_metrics',
  'etl_metrics',
] as const;

const valueFilterNames = [
  'apps_network',
  'countries',
  'currencies',
  'os_names',
  'networks',
  'ad_revenue_sources',
  'store_type',
] as const;

/** Values of one parameter or field. Together they are the view `report_options`. */
const optionFilterNames = [
  'cohort_maturity',
  'iap_revenue_mode',
  'attribution_type',
  'attribution_source',
  'attribution_status',
  'ad_spend_mode',
  'utc_offset',
  'attributes',
  'index',
  'period_over_period',
  'cohort_metric_names',
  'full_cohort_periods',
  'skad_time_adjustment',
] as const;

/** service-interface: filters_data. */
export const catalogFilters = [
  'apps',
  'dimensions',
  'partners',
  ...metricFilterNames,
  ...valueFilterNames,
  ...optionFilterNames,
] as const;

export type CatalogFilter = (typeof catalogFilters)[number];

export const catalogTables = [
  'metrics',
  'dimensions',
  'apps',
  ...valueFilterNames,
  'report_options',
] as const;

export const catalogSections = [
  'conversion',
  'fraud',
  'cost',
  'revenue',
  'retention',
  'events',
  'conversion_events',
  'installs',
  'conversion_values',
] as const;

export type CatalogSection = (typeof catalogSections)[number];

export type Catalog = readonly CatalogItem[];

/** The list of a dimension's values, and the field that has them as report rows and filters do. */
export const dimensionValues: ReadonlyMap<
  string,
  readonly [filter: CatalogFilter, field: 'id' | 'name']
> = new Map([
  ['app', ['apps', 'name']],
  ['app_token', ['apps', 'id']],
  ['country', ['countries', 'name']],
  ['country_code', ['countries', 'id']],
  ['currency_code', ['currencies', 'id']],
  ['network', ['networks', 'id']],
  ['os_name', ['os_names', 'id']],
  ['partner_id', ['partners', 'id']],
  ['partner_name', ['partners', 'name']],
  ['store_type', ['store_type', 'id']],
]);
