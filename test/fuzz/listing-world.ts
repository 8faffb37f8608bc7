/**
 * Links and partners of an account as a service lists them, written from the interface document alone: pages of three
 * styles, and nights on which a list fails, is empty, ends early or is told beside an error.
 */

import * as fc from 'fast-check';

import { calm, tinyCatalog } from '../support/tiny-service.ts';
import { json, type Received, type Reply } from '../support/scripted-server.ts';

/** A link as it is; where it stands in the tree is its parent's token. */
export interface AccountLink {
  readonly token: string;
  readonly app: string;
  readonly parent: string | null;
  readonly label: string;
  readonly partner: number | null;
  readonly archived: boolean;
}

export interface AccountPartner {
  readonly id: number;
  readonly name: string;
}

export interface Account {
  readonly links: readonly AccountLink[];
  readonly partners: readonly AccountPartner[];
}

/** What becomes of an account between two nights; `at` chooses among what there is, as a share. */
export interface AccountChange {
  readonly kind: 'add' | 'remove' | 'rename' | 'move' | 'archive' | 'partner' | 'give away';
  readonly at: number;
  readonly to: number;
  readonly label: string;
}

/** How one list of a night is not as it should be; `at` chooses the list. */
export interface ListMood {
  readonly kind: 'empty' | 'cut' | 'beside an error' | 503 | 403;
  readonly at: number;
}

export interface Listing {
  readonly paging: 'v1' | 'v2' | 'cursor';
  readonly size: number;
  readonly knowsV2: boolean;
  /** Whether a page begins with the last item of the one before, as when an item was added meanwhile. */
  readonly shifts: boolean;
  readonly links: ListMood | null;
  readonly partners: Omit<ListMood, 'at'> | null;
}

export interface ListingNight {
  readonly pauseHours: number;
  readonly changes: readonly AccountChange[];
  readonly listing: Listing;
}

export interface ListingSequence {
  readonly links: number;
  readonly partners: number;
  readonly seed: number;
  readonly nights: readonly ListingNight[];
}

export const apps = ['appaaaaaaaaa', 'appbbbbbbbbb'] as const;
const MOST_LEVELS = 4;

const chosen = <T>(items: readonly T[], at: number): T | undefined => items[Math.floor(at * items.length)];

/** The depth of a link, 1 for a network. */
export function levelOf({ parent }: AccountLink, links: readonly AccountLink[]): number {
  const above = links.find(({ token }) => token === parent);
  return above === undefined ? 1 : 1 + levelOf(above, links);
}

/** A link and all below it. */
function branchOf(link: AccountLink, links: readonly AccountLink[]): AccountLink[] {
  const below = links.filter(({ parent }) => parent === link.token);
  return [link, ...below.flatMap((each) => branchOf(each, links))];
}

export function firstAccount({ links, partners, seed }: ListingSequence): Account {
  const start: Account = {
    links: [],
    partners: Array.from({ length: partners }, (_, at) => ({ id: at + 1, name: `Partner ${at}` })),
  };
  return Array.from({ length: links }, (_, at) => at).reduce(
    (account, at) =>
      changed(account, { kind: 'add', at: fraction(seed, at), to: fraction(seed + 7, at), label: `l${at}` }),
    start,
  );
}

const fraction = (seed: number, at: number): number => ((seed * 31 + at * 17 + ((at * at) % 101)) % 997) / 997;

