/** What differs between two catalogs, as the schema changes it is recorded as. Pure. */

import type { Catalog, CatalogItem } from '../model/catalog.ts';

export interface CatalogChange {
  /** Filter name and id of the item. */
  readonly name: string;
  readonly change: string;
  readonly before: string | null;
  readonly after: string | null;
}

const fields = [
  ['name', 'name'],
  ['shortName', 'short name'],
  ['section', 'section'],
  ['formatting', 'formatting'],
  ['description', 'description'],
] as const satisfies readonly (readonly [keyof CatalogItem, string])[];

/**
 * Items that appeared, then those of the older catalog that vanished or say something else, a change per field. An id that
 * a list holds twice counts as it stands first.
 */
export function catalogChanges(before: Catalog, after: Catalog): CatalogChange[] {
  const [had, has] = [byKey(before), byKey(after)];
  const appeared = [...has.keys()]
    .filter((name) => !had.has(name))
    .map((name) => ({ name, change: 'item appeared', before: null, after: null }));
  const others = [...had].flatMap(([name, item]): CatalogChange[] => {
    const now = has.get(name);
    return now === undefined
      ? [{ name, change: 'item vanished', before: null, after: null }]
      : fieldChanges(name, item, now);
  });
  return [...appeared, ...others];
}

function byKey(catalog: Catalog): Map<string, CatalogItem> {
  const items = new Map<string, CatalogItem>();
  for (const item of catalog) {
    const key = `${item.filter} ${item.id}`;
    if (!items.has(key)) items.set(key, item);
  }
  return items;
}

function fieldChanges(name: string, before: CatalogItem, after: CatalogItem): CatalogChange[] {
  return fields
    .filter(([field]) => before[field] !== after[field])
    .map(([field, word]) => ({ name, change: `${word} changed`, before: before[field], after: after[field] }));
}
