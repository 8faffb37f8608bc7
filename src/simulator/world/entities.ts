/** Partners, apps, the tree of links, and the names their owners gave them: what the campaign API lists, and what the reports' rows belong to. */

import { choose, hashText, mix } from './hash.ts';

export interface Names {
  readonly partners: readonly string[];
  readonly apps: readonly string[];
  /** Labels of links by level; a number follows where they run out. */
  readonly labels: Readonly<Record<1 | 2 | 3 | 4, readonly string[]>>;
  /** Labels that every third link has in place of one of its level; none leaves every link its own. */
  readonly oddLabels: readonly string[];
}

/** The first two apps are the same one for two stores, distinct by their tokens only. */
export const ordinaryNames: Names = {
  partners: [
    'Northwind Ads',
    'Halcyon Social',
    'Kumo',
    'Pixelmill',
    'Juniper Search',
    'Bluefin DSP',
    'Tessera',
    'Étoile Média',
    'Mosaic Video',
    'Offerwall Plus',
  ],
  apps: ['Dulci', 'Dulci', 'Rover', 'Ledger', 'Atlas', 'Quill'],
  labels: {
    1: ['Northwind', 'Halcyon Social', 'Kumo', 'Pixelmill', 'Juniper Search', 'Bluefin DSP', 'Tessera', 'Mosaic Video'],
    2: ['Spring Sale', 'Retargeting', 'Lookalike 1%', 'Brand', 'Summer', 'Broad'],
    3: ['Women 25-34', 'Men 18-24', 'Interests', 'All audiences', 'High value'],
    4: ['Video 15s', 'Banner 320x50', 'Playable', 'Story 9:16', 'Carousel'],
  },
  oddLabels: [],
};

export interface WorldPartner {
  readonly id: number;
  readonly display_name: string;
  readonly supports_cost_data: boolean;
}

export type AppStore = 'ios' | 'android';

export interface WorldApp {
  /** Exactly 12 alphanumeric characters. */
  readonly token: string;
  readonly name: string;
  readonly storeId: string;
  /** The platform of the app's store; a few of its users come with neighbouring systems. */
  readonly os: AppStore;
}

export interface WorldLink {
  /** 6 to 8 characters, unique in the world. */
  readonly token: string;
  readonly appToken: string;
  readonly parentToken: string | null;
  readonly label: string;
  /** The parent's name, `::`, the label. */
  readonly name: string;
  /** 1 network, 2 campaign, 3 ad group, 4 creative. */
  readonly level: number;
  readonly archived: boolean;
  /** Null on sub-links, and on networks nobody attached to a partner. */
  readonly partnerId: number | null;
  readonly costDataEnabled: boolean;
  readonly url: string;
  readonly clickUrl: string;
  readonly impressionUrl: string;
}

const levels = [1, 2, 3, 4] as const;

type Level = (typeof levels)[number];

/** Shares of an app's links by level; creatives are what remains. */
const levelShares = { 1: 0.2, 2: 0.3, 3: 0.25, 4: 1 } as const;
/** An app has no more networks than this, however many links it has. */
const MAX_NETWORKS = 40;
/** Every third label is an odd one, where there are any. */
const ODD_EVERY = 3;
/** Every seventh network of the world is attached to no partner. */
const UNATTACHED_EVERY = 7;
const ARCHIVED_EVERY = 11;
const BASE = 36;

function tokenOf(seed: number, length: number): string {
  const digits = Array.from({ length }, (_, index) => choose(mix(seed, index), BASE).toString(BASE));
  return digits.join('');
}

/** The partners of a world, in the order the service lists them; ids are unique. */
export function createPartners(seed: number, count: number, names: Names['partners']): WorldPartner[] {
  const firstId = 174;
  const maxStep = 9;
  let id = firstId;
  return Array.from({ length: count }, (_, index) => {
    id += 1 + choose(mix(seed, index), maxStep);
    const name = names[index % names.length] ?? '';
    const round = Math.floor(index / names.length);
    return {
      id,
      display_name: round === 0 ? name : `${name} ${round + 1}`,
      supports_cost_data: index % 3 !== 2,
    };
  });
}

/** The apps of a world; the first two share their name, not their token. */
export function createApps(seed: number, count: number, names: Names['apps']): WorldApp[] {
  const tokenLength = 12;
  const firstStoreId = 1_400_000_000;
  return Array.from({ length: count }, (_, index) => {
    const os: AppStore = index % 2 === 0 ? 'ios' : 'android';
    return {
      token: tokenOf(mix(seed, hashText(`app ${index}`)), tokenLength),
      name: names[index % names.length] ?? '',
      storeId: os === 'ios' ? String(firstStoreId + index) : `com.example.app${index}`,
      os,
    };
  });
}

/** The id a network might give a campaign; half of them are above 2^53. */
function networkId(seed: number): string {
  const id = String(seed >>> 0).padStart(10, '0');
  return (seed & 1) === 0 ? `2385000000${id}` : id.slice(1);
}