export function changed(account: Account, { kind, at, to, label }: AccountChange): Account {
  const { links, partners } = account;
  const link = chosen(links, at);
  const replaced = (change: Partial<AccountLink>): Account => ({
    ...account,
    links: links.map((each) => (each === link ? { ...each, ...change } : each)),
  });
  if (kind === 'add') {
    const token = `link-${links.length}_${Math.floor(at * 1000)}${Math.floor(to * 1000)}`;
    if (links.some((each) => each.token === token)) return account;
    // Half of them are networks.
    const above = at < 0.5 || link === undefined || levelOf(link, links) >= MOST_LEVELS ? null : link;
    const app = above?.app ?? chosen(apps, to) ?? apps[0];
    const partner = above === null ? (chosen(partners, to)?.id ?? null) : null;
    const added = { token, app, parent: above?.token ?? null, label, partner, archived: false };
    return {
      links: [...links, added],
      partners:
        to < 0.1 ? [...partners, { id: 1 + Math.max(0, ...partners.map(({ id }) => id)), name: label }] : partners,
    };
  }
  if (link === undefined) return account;
  const branch = branchOf(link, links);
  if (kind === 'remove') {
    return {
      links: links.filter((each) => !branch.includes(each)),
      partners: partners.filter((_, index) => to > 0.2 || index !== 0),
    };
  }
  if (kind === 'rename')
    return {
      ...replaced({ label }),
      partners: partners.map((each, index) => (index === 0 ? { ...each, name: label } : each)),
    };
  if (kind === 'archive') return replaced({ archived: !link.archived });
  if (kind === 'partner')
    return link.parent === null ? replaced({ partner: chosen(partners, to)?.id ?? null }) : account;
  if (kind === 'give away') {
    const app = apps.find((each) => each !== link.app) ?? apps[0];
    return {
      ...account,
      links: links.map((each) =>
        branch.includes(each) ? { ...each, app, ...(each === link ? { parent: null } : {}) } : each,
      ),
    };
  }
  const above = chosen(
    links.filter((each) => each.app === link.app && !branch.includes(each)),
    to,
  );
  const depth = Math.max(...branch.map((each) => levelOf(each, links))) - levelOf(link, links);
  if (above === undefined || levelOf(above, links) + 1 + depth > MOST_LEVELS) return account;
  return replaced({ parent: above.token, partner: null });
}

/** One list as it is served: whole, or as a mood makes it. */
export interface ServedList<T> {
  readonly items: readonly T[];
  /** How many there are, as v1 pages say. */
  readonly total: number;
  readonly fails: 503 | 403 | 'beside an error' | null;
}

/** The lists of links: of each app's networks, and of the sub-links of each link that has some. */
export function listsOf({ links }: Account, { links: mood }: Listing): ReadonlyMap<string, ServedList<AccountLink>> {
  const keys = [
    ...apps,
    ...links.filter((link) => links.some(({ parent }) => parent === link.token)).map(({ token }) => token),
  ];
  const moody = mood === null ? null : chosen(keys, mood.at);
  return new Map(
    keys.map((key) => {
      const items = links.filter((link) => (link.parent ?? link.app) === key);
      return [key, servedAs(items, key === moody ? mood : null)];
    }),
  );
}

export function servedAs<T>(items: readonly T[], mood: Pick<ListMood, 'kind'> | null): ServedList<T> {
  const total = items.length;
  if (mood === null) return { items, total, fails: null };
  if (mood.kind === 'empty') return { items: [], total: 0, fails: null };
  if (mood.kind === 'cut') return { items: items.slice(0, Math.floor(total * 0.6)), total, fails: null };
  return { items, total, fails: mood.kind };
}

/** Whether pages say how many items there are. */
export const statesTotal = ({ paging }: Listing): boolean => paging === 'v1';

/** The answer to a request on a night. */
export function listingReply(
  { path, query, headers }: Received,
  account: Account,
  listing: Listing,
  rows: () => unknown,
): Reply {
  if (path.endsWith('/filters_data')) {
    const catalog = tinyCatalog({ mood: calm });
    const wanted = (query.get('required_filters') ?? '').split(',');
    return json(
      Object.fromEntries(
        wanted.map((list) => [
          list,
          (catalog.get(list) ?? []).map((item) => Object.assign({ short_name: item.shortName }, item)),
        ]),
      ),
    );
  }
  if (path.endsWith('/report')) return json(rows());
  const origin = `http://${headers.host ?? ''}`;
  if (path.startsWith('/public/v2/') && !listing.knowsV2) return json({ error: 'no such path' }, { status: 404 });
  if (path === '/public/v1/partners') {
    const items = account.partners.map(({ id, name }) => ({
      id,
      display_name: name,
      supports_cost_data: id % 2 === 0,
    }));
    return pageOf(servedAs(items, listing.partners), { path, query, origin, listing });
  }
  const [, app = '', parent = ''] = /\/apps\/(\w+)\/trackers(?:\/([^/]+)\/children)?$/.exec(path) ?? [];
  const served = listsOf(account, listing).get(parent === '' ? app : parent);
  if (served === undefined) return json({ error: 'no such link' }, { status: 404 });
  return pageOf(
    { ...served, items: served.items.map((link) => wireLink(link, account.links)) },
    { path, query, origin, listing },
  );
}

