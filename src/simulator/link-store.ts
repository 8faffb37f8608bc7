/**
 * The links of the world as they stand now, which the campaign API lists and writes to.
 *
 * Promises a stable position per link, in order of creation, that is never used twice.
 */

import type { Positioned } from './paging.ts';
import { addressesOf, type WorldLink } from './world/entities.ts';

export interface AddedLink {
  readonly appToken: string;
  readonly parentToken: string | null;
  readonly label: string;
  readonly partnerId?: number | null;
}

export interface LinkStore {
  /** Network links of an app, or the sub-links of one link, in order of creation. */
  list(appToken: string, parentToken: string | null): readonly Positioned<WorldLink>[];
  find(token: string): WorldLink | null;
  /** The partner of a link or, for a sub-link, the one it inherits. */
  partnerOf(token: string): number | null;
  /** Adds a link; throws a RangeError for an unknown parent. */
  insert(link: AddedLink): WorldLink;
  /** Changes a link; throws a RangeError for an unknown one. */
  change(token: string, change: Partial<WorldLink>): void;
  /** Removes one link. */
  delete(token: string): void;
}

export function createLinkStore(initial: readonly WorldLink[]): LinkStore {
  const links = new Map(initial.map((item, position) => [item.token, { position, item }]));
  let nextPosition = initial.length;

  const known = (token: string): Positioned<WorldLink> => {
    const found = links.get(token);
    if (found === undefined) throw new RangeError(`The simulator has no link with the token ${token}`);
    return found;
  };

  const store: LinkStore = {
    list: (appToken, parentToken) =>
      [...links.values()].filter(({ item }) => item.parentToken === parentToken && item.appToken === appToken),
    find: (token) => links.get(token)?.item ?? null,
    partnerOf(token) {
      const { item } = known(token);
      return item.partnerId ?? (item.parentToken === null ? null : store.partnerOf(item.parentToken));
    },
    insert({ appToken, parentToken, label, partnerId = null }) {
      const parent = parentToken === null ? null : known(parentToken).item;
      const token = `n${nextPosition.toString(36).padStart(6, '0')}`;
      const item: WorldLink = {
        token,
        appToken,
        parentToken,
        label,
        name: parent === null ? label : `${parent.name}::${label}`,
        level: parent === null ? 1 : parent.level + 1,
        archived: false,
        partnerId,
        costDataEnabled: false,
        ...addressesOf(token),
      };
      links.set(token, { position: nextPosition, item });
      nextPosition += 1;
      return item;
    },
    change(token, change) {
      const { position, item } = known(token);
      links.set(token, { position, item: { ...item, ...change } });
    },
    delete: (token) => void links.delete(token),
  };
  return store;
}
