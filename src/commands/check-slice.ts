/** A slice held against filters-data: every name and value in it that the service does not list; pure. */

import { nearest } from '../config/nearest.ts';
import { parseFilterKey } from '../config/report-settings.ts';
import { metricFilterNames, type Catalog, type CatalogFilter } from '../model/catalog.ts';
import type { Slice } from '../model/slice.ts';
import type { Finding } from './finding.ts';

/** Where filters-data lists the values of a dimension, and under which field they are written in a filter. */
const dimensionValues: Readonly<Record<string, { readonly filter: CatalogFilter; readonly field: 'id' | 'name' }>> = {
  app: { filter: 'apps', field: 'name' },
  app_token: { filter: 'apps', field: 'id' },
  country: { filter: 'countries', field: 'name' },
  country_code: { filter: 'countries', field: 'id' },
  currency_code: { filter: 'currencies', field: 'id' },
  network: { filter: 'networks', field: 'id' },
  os_name: { filter: 'os_names', field: 'id' },
  partner_id: { filter: 'partners', field: 'id' },
  partner_name: { filter: 'partners', field: 'name' },
  store_type: { filter: 'store_type', field: 'id' },
};

/** Parameters whose allowed values filters-data lists. */
const parameterValues: Readonly<Record<string, CatalogFilter>> = {
  ad_revenue_sources: 'ad_revenue_sources',
  ad_spend_mode: 'ad_spend_mode',
  attribution_source: 'attribution_source',
  attribution_type: 'attribution_type',
  cohort_maturity: 'cohort_maturity',
  currency: 'currencies',
  iap_revenue_mode: 'iap_revenue_mode',
  os_names: 'os_names',
};

/** Every list of filters-data that a check needs. */
export const checkedFilters: readonly CatalogFilter[] = [
  ...new Set<CatalogFilter>([
    ...metricFilterNames,
    'dimensions',
    ...Object.values(dimensionValues).map(({ filter }) => filter),
    ...Object.values(parameterValues),
  ]),
];

/**
 * What the service would refuse or might not know. An unknown metric is an error, as it fails the whole request; an
 * unknown dimension or value is a warning, as the service's own lists drift (observed: enumerations drift). A
 * list that filters-data left empty proves nothing.
 */
export function sliceFindings(slice: Slice, catalog: Catalog): Finding[] {
  const metrics = idsOf(catalog, (filter) => metricFilterNames.some((name) => name === filter));
  const dimensions = idsOf(catalog, (filter) => filter === 'dimensions');
  const keys = Object.keys(slice.parameters)
    .map(parseFilterKey)
    .filter((key) => key !== null);
  const filteredMetrics = keys.filter((key) => key.kind === 'metric').map((key) => key.name);
  return [
    ...unlisted([...slice.metrics, ...filteredMetrics], metrics).map((name) => ({
      severity: 'error' as const,
      code: 'SOURCE_REFUSED' as const,
      slice: slice.name,
      message: `filters-data listed no metric ${name}; the service would refuse the whole report`,
      hint: hintFor(name, metrics, 'Correct or remove it; `ripen catalog WORD` searches the metrics.'),
    })),
    ...unlisted(slice.dimensions, dimensions).map((name) => ({
      severity: 'warning' as const,
      code: null,
      slice: slice.name,
      message: `filters-data listed no dimension ${name}`,
      hint: hintFor(name, dimensions, 'Check the slice against `ripen catalog`.'),
    })),
    ...Object.entries(slice.parameters).flatMap(([key, value]) => valueFindings(slice.name, key, value, catalog)),
  ];
}

function valueFindings(slice: string, key: string, value: string, catalog: Catalog): Finding[] {
  const listed = listedValues(key, catalog);
  return unlisted(value.split(','), listed).map((text) => ({
    severity: 'warning',
    code: null,
    slice,
    message: `filters-data listed no value ${text} for ${key}`,
    hint: hintFor(text, listed, null),
  }));
}

/** The values a parameter or an exact dimension filter can take; empty when filters-data does not say. */
function listedValues(key: string, catalog: Catalog): ReadonlySet<string> {
  const filter = parseFilterKey(key);
  const isExact = filter?.suffix === 'in' || filter?.suffix === 'not_in';
  const values = filter === null ? null : (isExact && dimensionValues[filter.name]) || null;
  if (values !== null) {
    const items = catalog.filter((item) => item.filter === values.filter);
    return new Set(items.map((item) => (values.field === 'name' ? item.name : item.id)));
  }
  const list = parameterValues[key];
  return list === undefined ? new Set() : idsOf(catalog, (name) => name === list);
}

function idsOf(catalog: Catalog, isWanted: (filter: string) => boolean): ReadonlySet<string> {
  return new Set(catalog.filter((item) => isWanted(item.filter)).map((item) => item.id));
}

/** The names, each once, that a list lacks; none for an empty list. Case is the service's affair. */
function unlisted(names: readonly string[], listed: ReadonlySet<string>): string[] {
  if (listed.size === 0) return [];
  const known = new Set([...listed].map((name) => name.toLowerCase()));
  return [...new Set(names)].filter((name) => !known.has(name.toLowerCase()));
}

function hintFor(name: string, listed: ReadonlySet<string>, otherwise: string | null): string | null {
  const meant = nearest(name, listed);
  return meant === null ? otherwise : `Did you mean ${meant}?`;
}