function wireLink(link: AccountLink, links: readonly AccountLink[]): Readonly<Record<string, unknown>> {
  return {
    name: nameOf(link, links),
    token: link.token,
    label: link.label,
    level: levelOf(link, links),
    archived: link.archived,
    has_subtrackers: links.some(({ parent }) => parent === link.token),
    partner_id: link.partner,
    cost_data_enabled: link.label.length % 2 === 0,
    url: `https://link.example.com/${link.token}?c={campaign_name}`,
    click_url: null,
    impression_url: `https://view.example.com/${link.token}?i=[idfa] x`,
  };
}

export function nameOf(link: AccountLink, links: readonly AccountLink[]): string {
  const above = links.find(({ token }) => token === link.parent);
  return above === undefined ? link.label : `${nameOf(above, links)}::${link.label}`;
}

interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly origin: string;
  readonly listing: Listing;
}

function pageOf(served: ServedList<Readonly<Record<string, unknown>>>, { path, query, origin, listing }: Asked): Reply {
  const { items, total, fails } = served;
  if (fails === 503 || fails === 403) return json({ error: 'no' }, { status: fails });
  const { paging, size, shifts } = listing;
  const from = Number(query.get('after') ?? query.get('cursor') ?? 0);
  const page = items.slice(shifts && from > 0 ? from - 1 : from, from + size);
  const next = from + size < items.length ? String(from + size) : null;
  const style = path.startsWith('/public/v2/') ? 'v2' : paging;
  const address = (key: string): string | null => (next === null ? null : `${origin}${path}?${key}=${next}`);
  const paged =
    style === 'v2'
      ? { cursor: String(from), next: address('after') ?? '' }
      : style === 'v1'
        ? { total: String(total), page_size: String(size), next: address('after'), cursors: { after: next } }
        : { cursors: { after: next, before: null } };
  const error = fails === null ? {} : { error: 'a shard was down' };
  return json({ ...error, data: { items: page, paging: paged } });
}

const mostly = <T>(usual: T, other: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T> =>
  fc.oneof({ withCrossShrink: true }, { weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const share = fc.nat(996).map((part) => part / 997);
const kind = fc.constantFrom<ListMood['kind'][]>('empty', 'cut', 'beside an error', 503, 403);

export const listingSequences: fc.Arbitrary<ListingSequence> = fc.record({
  links: fc.integer({ min: 0, max: 40 }),
  partners: fc.integer({ min: 0, max: 30 }),
  seed: fc.nat(996),
  nights: fc.array(
    fc.record({
      pauseHours: mostly(24, fc.constantFrom(0, 24 * 3, 24 * 40), 4),
      changes: fc.array(
        fc.record({
          kind: fc.constantFrom<AccountChange['kind'][]>(
            'add',
            'add',
            'remove',
            'rename',
            'move',
            'archive',
            'partner',
            'give away',
          ),
          at: share,
          to: share,
          label: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
        }),
        { maxLength: 4 },
      ),
      listing: fc.record({
        paging: fc.constantFrom<Listing['paging'][]>('v1', 'v2', 'cursor'),
        size: fc.constantFrom(3, 50),
        knowsV2: fc.boolean(),
        shifts: mostly(false, fc.constant(true), 4),
        links: mostly<Listing['links']>(null, fc.record({ kind, at: share }), 1),
        partners: mostly<Listing['partners']>(null, fc.record({ kind }), 3),
      }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
});
