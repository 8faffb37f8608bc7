/**
 * The groups of a report: the atoms of its period added up by bucket, which is what of its hours shares a row's date, and by what
 * tells rows apart besides: the texts of the requested dimensions and `attr_dependency`, the ids of things that are named (observed:
 * Answers). Two things of one name make two rows. Only the measures requested are computed. An atom keeps its UTC hour; in an
 * offset it falls on the local hour that begins at the same instant, which under a half-hour offset is labelled `:30`.
 */

import { addDays, bucketOf, type Day, day, dayAt, daysIn, startOfDayAt, type WeekStart } from '../../model/calendar.ts';
import { type DateDimension, dateDimensions, isDateDimension } from '../../model/dimension.ts';
import type { Atom, AtomStore } from './atoms.ts';
import { choose, hashText } from './hash.ts';
import type { TrafficLane, LaneDimension } from './lanes.ts';
import type { Measure } from './measures.ts';
import type { ReportQuery } from './query.ts';

export interface RowBucket {
  readonly texts: Readonly<Partial<Record<DateDimension, string>>>;
  readonly seed: number;
  /** Its place in the order of time. */
  readonly rank: number;
  /** Days of the period that fall into it. */
  days: number;
  /** The last of them. */
  lastDay: Day;
}

export interface Buckets {
  readonly all: readonly RowBucket[];
  /** Days of the whole period that have begun. */
  readonly days: number;
  /** Hours since 1970 (UTC), `[firstHour, firstHour + indexByHour.length)`. */
  readonly firstHour: number;
  /** The bucket of each hour from the first one on; -1 where a filter excludes it. */
  readonly indexByHour: Int32Array;
}

const MS_PER_HOUR = 3_600_000;
const HOURS_PER_DAY = 24;

/** The world's first day: there was no traffic before it. */
const FIRST_DAY = day('2022-01-01');

