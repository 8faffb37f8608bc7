/**
 * The simulated world: apps, partners, links, and traffic that matures and is restated.
 *
 * It hides how everything in it is made up, and promises that it is a pure function of its options, the query and the
 * instant of the request: no chance, no host clock. Counts and money add up exactly over hours, days, offsets and
 * filters; and once a value's horizon has passed (observed: How numbers move), it is the same for ever.
 */

import type { WeekStart } from '../../model/calendar.ts';
import { dateDimensions, textDimensions } from '../../model/dimension.ts';
import { AtomStore } from './atoms.ts';
import { listFilterItems } from './catalog.ts';
import {
  createApps,
  createLinks,
  createPartners,
  type WorldApp,
  type WorldLink,
  type WorldPartner,
  type Names,
  ordinaryNames,
} from './entities.ts';
import { createLanes, type Texts } from './lanes.ts';
import { SETTLING_DAYS } from './measures.ts';
import type { FilterItem, WorldMetric } from './metric.ts';
import { metrics } from './metrics.ts';
import { parseQuery } from './query.ts';
import { createReport, type Report } from './report.ts';

export { RequestRefused } from './parameters.ts';
export type { FilterItem, Report, WorldApp, WorldLink, WorldPartner };

export interface WorldOptions {
  readonly seed: number;
  readonly apps: number;
  readonly partners: number;
  /** Over all apps. Only some carry traffic. */
  readonly links: number;
  /** About so many rows by day, app, partner, network, os_name and country_code. */
  readonly rowsPerDay: number;
  /** Weekday of `getUTCDay` that weeks begin with. */
  readonly weekStartsOn: WeekStart;
  /** Within how many days counts settle. */
  readonly settlingDays: number;
  readonly names: Names;
  /** Dimensions and metrics beside those of the service. */
  readonly moreDimensions: readonly string[];
  readonly moreMetrics: readonly WorldMetric[];
  /** By text dimension, what reports say of a lane; null where the service has no value, which passes no filter. */
  readonly shownTexts: (texts: Texts, laneIndex: number) => ReadonlyMap<string, string | null>;
}

export const defaultWorld: WorldOptions = {
  seed: 1,
  apps: 3,
  partners: 6,
  links: 60,
  rowsPerDay: 150,
  weekStartsOn: 1,
  settlingDays: SETTLING_DAYS,
  names: ordinaryNames,
  moreDimensions: [],
  moreMetrics: [],
  shownTexts: (texts) => new Map(Object.entries(texts)),
};

export interface World {
  readonly options: WorldOptions;
  readonly partners: readonly WorldPartner[];
  readonly apps: readonly WorldApp[];
  /** Parents before their children. */
  readonly links: readonly WorldLink[];
  /** The report as the service answers it at `now`; null when nothing matched. Throws RequestRefused. */
  report(query: URLSearchParams, now: Date): Report | null;
  /** Whether a metric's rows add up to its total. */
  isAdditive(metric: string): boolean;
  /** The items of each required filter at `now`. Throws RequestRefused. */
  filtersData(query: URLSearchParams, now?: Date): Readonly<Record<string, readonly FilterItem[]>>;
}

/** A world; two of the same options answer alike. */
export function createWorld(options: Partial<WorldOptions> = {}): World {
  const chosen: WorldOptions = { ...defaultWorld, ...options };
  const { seed, weekStartsOn, settlingDays, names, rowsPerDay, moreMetrics, shownTexts } = chosen;
  const partners = createPartners(seed, chosen.partners, names.partners);
  const apps = createApps(seed, chosen.apps, names.apps);
  const links = createLinks(seed, chosen.links, { apps, partners, names });
  const lanes = createLanes({ seed, rowsPerDay, apps, links, partners, shownTexts });
  const vocabulary = {
    dimensions: [...dateDimensions, ...textDimensions, ...chosen.moreDimensions],
    metrics: new Map([...metrics, ...moreMetrics.map((metric) => [metric.id, metric] as const)]),
  };
  const understanding = { vocabulary, weekStartsOn, settlingDays };
  const production = new AtomStore(seed, lanes, 'production');
  const sandbox = new AtomStore(seed, lanes, 'sandbox');
  const catalog = { apps, partners, lanes, vocabulary };
  return {
    options: chosen,
    partners,
    apps,
    links,
    report(query, now) {
      const asked = parseQuery(query, now, understanding);
      return createReport(asked, asked.sandbox ? sandbox : production);
    },
    isAdditive: (metric) => vocabulary.metrics.get(metric)?.additive ?? false,
    filtersData: (query) => listFilterItems(query, catalog),
  };
}
