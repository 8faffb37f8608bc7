/** The lists of filters-data that `check` compares slices with. */

import { documentedValues, type parseFilterKey } from '../../config/report-settings.ts';
import {
  dimensionValues,
  metricFilterNames,
  type Catalog,
  type CatalogFilter,
} from '../../model/catalog.ts';
import { isMetricItem } from '../../model/metric.ts';

export type ListedNames = ReadonlySet<string>;

/** Rows without a partner, network or country have these, listed or not (observed: organic, odd values). */
const placeholders = [
  '-300',
  'Organic',
  'unknown',
  'Expired Attributions',
  'Unknown Devices',
] as const;

/** Other names of parameters in filters-data. */
const listNames: ReadonlyMap<string, CatalogFilter> = new Map<string, CatalogFilter>([
  ['attribution_types', 'attribution_type'],
  ['currency', 'currencies'],
]);

/** Looks up names in the lists of filters-data. */
export class CatalogLists {
  readonly #catalog: Catalog;
  readonly metrics: ListedNames;
  /** Metric lists without items, to which an unlisted metric may belong. */
  readonly silent: readonly CatalogFilter[];

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
    this.metrics = new Set(catalog.filter(isMetricItem).map(({ id }) => id));
    this.silent = metricFilterNames.filter((filter) => this.of(filter).length === 0);
  }

  of(filter: string, field: 'id' | 'name' = 'id'): readonly string[] {
    const names = this.#catalog.filter((item) => item.filter === filter).map((item) => item[field]);
    return names.filter((name) => name !== '');
  }

  valuesOf(key: string, filter: ReturnType<typeof parseFilterKey>): ListedNames {
    if (filter === null) {
      // An offset from UTC is a number, whatever the service lists.
      const listed = key === 'utc_offset' ? [] : this.of(listNames.get(key) ?? key);
      return new Set([...listed, ...(documentedValues.get(key) ?? [])]);
    }
    const isExact = filter.suffix === 'in' || filter.suffix === 'not_in';
    const source = isExact ? dimensionValues.get(filter.name) : undefined;
    const listed = source === undefined ? [] : this.of(...source);
    return new Set(listed.length === 0 ? [] : [...listed, ...placeholders]);
  }
}
