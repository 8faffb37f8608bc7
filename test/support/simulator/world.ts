/** Worlds as tests want them: with names that programs have trouble with, and with quirks. */

import { addDays, type Day, daysIn, parseDay } from '../../../src/model/calendar.ts';
import { catalogFilters } from '../../../src/model/catalog.ts';
import { choose, hashText, mix } from '../../../src/simulator/world/hash.ts';
import type { Texts } from '../../../src/simulator/world/lanes.ts';
import { allRevenue, cost, installs, sessions } from '../../../src/simulator/world/measures.ts';
import { counted, type Metric, metricsOf, money, price, ratio } from '../../../src/simulator/world/metric.ts';
import {
  createWorld as createPlainWorld,
  defaultWorld as defaultPlainWorld,
  type FilterItem,
  type Report,
  type World as PlainWorld,
  type WorldOptions as PlainOptions,
} from '../../../src/simulator/world/world.ts';
import { awkwardNames } from './names.ts';
import { type CatalogChange, noQuirks, type Quirks, type StrangeMetric } from './quirks.ts';

export { type FilterItem, type Report, RequestRefused } from '../../../src/simulator/world/world.ts';

export interface WorldOptions extends PlainOptions {
  /** How the world disagrees with what its caller expects; all off by default. */
  readonly quirks: Partial<Quirks>;
}

export interface World extends PlainWorld {
  readonly quirks: Quirks;
}

export const defaultWorld: WorldOptions = { ...defaultPlainWorld, names: awkwardNames, quirks: {} };

export function createWorld(options: Partial<WorldOptions> = {}): World {
  const { quirks: some, ...chosen } = { ...defaultWorld, ...options };
  const quirks: Quirks = { ...noQuirks, ...some };
  const { weeks } = quirks;
  const plainOptions: PlainOptions = {
    ...chosen,
    settlingDays: quirks.settlingDays ?? chosen.settlingDays,
    moreDimensions: [...quirks.dimensions.keys()],
    moreMetrics: quirks.metrics.flatMap((metric) => made(metric)),
    shownTexts: (texts, laneIndex) => shownTexts(quirks, texts, laneIndex),
  };
  const world = createPlainWorld(plainOptions);
  const later = weeks === null ? world : createPlainWorld({ ...plainOptions, weekStartsOn: weeks.startOn });
  const absent = [...quirks.nulls].flatMap(([dimension, { as }]) => (as === 'absent' ? [dimension] : []));
  return {
    ...world,
    quirks,
    report(query, now) {
      const at = weeks !== null && now >= weeks.from ? later : world;
      const report = at.report(withoutEmptied(query, quirks, now), now);
      if (report === null || (absent.length === 0 && !quirks.cutWeekNames)) return report;
      return { ...report, rows: report.rows.map((row) => written(row, absent, quirks.cutWeekNames ? query : null)) };
    },
    filtersData(query, now = new Date(0)) {
      const changes = quirks.catalog.filter(({ during }) => during(now));
      if (changes.length === 0) return world.filtersData(query, now);
      return movedLists(world, query, changes);
    },
  };
}

function made({ id, formatting, kind, listed }: StrangeMetric): Metric[] {
  const calculated = formatting.startsWith('money') ? price(allRevenue, installs) : ratio(allRevenue, cost);
  const formula = { count: counted(sessions), money: money(allRevenue), calculated }[kind];
  return metricsOf(listed, 'Conversion', [[id, id, { ...formula, formatting }]]);
}

function shownTexts({ dimensions, nulls }: Quirks, texts: Texts, laneIndex: number): Map<string, string | null> {
  const shown = new Map<string, string | null>(Object.entries(texts));
  for (const [dimension, values] of dimensions) {
    shown.set(dimension, values[choose(mix(hashText(dimension), laneIndex), values.length)] ?? '');
  }
  for (const [dimension, { values }] of nulls) {
    if (values.includes(shown.get(dimension) ?? '')) shown.set(dimension, null);
  }
  return shown;
}

