/** Searching what filters-data lists. */

import type { Emit } from '../events.ts';
import { catalogFilters, metricFilterNames, type CatalogItem, type CatalogSection } from '../model/catalog.ts';
import type { Service } from '../service/service.ts';

export interface CatalogSearch {
  /** Part of an id or a name; empty for every item. */
  readonly word: string;
  /** A section of the metrics, the only ones to be listed then; null for all. */
  readonly section: CatalogSection | null;
}

/** The items of every list whose id or names hold the word, whatever its case; all for an empty word. */
export async function listedItems(
  service: Service,
  { word, section }: CatalogSearch,
  emit: Emit,
  signal: AbortSignal,
): Promise<CatalogItem[]> {
  const wanted = word.toLowerCase();
  const request = section === null ? { filters: catalogFilters } : { filters: metricFilterNames, section };
  const { items, absent } = await service.filtersData(request, signal);
  if (absent.length > 0) {
    const message = `filters-data did not answer for ${absent.join(', ')}.`;
    emit({ type: 'warning', code: 'CATALOG_LIST_ABSENT', slice: null, window: null, message });
  }
  // Searched here: the service's own search leaves short names out.
  return items.filter((item) =>
    [item.id, item.name, item.shortName].some((said) => said.toLowerCase().includes(wanted)),
  );
}
