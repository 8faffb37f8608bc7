/** What a listing of filters-data may take from the catalog: nothing that is known of a configured metric. Pure. */

import type { Catalog, CatalogItem } from '../model/catalog.ts';
import { isMetricItem } from '../model/metric.ts';

export interface Listing {
  readonly items: Catalog;
  /** Lists that were asked for and not answered. */
  readonly absent: readonly string[];
}

export interface NextCatalog {
  readonly catalog: Catalog;
  /** Lists that held items and came back empty; kept as they were. */
  readonly emptied: readonly string[];
  /** Configured metrics that left one of their lists, or came without formatting or section; kept as last seen. */
  readonly held: readonly string[];
}

/**
 * The catalog after a listing, in which each id stands once a list. A list that was not answered or came back empty stays
 * as it was; an item of a configured metric stays in every list it stood in, and keeps a formatting or section that the
 * listing leaves blank. All else is as listed.
 */
export function nextCatalog(before: Catalog, { items, absent }: Listing, configured: ReadonlySet<string>): NextCatalog {
  const listed = byKey(items);
  const answered = new Set(items.map(({ filter }) => filter));
  const emptied = new Set<string>();
  const held = new Set<string>();
  for (const [key, old] of byKey(before)) {
    if (!answered.has(old.filter)) {
      if (!absent.includes(old.filter)) emptied.add(old.filter);
      listed.set(key, old);
    } else if (configured.has(old.id) && isMetricItem(old)) {
      const now = listed.get(key);
      const formatting = now?.formatting || old.formatting;
      const section = now?.section || old.section;
      if (now?.formatting === formatting && now.section === section) continue;
      held.add(old.id);
      listed.set(key, { ...(now ?? old), formatting, section });
    }
  }
  return { catalog: [...listed.values()], emptied: [...emptied], held: [...held].toSorted() };
}

/** Of an id that a list holds several times the first by name counts, so that the order of an answer changes nothing. */
function byKey(items: Catalog): Map<string, CatalogItem> {
  const found = new Map<string, CatalogItem>();
  for (const item of items) {
    const key = `${item.filter} ${item.id}`;
    const other = found.get(key);
    if (other === undefined || standing(item) < standing(other)) found.set(key, item);
  }
  return found;
}

function standing({ name, shortName, section, formatting, description }: CatalogItem): string {
  return [name, shortName, section, formatting, description].join('\u0000');
}