function daysAsked(query: URLSearchParams): { readonly start: Day; readonly end: Day } | null {
  const [first = '', last = ''] = (query.get('date_period') ?? '').split(':');
  const start = parseDay(first);
  const lastDay = parseDay(last);
  return start === null || lastDay === null ? null : { start, end: addDays(lastDay, 1) };
}

/** The query with a filter that excludes the emptied days. */
function withoutEmptied(query: URLSearchParams, { emptied }: Quirks, now: Date): URLSearchParams {
  const asked = emptied === null ? null : daysAsked(query);
  if (asked === null) return query;
  const hidden = daysIn(asked).filter((day) => emptied?.isEmpty(day, now));
  return hidden.length === 0 ? query : new URLSearchParams([...query, ['day__not_in', hidden.join(',')]]);
}

type Row = Report['rows'][number];

/** A row without the keys that have no value, its week named after those of its days that `cutBy` asks for. */
function written(row: Row, absent: readonly string[], cutBy: URLSearchParams | null): Row {
  const kept = Object.entries(row).filter(([key, value]) => value !== null || !absent.includes(key));
  const asked = cutBy === null ? null : daysAsked(cutBy);
  const { week } = row;
  if (asked === null || typeof week !== 'string') return Object.fromEntries(kept);
  const [first = '', last = ''] = week.split(' - ');
  const lastAsked = addDays(asked.end, -1);
  const cut = `${first > asked.start ? first : asked.start} - ${last < lastAsked ? last : lastAsked}`;
  return Object.fromEntries(kept.map(([key, value]) => [key, key === 'week' ? cut : value]));
}

type Lists = ReadonlyMap<string, readonly FilterItem[]>;

/** The lists of a query after changes that may move items between any two of them. */
function movedLists(
  world: PlainWorld,
  query: URLSearchParams,
  changes: readonly CatalogChange[],
): Readonly<Record<string, readonly FilterItem[]>> {
  const all = world.filtersData(new URLSearchParams({ required_filters: catalogFilters.join(',') }));
  const lists = changes.reduce(changed, new Map(Object.entries(all)));
  const answered = world.filtersData(query);
  const [section, parts] = [query.get('section'), new URLSearchParams(query)];
  parts.delete('required_filters');
  return Object.fromEntries(
    Object.keys(answered).map((list) => {
      const part = (parts.get(`${list}__contains`) ?? '').toLowerCase();
      const items = (lists.get(list) ?? []).filter(
        (item) =>
          (section === null || item.section.toLowerCase().replaceAll(' ', '_') === section) &&
          `${item.id}\n${item.name}`.toLowerCase().includes(part),
      );
      return [list, items];
    }),
  );
}

function changed(lists: Lists, change: CatalogChange): Lists {
  if (change.kind === 'shortened') {
    return mapped(lists, (items, list) => (change.lists.includes(list) ? items.slice(0, change.keep) : items));
  }
  if (change.kind === 'lengthened') {
    return mapped(lists, (items, list) =>
      list === change.list ? [...items, ...madeUp(change.items - items.length)] : items,
    );
  }
  if (change.kind === 'altered') {
    const altered = (item: FilterItem): FilterItem => ({
      ...item,
      formatting: change.formatting ?? item.formatting,
      section: change.section ?? item.section,
    });
    return mapped(lists, (items) => items.map((item) => (item.id === change.id ? altered(item) : item)));
  }
  const moved = [...lists.values()].flat().find(({ id }) => id === change.id);
  return mapped(lists, (items, list) => {
    const others = items.filter(({ id }) => id !== change.id);
    return list === change.to && moved !== undefined ? [...others, moved] : others;
  });
}

function mapped(lists: Lists, change: (items: readonly FilterItem[], list: string) => readonly FilterItem[]): Lists {
  return new Map([...lists].map(([list, items]) => [list, change(items, list)]));
}

function madeUp(count: number): FilterItem[] {
  return Array.from({ length: Math.max(0, count) }, (_, nth) => ({
    id: `made_up_${nth}_events`,
    name: `Made up ${nth}`,
    short_name: '',
    section: 'Events',
    formatting: 'integer',
    description: '',
    increase_is_negative: false,
  }));
}
