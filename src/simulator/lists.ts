/**
 * The lists of the campaign API. A cursor encodes the position of a link: none is repeated or skipped if others change between
 * two pages (service-interface: Paging object; observed: Campaign API).
 */

import type { JsonDocument } from './answer.ts';
import { linkBelow, type WorldLink } from './world/entities.ts';

export interface Positioned<Item> {
  readonly position: number;
  readonly item: Item;
}

/** Positions between which the page lies. */
interface PageRequest {
  readonly after: number;
  readonly before: number;
  readonly limit: number;
}

export interface CursorPage<Item> {
  readonly items: readonly Item[];
  readonly limit: number;
  readonly total: number;
  readonly after: string | null;
  readonly before: string | null;
}

/** Before every position. */
export const START = -1;

export function pageRequestOf(query: URLSearchParams) {
  const limitText = query.get('limit') ?? '50';
  if (!/^[1-9]\d{0,8}$/.test(limitText)) return 'limit';
  const after = positionOf(query.get('cursor') ?? query.get('after')) ?? START;
  const before = positionOf(query.get('before')) ?? Infinity;
  if (Number.isNaN(after + before)) return 'cursor';
  return { after, before, limit: Number(limitText) };
}

/** With `before` alone, returns the page that ends there. */
export function pageOf<Item>(
  list: readonly Positioned<Item>[],
  { after, before, limit }: PageRequest,
): CursorPage<Item> {
  const eligible = list.filter(({ position }) => position > after && position < before);
  const isBefore = before < Infinity && after === START;
  const chosen = isBefore ? eligible.slice(-limit) : eligible.slice(0, limit);
  const [first, last] = [chosen.at(0), chosen.at(-1)];
  const hasNext = last !== undefined && list.some(({ position }) => position > last.position);
  const hasPrevious = first !== undefined && list.some(({ position }) => position < first.position);
  return {
    items: chosen.map(({ item }) => item),
    limit,
    total: list.length,
    after: hasNext ? encodeCursor(last.position) : null,
    before: hasPrevious ? encodeCursor(first.position) : null,
  };
}

export type LinkTo = (parameter: string, cursor: string) => string;

export function pagingV1<Item>(page: CursorPage<Item>, linkTo: LinkTo): JsonDocument {
  return {
    page_size: String(page.limit),
    collection_size: String(page.items.length),
    total: String(page.total),
    next: page.after === null ? null : linkTo('after', page.after),
    previous: page.before === null ? null : linkTo('before', page.before),
    cursors: { after: page.after, before: page.before },
  };
}

export function pagingV2<Item>(page: CursorPage<Item>, linkTo: LinkTo): JsonDocument {
  return { cursor: page.after, next: page.after === null ? null : linkTo('cursor', page.after) };
}

export const encodeCursor = (position: number): string =>
  Buffer.from(`position ${position}`).toString('base64url');

/** Returns NaN for an invalid cursor. */
function positionOf(cursor: string | null) {
  if (cursor === null || cursor === '') return null;
  return Number(/^position (-?\d+)$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]);
}

export type LinkStore = ReturnType<typeof createLinkStore>;

export function createLinkStore(initial: readonly WorldLink[]) {
  const links = new Map(initial.map((item, position) => [item.token, { position, item }]));
  let nextPosition = initial.length;

  const entryOf = (token: string): Positioned<WorldLink> => {
    const entry = links.get(token);
    if (entry === undefined)
      throw new RangeError(`The simulator has no link with the token ${token}`);
    return entry;
  };

  function partnerOf(token: string): number | null {
    const { partner_id: partnerId, parentToken } = entryOf(token).item;
    return partnerId ?? (parentToken === null ? null : partnerOf(parentToken));
  }

  return {
    list: (appToken: string, parentToken: string | null) =>
      [...links.values()].filter(
        ({ item }) => item.parentToken === parentToken && item.appToken === appToken,
      ),
    find: (token: string) => links.get(token)?.item ?? null,
    partnerOf,
    insert({ parentToken, ...named }: Pick<WorldLink, 'appToken' | 'parentToken' | 'label'>) {
      const parent = parentToken === null ? null : entryOf(parentToken).item;
      const token = `n${nextPosition.toString(36).padStart(6, '0')}`;
      const unset = { archived: false, partner_id: null, cost_data_enabled: false };
      const item = linkBelow(parent, { ...named, ...unset, token });
      links.set(token, { position: nextPosition, item });
      nextPosition += 1;
      return item;
    },
    change(token: string, change: Partial<WorldLink>) {
      const { position, item } = entryOf(token);
      const changed = { ...item, ...change };
      links.set(token, { position, item: changed });
      return changed;
    },
    delete: (token: string): void => void links.delete(token),
  };
}
