/**
 * Lanes: the combinations of leaf link, country and device that carry traffic.
 *
 * A lane fixes every text dimension of a row and the character of its traffic: volume, price, stickiness. The number of
 * lanes follows from the rows a day should have, never from the number of links.
 */

import type { textDimensions } from '../../model/dimension.ts';
import { countries } from './countries.ts';
import { namedByNetwork, type AppStore, type WorldApp, type WorldLink, type WorldPartner } from './entities.ts';
import { choose, fraction, hashText, mix } from './hash.ts';

/** Dimensions that a lane fixes; the currency is the report's. */
export type LaneDimension = Exclude<(typeof textDimensions)[number], 'currency' | 'currency_code'>;

/** By text dimension, what the service knows of a lane. */
export type Texts = Readonly<Record<LaneDimension, string>>;

/** How a network is paid; the spend of a lane shows in one of the four cost metrics. */
export const pricings = ['install', 'click', 'impression', 'event'] as const;

export interface TrafficLane {
  readonly index: number;
  /** Lanes of one app, network, country and operating system share it: their rows appear and vanish together. */
  readonly keySeed: number;
  readonly texts: Texts;
  /** What a report says of it, by dimension: the same, unless the world's options change it. */
  readonly shown: ReadonlyMap<string, string | null>;
  /** Attributed to a link; organic lanes have neither clicks nor spend. */
  readonly paid: boolean;
  /** Whether install-framework postbacks exist for it. */
  readonly postbacks: boolean;
  /** Whether the network reports spend of its own. */
  readonly networkReports: boolean;
  readonly pricing: (typeof pricings)[number];
  /** Price of one install, in micro-units of US dollars. */
  readonly bidMicros: number;
  /** Revenue scale of one user, in micro-units of US dollars. */
  readonly userValueMicros: number;
  /** Mean installs of one atom. */
  readonly volume: number;
  /** How fast users leave: the larger, the sooner. */
  readonly churn: number;
  /** The first organic lane of the same app. */
  readonly organicIndex: number;
}

interface Device {
  readonly osName: string;
  readonly types: readonly [string, ...string[]];
}

const device = (osName: string, ...types: readonly [string, ...string[]]): Device => ({ osName, types });

const devicesByStore: Readonly<Record<AppStore, readonly Device[]>> = {
  ios: [
    device('ios', 'phone', 'tablet', 'ipod'),
    device('macos', 'mac'),
    device('unknown', 'Unknown Devices'),
    device('server', 'server'),
    device('linux', 'pc'),
    device('windows', 'pc'),
    device('facebook', 'unknown'),
    device('webos', 'tv'),
  ],
  android: [
    device('android', 'phone', 'tablet', 'phone'),
    device('android-tv', 'tv', 'set-top box'),
    device('fire-tv', 'tv'),
    device('unknown', 'Unknown Devices'),
    device('windows', 'pc', 'console'),
    device('linux', 'pc'),
    device('server', 'server'),
    device('webos', 'tv'),
  ],
};

/** Rows that were late, or vanished, or saw no traffic are missing from a day's count. */
const SHARE_OF_KEYS_SEEN = 0.95;
const MIN_SYSTEMS = 2;
const MAX_LANES_PER_KEY = 3;
const ORGANIC_ID = '-300';
const ORGANIC = 'Organic';
const EXPIRED = 'Expired Attributions';

/** Where a lane's users came from: the texts of its link and of everything above it. */
type Origin = Omit<Texts, DeviceDimension | AppDimension | CountryDimension> & { readonly costDataEnabled: boolean };
type DeviceDimension = 'os_name' | 'device_type' | 'platform';
type AppDimension = 'app' | 'app_token' | 'store_id' | 'store_type';
type CountryDimension = 'country' | 'country_code' | 'region';

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replaceAll(/^_|_$/g, '');
}

function unattributed(network: string, unknown: string): Origin {
  return {
    network,
    campaign: unknown,
    campaign_network: unknown,
    campaign_id_network: unknown,
    adgroup: unknown,
    adgroup_network: unknown,
    adgroup_id_network: unknown,
    creative: unknown,
    creative_network: unknown,
    creative_id_network: unknown,
    source_network: unknown,
    source_id_network: unknown,
    partner_id: ORGANIC_ID,
    partner_name: ORGANIC,
    partner: ORGANIC,
    channel: network === ORGANIC ? ORGANIC : `${ORGANIC} - ${network}`,
    costDataEnabled: false,
  };
}

