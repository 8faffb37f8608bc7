/** Worlds as tests want them: with names that programs have trouble with, and with quirks. */

import { addDays, type Day, parseDay } from '../../../src/model/calendar.ts';
import { daysIn } from '../plain-values.ts';
import { allRevenue, cost, installs, sessions } from '../../../src/simulator/world/measures.ts';
import {
  counted,
  type FilterItem,
  type WorldMetric,
  metricsOf,
  money,
  price,
  ratio,
} from '../../../src/simulator/world/metric.ts';
import {
  createWorld as createPlainWorld,
  type World as PlainWorld,
  type WorldOptions as PlainOptions,
} from '../../../src/simulator/world/world.ts';
import { metrics } from '../../../src/simulator/world/metrics.ts';
import { awkwardNames } from './names.ts';
import { noQuirks, type Quirks, type StrangeMetric } from './quirks.ts';

export type { FilterItem } from '../../../src/simulator/world/metric.ts';
export { RequestRefused } from '../../../src/simulator/world/parameters.ts';
export type { Report } from '../../../src/simulator/world/report.ts';

export interface WorldOptions extends PlainOptions {
  /** How the world disagrees with what its caller expects; all off by default. */
  readonly quirks: Partial<Quirks>;
  /**
   * The metrics that filters-data lists besides those without an age and those of the usual ages; null lists all of some 4,000,
   * which costs a night most of its time.
   */
  readonly listed: readonly string[] | null;
}

export interface World extends PlainWorld {
  readonly quirks: Quirks;
  isAdditive(metric: string): boolean;
}

export function createWorld(options: Partial<WorldOptions> = {}): World {
  const { quirks: some, listed = null, ...chosen } = options;
  const quirks: Quirks = { ...noQuirks, ...some };
  const moreMetrics = quirks.metrics.flatMap((metric) => made(metric));
  const world = createPlainWorld({
    names: awkwardNames,
    ...chosen,
    moreMetrics,
    shownText: (dimension, text) => (quirks.nulls.get(dimension)?.includes(text) ? null : text),
  });
  return {
    ...world,
    quirks,
    isAdditive: (id) =>
      (moreMetrics.find((metric) => metric.id === id) ?? metrics.get(id))?.additive ?? false,
    report: (query, now) => world.report(withoutEmptied(query, quirks, now), now),
    filtersData(query, now = new Date(0)) {
      const altered = (item: FilterItem): FilterItem => {
        const change = quirks.catalog.find(({ id, during }) => id === item.id && during(now));
        return { ...item, formatting: change?.formatting ?? item.formatting };
      };
      const others = listed === null ? null : new Set(listed);
      const isListed = ({ id }: FilterItem): boolean =>
        others === null || isUsual(id) || others.has(id);
      const lists = Object.entries(world.filtersData(query, now));
      return Object.fromEntries(
        lists.map(([list, items]) => [list, items.filter(isListed).map(altered)]),
      );
    },
  };
}

/** Whether a name has no age, or one of the first month and the quarters after it. */
function isUsual(id: string): boolean {
  const [, unit, age] = /_([dwm])(\d+)(?:_|$)/.exec(id) ?? [];
  if (unit === undefined) return true;
  return unit === 'd' && (Number(age) <= 14 || [30, 60, 90, 120].includes(Number(age)));
}

function made({ id, formatting, kind, listed }: StrangeMetric): WorldMetric[] {
  const calculated = formatting.startsWith('money')
    ? price(allRevenue, installs)
    : ratio(allRevenue, cost);
  const formula = { count: counted(sessions), money: money(allRevenue), calculated }[kind];
  return metricsOf(listed, [[id, 'Conversion', { ...formula, formatting }]]);
}

function daysAsked(query: URLSearchParams): { readonly start: Day; readonly end: Day } | null {
  const [first = '', last = ''] = (query.get('date_period') ?? '').split(':');
  const start = parseDay(first);
  const lastDay = parseDay(last);
  return start === null || lastDay === null ? null : { start, end: addDays(lastDay, 1) };
}

/** The query with a filter that excludes the emptied days. */
function withoutEmptied(query: URLSearchParams, { emptied }: Quirks, now: Date): URLSearchParams {
  const requested = emptied === null ? null : daysAsked(query);
  if (requested === null) return query;
  const hidden = daysIn(requested).filter((day) => emptied?.(day, now));
  return hidden.length === 0
    ? query
    : new URLSearchParams([...query, ['day__not_in', hidden.join(',')]]);
}
