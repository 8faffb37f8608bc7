/**
 * A world whose answers are pure functions of options, query and instant. Sums are exact over hours, days, offsets and filters.
 * A value never changes once its horizon has passed, unless its day is corrected.
 */

import { MS_PER_DAY } from '../../model/calendar.ts';
import type { Incidents } from './atoms.ts';
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
import { createLanes } from './lanes.ts';
import type { FilterItem, WorldMetric } from './metric.ts';
import { metrics as serviceMetrics } from './metrics.ts';
import { parseQuery } from './query.ts';
import { createReport, type Report, type Wording } from './report.ts';

export interface WorldOptions extends Wording {
  readonly seed: number;
  readonly apps: number;
  readonly partners: number;
  readonly links: number;
  /** In a report by day, app, partner, network, os_name and country_code. */
  readonly rowsPerDay: number;
  readonly names: Names;
  readonly moreMetrics: readonly WorldMetric[];
  /** Days most of whose rows appear only at an instant. */
  readonly lateDays: Readonly<Record<string, Date>>;
  /** Days some of whose rows vanish at an instant, even if their values were final. */
  readonly correctedDays: Readonly<Record<string, Date>>;
}

const defaultWorld: WorldOptions = {
  seed: 1,
  apps: 3,
  partners: 6,
  links: 60,
  rowsPerDay: 150,
  weekStartsOn: 1,
  names: ordinaryNames,
  moreMetrics: [],
  lateDays: {},
  correctedDays: {},
  shownText: (_, text) => text,
};

export interface World {
  readonly partners: readonly WorldPartner[];
  readonly apps: readonly WorldApp[];
  readonly links: readonly WorldLink[];
  /** Null if nothing matches. Throws RequestRefused if the service answers 400. */
  report(query: URLSearchParams, now: Date): Report | null;
  filtersData(query: URLSearchParams, now?: Date): Readonly<Record<string, readonly FilterItem[]>>;
}

export function createWorld(options: Partial<WorldOptions> = {}): World {
  const chosen: WorldOptions = { ...defaultWorld, ...options };
  const { seed, names } = chosen;
  const partners = createPartners(seed, chosen.partners, names.partners);
  const apps = createApps(seed, chosen.apps, names.apps);
  const links = createLinks(seed, chosen.links, apps, partners, names);
  const lanes = createLanes(seed, chosen.rowsPerDay, apps, links, partners);
  const metrics = new Map(serviceMetrics);
  for (const metric of chosen.moreMetrics) metrics.set(metric.id, metric);
  const incidents = (days: Readonly<Record<string, Date>>): Incidents =>
    new Map(Object.entries(days).map(([day, at]) => [Date.parse(day) / MS_PER_DAY, at.getTime()]));
  const lateDays = incidents(chosen.lateDays);
  const correctedDays = incidents(chosen.correctedDays);
  return {
    partners,
    apps,
    links,
    report(query, now) {
      const parsed = parseQuery(query, now, metrics);
      const isSandbox = parsed.sandbox === 'true';
      return createReport(parsed, { seed, lanes, isSandbox, lateDays, correctedDays }, chosen);
    },
    filtersData: (query) => listFilterItems(query, { apps, partners, lanes, metrics }),
  };
}
