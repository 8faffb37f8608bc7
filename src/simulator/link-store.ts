/**
 * The links of the world as they stand now: a tree per app that the campaign API writes to and that tests change
 * between two crawls.
 *
 * Promises a stable position per link, in order of creation, that is never used twice.
 */

import type { Positioned } from './paging.ts';
import type { WorldLink } from './world/world.ts';

/** A link to add, with the sub-links below it. */
export interface LinkTree {
  readonly name: string;
  readonly partnerId?: number;
  readonly children?: readonly LinkTree[];
}

export interface LinkChange {
  readonly partnerId?: number;
  readonly costDataEnabled?: boolean;
}

export interface LinkStore {
  /** Network links of an app, or the sub-links of one link, in order of creation. */
  list(appToken: string, parentToken: string | null): readonly Positioned<WorldLink>[];
  find(token: string): WorldLink | null;
  /** The partner of a link or, for a sub-link, the one it inherits. */
  partnerOf(token: string): number | null;
  /** Adds a link and everything below it; returns the topmost. */
  add(appToken: string, parentToken: string | null, tree: LinkTree): WorldLink;
  /** Gives a link a new label; the names of everything below it follow. */
  rename(token: string, label: string): void;
  archive(token: string): void;
  change(token: string, change: LinkChange): void;
  /** Removes a link and everything below it. */
  remove(token: string): void;
}

/** Throws a RangeError from every method that is given a token the store does not hold, except `find`. */
export function createLinkStore(initial: readonly WorldLink[]): LinkStore {
  const links = new Map<string, Positioned<WorldLink>>();
  const families = new Map<string, string[]>();
  let lastPosition = -1;

  const familyOf = (appToken: string, parentToken: string | null): string => `${appToken}/${parentToken ?? ''}`;

  const known = (token: string): Positioned<WorldLink> => {
    const found = links.get(token);
    if (found === undefined) throw new RangeError(`The simulator has no link with the token ${token}`);
    return found;
  };

  const insert = (item: WorldLink): void => {
    lastPosition += 1;
    links.set(item.token, { position: lastPosition, item });
    const family = familyOf(item.appToken, item.parentToken);
    const siblings = families.get(family);
    if (siblings === undefined) families.set(family, [item.token]);
    else siblings.push(item.token);
  };

  const replace = (token: string, changed: Partial<WorldLink>): void => {
    const { position, item } = known(token);
    links.set(token, { position, item: { ...item, ...changed } });
  };

  const list: LinkStore['list'] = (appToken, parentToken) =>
    (families.get(familyOf(appToken, parentToken)) ?? []).map((token) => known(token));

  const nameUnder = (parentToken: string | null, label: string): string =>
    parentToken === null ? label : `${known(parentToken).item.name}::${label}`;

  const renameBelow = (parent: WorldLink): void => {
    for (const { item } of list(parent.appToken, parent.token)) {
      replace(item.token, { name: nameUnder(parent.token, item.label) });
      renameBelow(item);
    }
  };

  const store: LinkStore = {
    list,
    find: (token) => links.get(token)?.item ?? null,
    partnerOf(token) {
      const { item } = known(token);
      return item.partnerId ?? (item.parentToken === null ? null : store.partnerOf(item.parentToken));
    },
    add(appToken, parentToken, tree) {
      const token = freeToken(links, lastPosition + 1);
      const parent = parentToken === null ? null : known(parentToken).item;
      const link: WorldLink = {
        token,
        appToken,
        parentToken,
        label: tree.name,
        name: nameUnder(parentToken, tree.name),
        level: parent === null ? 1 : parent.level + 1,
        archived: false,
        partnerId: tree.partnerId ?? null,
        costDataEnabled: false,
        ...addressesOf(token),
      };
      insert(link);
      for (const child of tree.children ?? []) store.add(appToken, token, child);
      return link;
    },
    rename(token, label) {
      const { item } = known(token);
      replace(token, { label, name: nameUnder(item.parentToken, label) });
      renameBelow(item);
    },
    archive: (token) => replace(token, { archived: true }),
    change: (token, change) => replace(token, change),
    remove(token) {
      const { item } = known(token);
      for (const child of list(item.appToken, token)) store.remove(child.item.token);
      const family = familyOf(item.appToken, item.parentToken);
      families.set(
        family,
        (families.get(family) ?? []).filter((sibling) => sibling !== token),
      );
      links.delete(token);
    },
  };

  for (const link of initial) insert(link);
  return store;
}

/** Seven characters of the position in base 36, or the next such token that is free. */
function freeToken(links: ReadonlyMap<string, unknown>, position: number): string {
  let number = position;
  let token = '';
  do {
    token = `n${number.toString(36).padStart(6, '0')}`;
    number += 1;
  } while (links.has(token));
  return token;
}

function addressesOf(token: string): Pick<WorldLink, 'url' | 'clickUrl' | 'impressionUrl'> {
  const url = `https://app.example.com/${token}`;
  return {
    url,
    clickUrl: `${url}?campaign={campaign_name}&idfa={idfa}&deeplink=http%3A%2F%2Fa.b%2Fc%3Fd%3D1%26e%3D%%MACROS%%`,
    impressionUrl: `https://s2s.example.com/impression/${token}?campaign={campaign_name}&idfa={idfa}&s2s=1`,
  };
}
