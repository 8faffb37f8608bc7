/** The catalog: what filters-data says of metrics, dimensions and filter values. */

import type { CatalogItem } from './catalog-item.ts';

/** The filter names whose items are metrics a report can request, from the most specific list. */
export const metricFilterNames = [
  'event_metrics',
  'cohort_metrics',
  'skad_metrics',
  'cost_metrics',
  'overview_metrics',
  'etl_metrics',
] as const;

/** The lists of things: each is a table under its own name, its ids being values that report rows or filters carry. */
export const valueFilterNames = [
  'apps_network',
  'countries',
  'currencies',
  'os_names',
  'networks',
  'ad_revenue_sources',
  'store_type',
] as const;

/** The lists of what one parameter or field may say: together they are the table `report_options`. */
export const optionFilterNames = [
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

/** The service's filter names (service-interface: filters_data). */
export const catalogFilters = [
  'apps',
  'dimensions',
  'partners',
  ...metricFilterNames,
  ...valueFilterNames,
  ...optionFilterNames,
] as const;

export type CatalogFilter = (typeof catalogFilters)[number];

/** The table and views of schema `main` made of the catalog; `partners` is none, as the campaign API's list, which says more, has that name. */
export const catalogTables = ['metrics', 'dimensions', 'apps', ...valueFilterNames, 'report_options'] as const;

/** Sections filters-data can be limited to. */
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

/** The list that has the values of a dimension, and the field in which they are as report rows and filters have them. */
export const dimensionValues: ReadonlyMap<string, readonly [filter: CatalogFilter, field: 'id' | 'name']> = new Map([
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
