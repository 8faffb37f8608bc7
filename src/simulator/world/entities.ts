/** Partners, apps and the tree of links: what the campaign API lists, and what the reports' rows belong to. */

import { choose, hashText, mix } from './hash.ts';
import { appNames, awkwardLabels, partnerNames, plainLabels } from './names.ts';

export interface WorldPartner {
  readonly id: number;
  readonly display_name: string;
  readonly supports_cost_data: boolean;
}

export type Store = 'ios' | 'android';

export interface WorldApp {
  /** Exactly 12 alphanumeric characters. */
  readonly token: string;
  readonly name: string;
  readonly storeId: string;
  /** The platform of the app's store; a few of its users come with neighbouring systems. */
  readonly os: Store;
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

type Level = keyof typeof plainLabels;

const levels = [1, 2, 3, 4] as const satisfies readonly Level[];

/** Shares of an app's links by level; creatives are what remains. */
const levelShares = { 1: 0.2, 2: 0.3, 3: 0.25, 4: 1 } as const;
/** An app has no more networks than this, however many links it has. */
const MAX_NETWORKS = 40;
/** Every third label is an awkward one. */
const AWKWARD_EVERY = 3;
/** Every seventh network of the world is attached to no partner. */
const UNATTACHED_EVERY = 7;
const ARCHIVED_EVERY = 11;
const BASE = 36;

function tokenOf(seed: number, length: number): string {
  const digits = Array.from({ length }, (_, index) => choose(mix(seed, index), BASE).toString(BASE));
  return digits.join('');
}

/** The partners of a world, in the order the service lists them; ids are unique. */
export function createPartners(seed: number, count: number): WorldPartner[] {
  const firstId = 174;
  const maxStep = 9;
  let id = firstId;
  return Array.from({ length: count }, (_, index) => {
    id += 1 + choose(mix(seed, index), maxStep);
    const name = partnerNames[index % partnerNames.length] ?? '';
    const round = Math.floor(index / partnerNames.length);
    return {
      id,
      display_name: round === 0 ? name : `${name} ${round + 1}`,
      supports_cost_data: index % 3 !== 2,
    };
  });
}

/** The apps of a world; the first two share their name, not their token. */
export function createApps(seed: number, count: number): WorldApp[] {
  const tokenLength = 12;
  const firstStoreId = 1_400_000_000;
  return Array.from({ length: count }, (_, index) => {
    const os: Store = index % 2 === 0 ? 'ios' : 'android';
    return {
      token: tokenOf(mix(seed, hashText(`app ${index}`)), tokenLength),
      name: appNames[index % appNames.length] ?? '',
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

function labelOf(level: Level, ordinal: number, seed: number, taken: ReadonlySet<string>): string {
  const awkward = ordinal % AWKWARD_EVERY === 0;
  const labels = awkward ? awkwardLabels : plainLabels[level];
  const rank = Math.floor(ordinal / AWKWARD_EVERY);
  const label = labels[awkward ? rank % labels.length : choose(seed, labels.length)] ?? '';
  const unique = taken.has(label) ? `${label} ${ordinal}` : label;
  return level === 2 && !awkward ? `${unique} (${networkId(seed)})` : unique;
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

/** The urls of a link: macros, brackets, spaces and percent signs included, as people wrote them. */
function urlsOf(token: string): Pick<WorldLink, 'url' | 'clickUrl' | 'impressionUrl'> {
  const landing = 'https%3A%2F%2Fexample.com%2Fc%3Fd%3D1%26e%3D%%MACROS%%';
  return {
    url: `https://app.example.com/${token}`,
    clickUrl: `https://app.example.com/${token}?campaign={campaign_name}&idfa=[idfa]&label=my label&deeplink=${landing}`,
    impressionUrl: `https://s2s.example.com/impression/${token}?campaign={campaign_name}&idfa={idfa}&s2s=1`,
  };
}

/**
 * The links of every app, parents before their children, four levels deep where there are enough of them. Labels are
 * unique among siblings; `count` is spread evenly over the apps.
 */
export function createLinks(
  seed: number,
  count: number,
  apps: readonly WorldApp[],
  partners: readonly WorldPartner[],
): WorldLink[] {
  const tokens = new Set<string>();
  const links: WorldLink[] = [];
  let networks = 0;

  const freshToken = (linkSeed: number): string => {
    let attempt = linkSeed;
    let token = tokenOf(attempt, 6 + choose(attempt, 3));
    while (tokens.has(token)) {
      attempt = mix(attempt, 1);
      token = tokenOf(attempt, 6 + choose(attempt, 3));
    }
    tokens.add(token);
    return token;
  };

  for (const [appIndex, app] of apps.entries()) {
    const share = Math.floor(count / apps.length) + (appIndex < count % apps.length ? 1 : 0);
    const counts = countsByLevel(share);
    const takenBelow = new Map<string | null, Set<string>>();
    let above: WorldLink[] = [];
    for (const level of levels) {
      const here: WorldLink[] = [];
      for (let index = 0; index < counts[level]; index += 1) {
        const ordinal = links.length;
        const linkSeed = mix(mix(seed, hashText(app.token)), ordinal);
        const parent = above.length === 0 ? null : (above[index === 0 ? 0 : choose(linkSeed, above.length)] ?? null);
        const token = freshToken(linkSeed);
        const taken = takenBelow.get(parent?.token ?? null) ?? new Set<string>();
        takenBelow.set(parent?.token ?? null, taken);
        const label = labelOf(level, ordinal, linkSeed, taken);
        taken.add(label);
        networks += level === 1 ? 1 : 0;
        const attached = level === 1 && networks % UNATTACHED_EVERY !== 0;
        const partner = attached ? partners[networks % Math.max(1, partners.length)] : undefined;
        const link: WorldLink = {
          token,
          appToken: app.token,
          parentToken: parent?.token ?? null,
          label,
          name: parent === null ? label : `${parent.name}::${label}`,
          level,
          archived: ordinal % ARCHIVED_EVERY === ARCHIVED_EVERY - 1,
          partnerId: partner?.id ?? null,
          costDataEnabled: partner?.supports_cost_data ?? parent?.costDataEnabled ?? false,
          ...urlsOf(token),
        };
        here.push(link);
        links.push(link);
      }
      above = here;
    }
  }
  return links;
}
