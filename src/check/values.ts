/** A slice's parameters and filter values held against filters-data and what is documented; pure. */

import { documentedValues, parseFilterKey } from '../config/report-settings.ts';
import { parseUtcOffset } from '../model/calendar.ts';
import type { CatalogFilter } from '../model/catalog.ts';
import { isCurrency } from '../spend/currencies.ts';
import { NameList, type CatalogLists } from './catalog-lists.ts';
import { settingPath, type CheckedSlice } from './checked-slice.ts';
import type { Remark } from './finding.ts';

/** Where filters-data lists the values of a dimension, and under which field they are written in a filter. */
const dimensionValues: ReadonlyMap<string, { readonly filter: CatalogFilter; readonly field: 'id' | 'name' }> = new Map(
  [
    ['app', { filter: 'apps', field: 'name' }],
    ['app_token', { filter: 'apps', field: 'id' }],
    ['country', { filter: 'countries', field: 'name' }],
    ['country_code', { filter: 'countries', field: 'id' }],
    ['currency_code', { filter: 'currencies', field: 'id' }],
    ['network', { filter: 'networks', field: 'id' }],
    ['os_name', { filter: 'os_names', field: 'id' }],
    ['partner_id', { filter: 'partners', field: 'id' }],
    ['partner_name', { filter: 'partners', field: 'name' }],
    ['store_type', { filter: 'store_type', field: 'id' }],
  ],
);

/** What rows say where there is no partner, network or country to name (observed: organic, odd values); no list need hold it. */
const oddValues: ReadonlySet<string> = new Set([
  '-300',
  'Organic',
  'unknown',
  'Expired Attributions',
  'Unknown Devices',
]);

/** Parameters whose allowed values filters-data lists. */
const parameterValues: ReadonlyMap<string, CatalogFilter> = new Map([
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

/** Every list of filters-data that values are held against. */
export const valueFilters: readonly CatalogFilter[] = [
  ...new Set<CatalogFilter>([
    ...[...dimensionValues.values()].map(({ filter }) => filter),
    ...parameterValues.values(),
    'utc_offset',
  ]),
];

/** Values that filters-data lists otherwise or not at all. */
export function valueRemarks(checked: CheckedSlice, lists: CatalogLists): Remark[] {
  return Object.entries(checked.slice.parameters).flatMap(([key, value]): Remark[] => {
    if (key === 'utc_offset') return offsetRemarks(checked, lists, value);
    const filter = parseFilterKey(key);
    if (filter?.kind === 'metric') return [];
    if (key === 'currency' && lists.of('currencies').isEmpty) return currencyRemarks(checked, value);
    const values = [...new Set(value.split(','))];
    const { known, isDocument } = knownValues(key, lists);
    return values.flatMap((text) => valueRemark({ checked, key, values }, text, known, isDocument));
  });
}

interface Held {
  readonly checked: CheckedSlice;
  readonly key: string;
  /** Every value that is stated. */
  readonly values: readonly string[];
}

function valueRemark({ checked, key, values }: Held, text: string, known: NameList, isDocument: boolean): Remark[] {
  const standing = known.standingOf(text);
  if (known.isEmpty || standing.kind === 'listed' || (parseFilterKey(key) !== null && oddValues.has(text))) return [];
  const path = settingPath(checked, key, text);
  if (standing.kind === 'other letters') {
    const message = `${key} says ${text}, which filters-data listed as ${standing.name}; values are compared letter by letter`;
    const hint = values.includes(standing.name) ? `Remove ${text}.` : `Did you mean ${standing.name}?`;
    return [{ severity: 'warning', path, message, hint }];
  }
  const message = isDocument
    ? `no value ${text} is documented for ${key}, and filters-data listed none; it is sent as written`
    : `filters-data listed no value ${text} for ${key}`;
  const near = known.nearest(text);
  const hint = near === null || values.includes(near) ? null : `Did you mean ${near}?`;
  return [{ severity: 'warning', path, message, hint }];
}

/** The values a parameter or an exact dimension filter can take; none when nothing says so. */
function knownValues(key: string, lists: CatalogLists): { readonly known: NameList; readonly isDocument: boolean } {
  const filter = parseFilterKey(key);
  if (filter !== null) {
    const isExact = filter.suffix === 'in' || filter.suffix === 'not_in';
    const source = isExact ? dimensionValues.get(filter.name) : undefined;
    const known = source === undefined ? new NameList([]) : lists.of(source.filter, source.field);
    return { known, isDocument: false };
  }
  const list = parameterValues.get(key);
  const known = list === undefined ? new NameList([]) : lists.of(list);
  return known.isEmpty
    ? { known: new NameList(documentedValues.get(key) ?? []), isDocument: true }
    : { known, isDocument: false };
}

/** The currency of a slice while the service lists none: the codes of ISO 4217 are written in capitals. */
function currencyRemarks(checked: CheckedSlice, value: string): Remark[] {
  if (isCurrency(value)) return [];
  const upper = value.toUpperCase();
  const message = `currency says ${value}, which is no code of ISO 4217; it is sent as written`;
  const hint = isCurrency(upper) ? `Did you mean ${upper}?` : null;
  return [{ severity: 'warning', path: settingPath(checked, 'currency'), message, hint }];
}

/** Offsets are listed as `+01:00`, or as hours such as `1` or `-3.5`; a list of which none can be read proves nothing. */
function offsetRemarks(checked: CheckedSlice, lists: CatalogLists, stated: string): Remark[] {
  const listed = lists
    .of('utc_offset')
    .names.map(minutesOf)
    .filter((minutes) => minutes !== null);
  const wanted = minutesOf(stated);
  // Without an offset is what the service does by itself (service-interface: filters_data, default 0).
  if (listed.length === 0 || wanted === 0 || wanted === null || listed.includes(wanted)) return [];
  const message = `filters-data listed no offset ${stated}; the service may refuse the whole report`;
  const hint = '`ripen catalog` lists those it knows, under utc_offset.';
  return [{ severity: 'warning', path: settingPath(checked, 'utc_offset'), message, hint }];
}

function minutesOf(text: string): number | null {
  const offset = parseUtcOffset(text);
  const hours = offset === null && /^[+-]?\d{1,2}(?:\.\d+)?$/.test(text) ? Number(text) : null;
  if (hours !== null) return Math.round(hours * 60);
  if (offset === null) return null;
  const [whole = '0', part = '0'] = offset.slice(1).split(':');
  return (offset.startsWith('-') ? -1 : 1) * (Number(whole) * 60 + Number(part));
}