/** A date as `format_dates=false` returns it. */
function dateText(dimension: DateDimension, of: Day, time: string, weekStartsOn: WeekStart): string {
  const year = of.slice(0, 4);
  if (dimension === 'hour') return `${of}T${time}:00`;
  if (dimension === 'day') return of;
  if (dimension === 'month') return of.slice(0, 7);
  if (dimension === 'quarter') return `Q${Math.ceil(Number(of.slice(5, 7)) / 3)} ${year}`;
  if (dimension === 'year') return year;
  const { start, end } = bucketOf(of, 'week', weekStartsOn);
  return `${start} - ${addDays(end, -1)}`;
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');

/** The buckets of a query's period, in order of time, without the hours that have not begun at its moment. */
export function createBuckets(query: ReportQuery): Buckets {
  const { weekStartsOn } = query;
  const wanted = dateDimensions.filter((dimension) => query.dimensions.includes(dimension));
  const filters = query.filters.dimensions.filter((filter) => isDateDimension(filter.dimension));
  const hourly = wanted.includes('hour') || filters.some((filter) => filter.dimension === 'hour');

  const today = dayAt(new Date(query.moment.nowHour * MS_PER_HOUR + MS_PER_HOUR - 1), query.utcOffset);
  const tomorrow = addDays(today, 1);
  const days = daysIn({
    start: query.days.start > FIRST_DAY ? query.days.start : FIRST_DAY,
    end: query.days.end < tomorrow ? query.days.end : tomorrow,
  });
  const [first = query.days.start] = days;
  const startOfFirst = startOfDayAt(first, query.utcOffset).getTime();
  const firstHour = Math.ceil(startOfFirst / MS_PER_HOUR);
  const minutes = Math.round((firstHour * MS_PER_HOUR - startOfFirst) / 60_000);

  const all: RowBucket[] = [];
  const indexByLabel = new Map<string, number>();
  const indexByHour = new Int32Array(days.length * HOURS_PER_DAY).fill(-1);
  const accepted = (day: Day, time: string): boolean =>
    filters.every(
      ({ dimension, accepts }) => !isDateDimension(dimension) || accepts(dateText(dimension, day, time, weekStartsOn)),
    );
  const bucketAt = (day: Day, time: string): number => {
    const texts = Object.fromEntries(
      wanted.map((dimension) => [dimension, dateText(dimension, day, time, weekStartsOn)]),
    );
    const label = Object.values(texts).join(' ');
    const index = indexByLabel.get(label) ?? all.length;
    const bucket = all[index] ?? { texts, seed: hashText(label), rank: index, days: 0, lastDay: day };
    all[index] = bucket;
    indexByLabel.set(label, index);
    if (bucket.days === 0 || bucket.lastDay < day) bucket.days += 1;
    bucket.lastDay = day;
    return index;
  };

  for (const [dayIndex, day] of days.entries()) {
    const slots = hourly ? HOURS_PER_DAY : 1;
    for (let slot = 0; slot < slots; slot += 1) {
      const time = `${twoDigits(slot)}:${twoDigits(minutes)}`;
      if (!accepted(day, time)) continue;
      const from = dayIndex * HOURS_PER_DAY + slot;
      indexByHour.fill(bucketAt(day, time), from, hourly ? from + 1 : from + HOURS_PER_DAY);
    }
  }
  return { all, days: days.length, firstHour, indexByHour };
}

export type Dependency = string | readonly string[] | Readonly<Record<string, readonly string[]>>;

export interface RowIdentity {
  /** By text dimension; null where the service has no value. */
  readonly texts: ReadonlyMap<string, string | null>;
  readonly attrDependency: Readonly<Record<string, Dependency>>;
  readonly seed: number;
}

interface Identities {
  readonly all: readonly RowIdentity[];
  /** The identity of each lane; -1 where a filter excludes it. */
  readonly indexByLane: Int32Array;
}

export interface Group {
  readonly bucket: RowBucket;
  readonly identity: RowIdentity;
  /** Exact integers, in the order of the measures. */
  readonly sums: number[];
}

const idsOfNamed: ReadonlyMap<string, readonly LaneDimension[]> = new Map([
  ['campaign', ['campaign_id_network']],
  ['campaign_network', ['campaign_id_network']],
  ['adgroup', ['adgroup_id_network']],
  ['adgroup_network', ['adgroup_id_network']],
  ['creative', ['creative_id_network']],
  ['creative_network', ['creative_id_network']],
  ['partner_name', ['partner_id', 'partner']],
  ['partner_id', ['partner_id', 'partner']],
]);

/** One identity in so many states its ids as lists. */
const LISTS_EVERY = 40;

/** A lane's text for a dimension, in a report's currency; null where the service has no value. */
function textOf(lane: TrafficLane, dimension: string, { currency }: ReportQuery): string | null {
  if (dimension === 'currency') return currency.name;
  if (dimension === 'currency_code') return currency.code;
  return lane.shown.get(dimension) ?? null;
}

function dependencyOf({ texts }: TrafficLane, ids: readonly LaneDimension[], seed: number): Record<string, Dependency> {
  const asLists = choose(seed, LISTS_EVERY) === 0;
  return Object.fromEntries(ids.map((id): [string, Dependency] => [id, asLists ? [texts[id]] : texts[id]]));
}

/** The identities of the lanes that a query's filters leave, in the lanes' order. */
function createIdentities(query: ReportQuery, lanes: readonly TrafficLane[]): Identities {
  const dimensions = query.dimensions.filter((dimension) => !isDateDimension(dimension));
  const ids = [...new Set(dimensions.flatMap((dimension) => idsOfNamed.get(dimension) ?? []))];
  const withChannel = dimensions.includes('channel');
  const hidden: readonly LaneDimension[] = withChannel ? [...ids, 'partner', 'partner_id'] : ids;
  const filters = query.filters.dimensions.filter(({ dimension }) => !isDateDimension(dimension));
  const { osNames } = query;

  const all: RowIdentity[] = [];
  const indexByKey = new Map<string, number>();
  const indexByLane = new Int32Array(lanes.length).fill(-1);
  for (const lane of lanes) {
    if (osNames !== null && !osNames.has(lane.texts.os_name)) continue;
    if (!filters.every(({ dimension, accepts }) => accepts(textOf(lane, dimension, query)))) continue;
    const texts = dimensions.map((dimension) => textOf(lane, dimension, query));
    const key = JSON.stringify([texts, hidden.map((id) => lane.texts[id])]);
    let index = indexByKey.get(key);
    if (index === undefined) {
      index = all.length;
      indexByKey.set(key, index);
      const seed = hashText(key);
      const channel = withChannel ? { channel: { [lane.texts.partner]: [lane.texts.partner_id] } } : {};
      all.push({
        texts: new Map(dimensions.map((dimension, position) => [dimension, texts[position] ?? null])),
        attrDependency: { ...dependencyOf(lane, ids, seed), ...channel },
        seed,
      });
    }
    indexByLane[lane.index] = index;
  }
  return { all, indexByLane };
}

function isCounted(atom: Atom, query: ReportQuery): boolean {
  const { nowHour } = query.moment;
  if (atom.hour > nowHour || nowHour < atom.shownFrom || nowHour >= atom.shownUntil) return false;
  if (query.attributionType !== 'all' && atom.viewed !== (query.attributionType === 'impression')) return false;
  return query.reattributed === 'all' || atom.reattributed === (query.reattributed === 'true');
}

/** The groups of a report in the order of time; a group without atoms does not exist. */
export function groupAtoms(
  query: ReportQuery,
  atoms: AtomStore,
  buckets: Buckets,
  measures: readonly Measure[],
): Group[] {
  const groups = new Map<number, Group>();
  const identities = createIdentities(query, atoms.lanes);
  const { firstHour, indexByHour } = buckets;
  const { nowHour } = query.moment;
  const endHour = Math.min(firstHour + indexByHour.length, nowHour + 1);
  const creditsFirst = query.attributionSource === 'first';

  const add = (atom: Atom): void => {
    const bucketIndex = indexByHour[atom.hour - firstHour] ?? -1;
    const laneIndex = creditsFirst && atom.reattributed ? atom.lane.organicIndex : atom.lane.index;
    const identityIndex = identities.indexByLane[laneIndex] ?? -1;
    if (bucketIndex < 0 || identityIndex < 0 || !isCounted(atom, query)) return;
    const bucket = buckets.all[bucketIndex];
    const identity = identities.all[identityIndex];
    if (bucket === undefined || identity === undefined) return;
    const key = bucketIndex * identities.all.length + identityIndex;
    let sums = groups.get(key)?.sums;
    if (sums === undefined) {
      sums = measures.map(() => 0);
      groups.set(key, { bucket, identity, sums });
    }
    // Not by `entries()`: this is the innermost loop of every report.
    for (let position = 0; position < measures.length; position += 1) {
      sums[position] = (sums[position] ?? 0) + (measures[position]?.(atom, nowHour - atom.hour, query.moment) ?? 0);
    }
  };

  for (let day = Math.floor(firstHour / HOURS_PER_DAY); day * HOURS_PER_DAY < endHour; day += 1) {
    for (const atom of atoms.onDay(day)) add(atom);
  }
  return [...groups.values()].sort((left, right) => left.bucket.rank - right.bucket.rank);
}
