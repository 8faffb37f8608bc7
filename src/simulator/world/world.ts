/**
 * The simulated world: apps, partners, links, and traffic that matures and is restated.
 *
 * It hides how everything in it is made up, and promises that it is a pure function of its options, the query and the
 * instant asked at: no chance, no host clock. Counts and money add up exactly over hours, days, offsets and filters; and
 * once a value's horizon has passed (observed: How numbers move), it is the same for ever.
 */

import type { Day, WeekStart } from '../../model/calendar.ts';
import { AtomStore } from './atoms.ts';
import { listFilterItems } from './catalog.ts';
import type { FilterItem } from './catalog.ts';
import { createApps, createLinks, createPartners } from './entities.ts';
import type { WorldApp, WorldLink, WorldPartner } from './entities.ts';
import { IdentityStore } from './identity.ts';
import { createLanes } from './lanes.ts';
import { SETTLING_DAYS } from './movement.ts';
import { noQuirks } from './quirks.ts';
import type { Quirks } from './quirks.ts';
import { parseQuery } from './query.ts';
import { createReport } from './report.ts';
import type { Report } from './report.ts';
import { createVocabulary } from './vocabulary.ts';

export { RequestRefused } from './refusal.ts';
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
  /** Which of the two report envelopes is answered (observed: Answers). */
  readonly envelope: 'warnings' | 'data_warnings';
  /** How the world disagrees with what its caller expects; all off by default. */
  readonly quirks: Partial<Quirks>;
}

export const defaultWorld: WorldOptions = {
  seed: 1,
  apps: 3,
  partners: 6,
  links: 60,
  rowsPerDay: 150,
  weekStartsOn: 1,
  envelope: 'warnings',
  quirks: {},
};

export interface World {
  readonly options: WorldOptions;
  readonly quirks: Quirks;
  readonly partners: readonly WorldPartner[];
  readonly apps: readonly WorldApp[];
  /** Parents before their children. */
  readonly links: readonly WorldLink[];
  /** The report as the service answers it at `now`; null when nothing matched. Throws RequestRefused. */
  report(query: URLSearchParams, now: Date): Report | null;
  /** Whether a metric's rows add up to its total. */
  isAdditive(metric: string): boolean;
  /** The items of each required filter, as listed at `now` (default: before anything moved). Throws RequestRefused. */
  filtersData(query: URLSearchParams, now?: Date): Readonly<Record<string, readonly FilterItem[]>>;
}

/** A world; two of the same options answer alike. */
export function createWorld(options: Partial<WorldOptions> = {}): World {
  const chosen: WorldOptions = { ...defaultWorld, ...options };
  const { seed, weekStartsOn, envelope } = chosen;
  const partners = createPartners(seed, chosen.partners);
  const apps = createApps(seed, chosen.apps);
  const links = createLinks(seed, chosen.links, apps, partners);
  const lanes = createLanes(seed, chosen.rowsPerDay, apps, links, partners);
  const quirks: Quirks = { ...noQuirks, ...chosen.quirks };
  const vocabulary = createVocabulary(quirks);
  const source = {
    identities: new IdentityStore(lanes, vocabulary),
    production: new AtomStore(seed, lanes, 'production'),
    sandbox: new AtomStore(seed, lanes, 'sandbox'),
    vocabulary,
    envelope,
  };
  const catalog = { apps, partners, lanes, vocabulary, changes: quirks.catalog };
  const { weeks, emptied } = quirks;
  return {
    options: chosen,
    quirks,
    partners,
    apps,
    links,
    report(query, now) {
      const understanding = {
        vocabulary,
        weekStartsOn: weeks !== null && now >= weeks.from ? weeks.startOn : weekStartsOn,
        cutWeekNames: quirks.cutWeekNames,
        settlingDays: quirks.settlingDays ?? SETTLING_DAYS,
        isHidden: (day: Day) => emptied?.isEmpty(day, now) ?? false,
      };
      return createReport(parseQuery(query, now, understanding), source);
    },
    isAdditive: (metric) => vocabulary.metrics.get(metric)?.additive ?? false,
    filtersData: (query, now = new Date(0)) => listFilterItems(query, now, catalog),
  };
}
