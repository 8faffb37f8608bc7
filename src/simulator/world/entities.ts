/** The partners, apps and links of a world, and their names. */

import { MAX_LEVEL } from '../../model/link.ts';
import { choose, hashText, mix } from './hash.ts';

export interface Names {
  readonly partners: readonly string[];
  readonly apps: readonly string[];
  /** By level, networks first. A label that a sibling already has gets a number. */
  readonly labels: readonly (readonly string[])[];
  /** Every third link has one of these, if there are any. */
  readonly unusualLabels: readonly string[];
}

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
  labels: [
    [
      'Northwind',
      'Halcyon Social',
      'Kumo',
      'Pixelmill',
      'Juniper Search',
      'Bluefin DSP',
      'Tessera',
      'Mosaic Video',
    ],
    ['Spring Sale', 'Retargeting', 'Lookalike 1%', 'Brand', 'Summer', 'Broad'],
    ['Women 25-34', 'Men 18-24', 'Interests', 'All audiences', 'High value'],
    ['Video 15s', 'Banner 320x50', 'Playable', 'Story 9:16', 'Carousel'],
  ],
  unusualLabels: [],
};

export interface WorldPartner {
  readonly id: number;
  readonly display_name: string;
  readonly supports_cost_data: boolean;
}

export interface WorldApp {
  readonly token: string;
  readonly name: string;
  readonly storeId: string;
  readonly storeType: 'app_store' | 'google_play';
}

/** All but `appToken` and `parentToken` as the campaign API sends it. */
export interface WorldLink {
  readonly appToken: string;
  readonly parentToken: string | null;
  readonly token: string;
  readonly label: string;
  readonly name: string;
  readonly level: number;
  readonly archived: boolean;
  /** Null for sub-links and unattached networks. */
  readonly partner_id: number | null;
  readonly cost_data_enabled: boolean;
  readonly url: string;
  readonly click_url: string;
  readonly impression_url: string;
}

/** Of an app's links, up to `MAX_NETWORKS`. */
const NETWORK_SHARE = 0.2;
const MAX_NETWORKS = 40;
const ODD_EVERY = 3;
const UNATTACHED_EVERY = 7;
const ARCHIVED_EVERY = 11;
const BASE = 36;

const tokenOf = (seed: number, length: number) =>
  Array.from({ length }, (_, at) => choose(mix(seed, at), BASE).toString(BASE)).join('');

export function createPartners(seed: number, count: number, names: Names['partners']) {
  let id = 174;
  return Array.from({ length: count }, (_, index): WorldPartner => {
    id += 1 + choose(mix(seed, index), 9);
    const round = Math.floor(index / names.length);
    const number = round === 0 ? '' : ` ${round + 1}`;
    const name = `${names[index % names.length]}${number}`;
    return { id, display_name: name, supports_cost_data: index % 3 !== 2 };
  });
}

export function createApps(seed: number, count: number, names: Names['apps']): WorldApp[] {
  return Array.from({ length: count }, (_, index) => {
    const token = tokenOf(mix(seed, hashText(`app ${index}`)), 12);
    const name = names[index % names.length] ?? '';
    return index % 2 === 0
      ? { token, name, storeId: String(1_400_000_000 + index), storeType: 'app_store' }
      : { token, name, storeId: `com.example.app${index}`, storeType: 'google_play' };
  });
}

/** As a network gives a campaign. Half of them are above 2^53. */
function networkId(seed: number) {
  const id = String(seed >>> 0).padStart(10, '0');
  return (seed & 1) === 0 ? `2385000000${id}` : id.slice(1);
}

/** A label `Name (id)` holds both. */
export function namedByNetwork(link: WorldLink) {
  const [, name = link.label, id = networkId(hashText(link.token))] =
    /^(.*) \((\d+)\)$/s.exec(link.label) ?? [];
  return { name, id };
}

/** Like those of real links, its addresses have macros, brackets, spaces and `%`. */
export function linkBelow(
  parent: WorldLink | null,
  link: Omit<WorldLink, 'parentToken' | 'name' | 'level' | `${string}url`>,
): WorldLink {
  const { token, label } = link;
  const landing = 'https%3A%2F%2Fexample.com%2Fc%3Fd%3D1%26e%3D%%MACROS%%';
  return {
    ...link,
    parentToken: parent?.token ?? null,
    name: parent === null ? label : `${parent.name}::${label}`,
    level: (parent?.level ?? 0) + 1,
    url: `https://app.example.com/${token}`,
    click_url: `https://app.example.com/${token}?campaign={campaign_name}&idfa=[idfa]&label=my label&deeplink=${landing}`,
    impression_url: `https://s2s.example.com/impression/${token}?campaign={campaign_name}&idfa={idfa}&s2s=1`,
  };
}

/** Parents first, labels unique among siblings. */
export function createLinks(
  seed: number,
  count: number,
  apps: readonly WorldApp[],
  partners: readonly WorldPartner[],
  names: Names,
): WorldLink[] {
  const links: WorldLink[] = [];
  const taken = new Set<string>();
  let networks = 0;

  const addLink = (app: WorldApp, parent: WorldLink | null) => {
    const ordinal = links.length;
    const linkSeed = mix(mix(seed, hashText(app.token)), ordinal);
    networks += parent === null ? 1 : 0;
    const isAttached = parent === null && networks % UNATTACHED_EVERY !== 0;
    const partner = isAttached ? partners[networks % Math.max(1, partners.length)] : undefined;
    const isUnusual = names.unusualLabels.length > 0 && ordinal % ODD_EVERY === 0;
    const labels = names.labels[parent?.level ?? 0] ?? [];
    let label = labels[choose(linkSeed, labels.length)] ?? '';
    if (isUnusual)
      label = names.unusualLabels[(ordinal / ODD_EVERY) % names.unusualLabels.length] ?? '';
    else if (parent?.level === 1) label = `${label} (${networkId(linkSeed)})`;
    const sibling = JSON.stringify([app.token, parent?.token, label]);
    const link = linkBelow(parent, {
      token: `${tokenOf(linkSeed, 4)}${ordinal.toString(BASE).padStart(3, '0')}`,
      appToken: app.token,
      label: taken.has(sibling) ? `${label} ${ordinal}` : label,
      archived: ordinal % ARCHIVED_EVERY === ARCHIVED_EVERY - 1,
      partner_id: partner?.id ?? null,
      cost_data_enabled: partner?.supports_cost_data ?? parent?.cost_data_enabled ?? false,
    });
    taken.add(sibling);
    links.push(link);
    return link;
  };

  for (const [appIndex, app] of apps.entries()) {
    const total = Math.floor(count / apps.length) + (appIndex < count % apps.length ? 1 : 0);
    const networks = Math.min(MAX_NETWORKS, Math.max(1, Math.round(total * NETWORK_SHARE)));
    const parents: WorldLink[] = [];
    for (let index = 0; index < total; index += 1) {
      // The first links after the networks form a path down to the deepest level.
      const isOnPath = index < networks + MAX_LEVEL - 1;
      const parent = isOnPath ? parents.at(-1) : parents[choose(mix(seed, index), parents.length)];
      const link = addLink(app, index < networks ? null : (parent ?? null));
      if (link.level < MAX_LEVEL) parents.push(link);
    }
  }
  return links;
}
