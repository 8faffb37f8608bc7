/** Lists of filters-data that come, go and change their mind. */

import type { FilterItem } from './catalog.ts';
import type { CatalogChange } from './quirks.ts';

/** By filter name, in the order asked for. */
export type Lists = ReadonlyMap<string, readonly FilterItem[]>;

/** The lists as they are at an instant; every list must be there, also those that nobody asked for. */
export function movedLists(lists: Lists, changes: readonly CatalogChange[], now: Date): Lists {
  return changes.filter(({ during }) => during(now)).reduce(changed, lists);
}

function changed(lists: Lists, change: CatalogChange): Lists {
  if (change.kind === 'shortened') {
    return mapped(lists, (items, list) => (change.lists.includes(list) ? items.slice(0, change.keep) : items));
  }
  if (change.kind === 'lengthened') {
    return mapped(lists, (items, list) =>
      list === change.list ? [...items, ...madeUp(change.items, items.length)] : items,
    );
  }
  if (change.kind === 'altered') {
    const altered = (item: FilterItem): FilterItem => ({
      ...item,
      formatting: change.formatting ?? item.formatting,
      section: change.section ?? item.section,
    });
    return mapped(lists, (items) => items.map((item) => (item.id === change.id ? altered(item) : item)));
  }
  const moved = [...lists.values()].flat().find(({ id }) => id === change.id);
  return mapped(lists, (items, list) => {
    const others = items.filter(({ id }) => id !== change.id);
    return list === change.to && moved !== undefined ? [...others, moved] : others;
  });
}

function mapped(lists: Lists, change: (items: readonly FilterItem[], list: string) => readonly FilterItem[]): Lists {
  return new Map([...lists].map(([list, items]) => [list, change(items, list)]));
}

function madeUp(until: number, from: number): FilterItem[] {
  return Array.from({ length: Math.max(0, until - from) }, (_, nth) => ({
    id: `made_up_${nth}_events`,
    name: `Made up ${nth}`,
    short_name: '',
    section: 'Events',
    formatting: 'integer',
    description: '',
    increase_is_negative: false,
  }));
}