function originOf(path: readonly WorldLink[], partners: readonly WorldPartner[]): Origin {
  const [network, campaign, adgroup, creative] = path;
  const partner = partners.find((candidate) => candidate.id === network?.partnerId);
  const partnerName = partner?.display_name ?? 'unknown';
  const named = (link: WorldLink | undefined): { readonly name: string; readonly id: string } =>
    link === undefined ? { name: 'unknown', id: 'unknown' } : namedByNetwork(link);
  const source = named(creative ?? adgroup);
  return {
    network: network?.label ?? 'unknown',
    campaign: campaign?.label ?? 'unknown',
    campaign_network: named(campaign).name,
    campaign_id_network: named(campaign).id,
    adgroup: adgroup?.label ?? 'unknown',
    adgroup_network: named(adgroup).name,
    adgroup_id_network: named(adgroup).id,
    creative: creative?.label ?? 'unknown',
    creative_network: named(creative).name,
    creative_id_network: named(creative).id,
    source_network: source.id === 'unknown' ? '' : `publisher_${source.id.slice(-3)}`,
    source_id_network: source.id === 'unknown' ? '' : source.id.slice(-3),
    partner_id: partner === undefined ? 'unknown' : String(partner.id),
    partner_name: partnerName,
    partner: slugOf(partnerName),
    channel: `${partnerName} - ${network?.label ?? 'unknown'}`,
    costDataEnabled: network?.costDataEnabled ?? false,
  };
}

/** The origins of an app by network: organic, expired, then each level 1 link with the paths down to its leaves. */
function originsByNetwork(app: WorldApp, links: readonly WorldLink[], partners: readonly WorldPartner[]): Origin[][] {
  const children = new Map<string | null, WorldLink[]>();
  for (const link of links) {
    if (link.appToken !== app.token) continue;
    const siblings = children.get(link.parentToken) ?? [];
    siblings.push(link);
    children.set(link.parentToken, siblings);
  }
  const pathsBelow = (path: readonly WorldLink[]): (readonly WorldLink[])[] => {
    const below = children.get(path.at(-1)?.token ?? null) ?? [];
    return below.length === 0 ? [path] : below.flatMap((link) => pathsBelow([...path, link]));
  };
  const attributed = (children.get(null) ?? []).map((network) =>
    pathsBelow([network]).map((path) => originOf(path, partners)),
  );
  return [[unattributed(ORGANIC, 'unknown')], ...attributed, [unattributed(EXPIRED, 'expired attributions')]];
}

/** What lanes are made of. */
export interface Land {
  readonly seed: number;
  readonly rowsPerDay: number;
  readonly apps: readonly WorldApp[];
  readonly links: readonly WorldLink[];
  readonly partners: readonly WorldPartner[];
  /** What reports say in place of a lane's own texts. */
  readonly shownTexts: (texts: Texts, laneIndex: number) => ReadonlyMap<string, string | null>;
}

/** The lanes of a world, enough for about `rowsPerDay` combinations of app, network, country and system a day. */
export function createLanes({ seed, rowsPerDay, apps, links, partners, shownTexts }: Land): readonly TrafficLane[] {
  const lanes: TrafficLane[] = [];
  for (const app of apps) {
    const organicIndex = lanes.length;
    const networks = originsByNetwork(app, links, partners);
    const devices = devicesByStore[app.os];
    const keys = Math.max(1, Math.round(rowsPerDay / apps.length / SHARE_OF_KEYS_SEEN));
    const pairs = Math.ceil(keys / networks.length);
    const systems = Math.min(devices.length, Math.max(MIN_SYSTEMS, Math.ceil(pairs / countries.length)));
    const width = Math.min(countries.length, Math.ceil(pairs / systems));
    for (let key = 0; key < Math.min(keys, networks.length * width * systems); key += 1) {
      const origins = networks[key % networks.length] ?? [];
      const pair = Math.floor(key / networks.length);
      const country = countries[pair % width];
      const device = devices[Math.floor(pair / width)];
      if (country === undefined || device === undefined) continue;
      const keySeed = mix(mix(seed, hashText(app.token)), key);
      for (let copy = 0; copy <= choose(keySeed, MAX_LANES_PER_KEY); copy += 1) {
        const laneSeed = mix(keySeed, copy);
        const origin = origins[choose(laneSeed, origins.length)];
        if (origin === undefined) continue;
        const deviceType = device.types[choose(mix(laneSeed, 6), device.types.length)] ?? device.types[0];
        const { costDataEnabled, ...originTexts } = origin;
        const texts: Texts = {
          ...originTexts,
          app: app.name,
          app_token: app.token,
          store_id: app.storeId,
          store_type: app.os === 'ios' ? 'app_store' : 'google_play',
          os_name: device.osName,
          platform: device.osName,
          device_type: deviceType,
          country: country.name,
          country_code: country.code,
          region: country.region,
        };
        const paid = origin.partner_id !== ORGANIC_ID;
        const chance = fraction(mix(laneSeed, 1));
        lanes.push({
          index: lanes.length,
          keySeed,
          texts,
          shown: shownTexts(texts, lanes.length),
          paid,
          postbacks: paid && device.osName === 'ios',
          networkReports: paid && costDataEnabled,
          pricing: pricings[choose(mix(laneSeed, 2), pricings.length)] ?? 'install',
          bidMicros: 400_000 + choose(mix(laneSeed, 3), 3_600_000),
          userValueMicros: 40_000 + choose(mix(laneSeed, 4), 400_000),
          volume: 1 + 40 * chance * chance * chance * (paid ? 1 : 2),
          churn: 0.15 + 0.5 * fraction(mix(laneSeed, 5)),
          organicIndex,
        });
      }
    }
  }
  return lanes;
}