/** The name and id the network itself gives a link: `Name (id)` says both, any other label only the name. */
export function namedByNetwork(link: WorldLink): { readonly name: string; readonly id: string } {
  const match = /^(.*) \((\d+)\)$/s.exec(link.label);
  if (match !== null) return { name: match[1] ?? '', id: match[2] ?? '' };
  return { name: link.label, id: networkId(hashText(link.token)) };
}

function labelOf(level: Level, ordinal: number, seed: number, names: Names): string {
  const { oddLabels } = names;
  const rank = Math.floor(ordinal / ODD_EVERY);
  if (oddLabels.length > 0 && ordinal % ODD_EVERY === 0) return oddLabels[rank % oddLabels.length] ?? '';
  const labels = names.labels[level];
  return labels[choose(seed, labels.length)] ?? '';
}

function countsByLevel(total: number): Record<Level, number> {
  const counts = { 1: 0, 2: 0, 3: 0, 4: 0 };
  let remaining = total;
  for (const level of levels) {
    const share = Math.max(1, Math.round(total * levelShares[level]));
    counts[level] = Math.min(remaining, level === 1 ? Math.min(share, MAX_NETWORKS) : share);
    remaining -= counts[level];
  }
  return counts;
}

type OwnOfLink = Omit<WorldLink, 'parentToken' | 'name' | 'level' | 'url' | 'clickUrl' | 'impressionUrl'>;

/** A link below another one; its addresses hold macros, brackets, spaces and percent signs, as people wrote them. */
export function linkBelow(parent: WorldLink | null, own: OwnOfLink): WorldLink {
  const { token, label } = own;
  const landing = 'https%3A%2F%2Fexample.com%2Fc%3Fd%3D1%26e%3D%%MACROS%%';
  return {
    ...own,
    parentToken: parent?.token ?? null,
    name: parent === null ? label : `${parent.name}::${label}`,
    level: (parent?.level ?? 0) + 1,
    url: `https://app.example.com/${token}`,
    clickUrl: `https://app.example.com/${token}?campaign={campaign_name}&idfa=[idfa]&label=my label&deeplink=${landing}`,
    impressionUrl: `https://s2s.example.com/impression/${token}?campaign={campaign_name}&idfa={idfa}&s2s=1`,
  };
}

interface Owners {
  readonly apps: readonly WorldApp[];
  readonly partners: readonly WorldPartner[];
  readonly names: Names;
}

/**
 * The links of every app, parents before their children, four levels deep where there are enough of them. Labels are
 * unique among siblings; `count` is spread evenly over the apps.
 */
export function createLinks(seed: number, count: number, { apps, partners, names }: Owners): WorldLink[] {
  const links = new Map<string, WorldLink>();
  let networks = 0;

  const freshToken = (linkSeed: number): string => {
    const token = tokenOf(linkSeed, 6 + choose(linkSeed, 3));
    return links.has(token) ? freshToken(mix(linkSeed, 1)) : token;
  };

  const addLink = (app: WorldApp, level: Level, parent: WorldLink | null, taken: Set<string>): WorldLink => {
    const ordinal = links.size;
    const linkSeed = mix(mix(seed, hashText(app.token)), ordinal);
    const token = freshToken(linkSeed);
    const name = labelOf(level, ordinal, linkSeed, names);
    const unique = taken.has(name) ? `${name} ${ordinal}` : name;
    const label = level === 2 && !names.oddLabels.includes(name) ? `${unique} (${networkId(linkSeed)})` : unique;
    taken.add(label);
    networks += level === 1 ? 1 : 0;
    const isAttached = level === 1 && networks % UNATTACHED_EVERY !== 0;
    const partner = isAttached ? partners[networks % Math.max(1, partners.length)] : undefined;
    const link = linkBelow(parent, {
      token,
      appToken: app.token,
      label,
      archived: ordinal % ARCHIVED_EVERY === ARCHIVED_EVERY - 1,
      partnerId: partner?.id ?? null,
      costDataEnabled: partner?.supports_cost_data ?? parent?.costDataEnabled ?? false,
    });
    links.set(token, link);
    return link;
  };

  for (const [appIndex, app] of apps.entries()) {
    const counts = countsByLevel(Math.floor(count / apps.length) + (appIndex < count % apps.length ? 1 : 0));
    const labelsBelow = new Map<string, Set<string>>();
    let above: WorldLink[] = [];
    for (const level of levels) {
      above = Array.from({ length: counts[level] }, (_, index): WorldLink => {
        const linkSeed = mix(mix(seed, hashText(app.token)), links.size);
        const parent = above[index === 0 ? 0 : choose(linkSeed, above.length)] ?? null;
        const taken = labelsBelow.get(parent?.token ?? '') ?? new Set<string>();
        labelsBelow.set(parent?.token ?? '', taken);
        return addLink(app, level, parent, taken);
      });
    }
  }
  return [...links.values()];
}
