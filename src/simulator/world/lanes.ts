/**
 * Lanes: combinations of leaf link, country and device that carry traffic. Each fixes every text dimension and the character of
 * its traffic.
 */

import { countries } from './countries.ts';
import { namedByNetwork, type WorldApp, type WorldLink, type WorldPartner } from './entities.ts';
import { choose, fraction, hashText, mix } from './hash.ts';

export interface TrafficLane {
  readonly index: number;
  /** Lanes of one app, network, country and system share it: their rows appear and vanish together. */
  readonly keySeed: number;
  /** By text dimension, but for the currency, which depends on the report. */
  readonly texts: ReadonlyMap<string, string>;
  /** Other lanes have neither clicks nor spend. */
  readonly paid: boolean;
  readonly postbacks: boolean;
  readonly networkReports: boolean;
  readonly bidMicros: number;
  /** Revenue scale of one user, in micro-units of US dollars. */
  readonly userValueMicros: number;
  readonly volume: number;
  readonly churn: number;
}

const systemsByStore = {
  app_store: ['ios', 'macos', 'unknown', 'server', 'linux', 'windows', 'facebook', 'webos'],
  google_play: [
    'android',
    'android-tv',
    'fire-tv',
    'unknown',
    'windows',
    'linux',
    'server',
    'webos',
  ],
} as const;

const deviceTypes = new Map([
  ['ios', ['phone', 'tablet', 'ipod']],
  ['android', ['phone', 'tablet']],
  ['android-tv', ['tv', 'set-top box']],
  ['fire-tv', ['tv']],
  ['webos', ['tv']],
  ['macos', ['mac']],
  ['windows', ['pc', 'console']],
  ['linux', ['pc']],
  ['server', ['server']],
]);

/** A day lacks the rows that are late, have vanished or have no traffic. */
const SHARE_OF_KEYS_SEEN = 0.95;
const MIN_SYSTEMS = 2;
const MAX_LANES_PER_KEY = 3;

const organic = { id: '-300', display_name: 'Organic' } as const;
const unattached = { id: 'unknown', display_name: 'unknown' } as const;

/** `without` stands for missing links. */
function originOf(
  {
    label: network,
    cost_data_enabled: hasCostData,
  }: Pick<WorldLink, 'label' | 'cost_data_enabled'>,
  below: readonly WorldLink[],
  without: string,
  partner: Pick<WorldPartner, 'display_name'> & { readonly id: string | number },
) {
  const named = below.map(namedByNetwork);
  const source = named[2] ?? named[1];
  const { id, display_name: name } = partner;
  const slug = name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '_');
  const texts: [dimension: string, text: string][] = [
    ['network', network],
    ...['campaign', 'adgroup', 'creative'].flatMap((level, at): [string, string][] => [
      [level, below[at]?.label ?? without],
      [`${level}_network`, named[at]?.name ?? without],
      [`${level}_id_network`, named[at]?.id ?? without],
    ]),
    ['source_network', source === undefined ? '' : `publisher_${source.id.slice(-3)}`],
    ['source_id_network', source?.id.slice(-3) ?? ''],
    ['partner_id', String(id)],
    ['partner_name', name],
    ['partner', partner === organic ? name : slug],
    ['channel', name === network ? name : `${name} - ${network}`],
  ];
  return { texts, isPaid: partner !== organic, hasCostData };
}

/** Organic, then each level 1 link with the paths to its leaves, then expired. */
function originsByNetwork(
  app: WorldApp,
  links: readonly WorldLink[],
  partners: readonly WorldPartner[],
) {
  const childrenOf = (token: string | null): WorldLink[] =>
    links.filter((link) => link.appToken === app.token && link.parentToken === token);
  const pathsBelow = (link: WorldLink): (readonly WorldLink[])[] => {
    const paths = childrenOf(link.token).flatMap((child) =>
      pathsBelow(child).map((path) => [child].concat(path)),
    );
    return paths.length === 0 ? [[]] : paths;
  };
  const unpaid = (label: string, without: string) => [
    originOf({ label, cost_data_enabled: false }, [], without, organic),
  ];
  const attributed = childrenOf(null).map((network) => {
    const partner = partners.find(({ id }) => id === network.partner_id) ?? unattached;
    return pathsBelow(network).map((path) => originOf(network, path, 'unknown', partner));
  });
  const expired = unpaid('Expired Attributions', 'expired attributions');
  return [unpaid('Organic', 'unknown'), ...attributed, expired];
}

export function createLanes(
  seed: number,
  rowsPerDay: number,
  apps: readonly WorldApp[],
  links: readonly WorldLink[],
  partners: readonly WorldPartner[],
): readonly TrafficLane[] {
  const lanes: TrafficLane[] = [];
  for (const app of apps) {
    const networks = originsByNetwork(app, links, partners);
    const systems = systemsByStore[app.storeType];
    const keys = Math.max(1, Math.round(rowsPerDay / apps.length / SHARE_OF_KEYS_SEEN));
    const pairs = Math.ceil(keys / networks.length);
    const needed = Math.ceil(pairs / countries.length);
    const depth = Math.min(systems.length, Math.max(MIN_SYSTEMS, needed));
    const width = Math.min(countries.length, Math.ceil(pairs / depth));
    for (let key = 0; key < Math.min(keys, networks.length * width * depth); key += 1) {
      const origins = networks[key % networks.length] ?? [];
      const pair = Math.floor(key / networks.length);
      const country = countries[pair % width];
      const system = systems[Math.floor(pair / width)];
      const keySeed = mix(mix(seed, hashText(app.token)), key);
      for (let copy = 0; copy <= choose(keySeed, MAX_LANES_PER_KEY); copy += 1) {
        const laneSeed = mix(keySeed, copy);
        const origin = origins[choose(laneSeed, origins.length)];
        if (country === undefined || system === undefined || origin === undefined) continue;
        const types = deviceTypes.get(system) ?? ['Unknown Devices'];
        const chance = fraction(mix(laneSeed, 1));
        lanes.push({
          index: lanes.length,
          keySeed,
          texts: new Map([
            ...origin.texts,
            ['app', app.name],
            ['app_token', app.token],
            ['store_id', app.storeId],
            ['store_type', app.storeType],
            ['os_name', system],
            ['platform', system],
            ['device_type', types[choose(mix(laneSeed, 6), types.length)] ?? 'Unknown Devices'],
            ['country', country.name],
            ['country_code', country.code],
            ['region', country.region],
          ]),
          paid: origin.isPaid,
          postbacks: origin.isPaid && system === 'ios',
          networkReports: origin.hasCostData,
          bidMicros: 400_000 + choose(mix(laneSeed, 3), 3_600_000),
          userValueMicros: 40_000 + choose(mix(laneSeed, 4), 400_000),
          volume: 1 + 40 * chance * chance * chance * (origin.isPaid ? 1 : 2),
          churn: 0.15 + 0.5 * fraction(mix(laneSeed, 5)),
        });
      }
    }
  }
  return lanes;
}
