/** The lists of filters-data, as names are looked up in them. */

import { nearest } from '../config/nearest.ts';
import { metricFilterNames, type Catalog, type CatalogFilter } from '../model/catalog.ts';

/** How a list knows a name: as it is, in other letters, or not. */
export type Standing =
  | { readonly kind: 'listed' }
  | { readonly kind: 'other letters'; readonly name: string }
  | { readonly kind: 'unlisted' };

/** Names that are the same whatever the letter case stand under one key. */
export class NameList {
  readonly #names: ReadonlySet<string>;
  readonly #byLower: ReadonlyMap<string, string>;

  constructor(names: Iterable<string>) {
    this.#names = new Set([...names].filter((name) => name !== ''));
    this.#byLower = new Map([...this.#names].map((name) => [name.toLowerCase(), name]));
  }

  /** An empty list proves nothing of a name. */
  get isEmpty(): boolean {
    return this.#names.size === 0;
  }

  get names(): string[] {
    return [...this.#names];
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  standingOf(name: string): Standing {
    if (this.#names.has(name)) return { kind: 'listed' };
    const other = this.#byLower.get(name.toLowerCase());
    return other === undefined ? { kind: 'unlisted' } : { kind: 'other letters', name: other };
  }

  /** The name that was probably meant; null when none is near. */
  nearest(name: string): string | null {
    return nearest(name, this.#names);
  }
}

export interface CatalogLists {
  /** Every metric a report can request. */
  readonly metrics: NameList;
  /** Lists of metrics that were left empty or not answered: what is in none of the others may be in one of them. */
  readonly silentMetricLists: readonly CatalogFilter[];
  of(filter: CatalogFilter, field?: 'id' | 'name'): NameList;
}

/** The lists of a catalog; each is put together when it is first looked at. */
export function catalogLists(catalog: Catalog): CatalogLists {
  const lists = new Map<string, NameList>();
  const of = (filter: CatalogFilter, field: 'id' | 'name' = 'id'): NameList => {
    const known = lists.get(`${filter} ${field}`);
    if (known !== undefined) return known;
    const made = new NameList(catalog.filter((item) => item.filter === filter).map((item) => item[field]));
    lists.set(`${filter} ${field}`, made);
    return made;
  };
  const isMetric = (filter: string): boolean => metricFilterNames.some((name) => name === filter);
  return {
    metrics: new NameList(catalog.filter(({ filter }) => isMetric(filter)).map(({ id }) => id)),
    silentMetricLists: metricFilterNames.filter((filter) => of(filter).isEmpty),
    of,
  };
}
