/**
 * Adds up the atoms of its days to rows, then filters, totals, sorts and limits these. Rows differ by dates, texts and the ids
 * of named things in `attr_dependency` (observed: Answers). An atom keeps its UTC hour, which a half-hour offset labels `:30`.
 */

import {
  addDays,
  bucketOf,
  type Day,
  day,
  startOfDayAt,
  type WeekStart,
} from '../../model/calendar.ts';
import { type DateDimension, dateDimensions, isDateDimension } from '../../model/dimension.ts';
import { type Atom, atomsOn, type Traffic } from './atoms.ts';
import { HOURS_PER_DAY, MS_PER_HOUR } from './hash.ts';
import type { TrafficLane } from './lanes.ts';
import { inUnits, type WorldMetric } from './metric.ts';
import type { ReportQuery } from './query.ts';

type Cell = string | number | null;

/** Ids by dimension, and for `channel` the partner's ids by its slug. */
type Dependency = Readonly<Record<string, string | Readonly<Record<string, readonly string[]>>>>;

/** `attr_dependency`, then dimensions and metrics in the requested order. */
type ReportRow = Readonly<Record<string, Cell | Dependency>>;

export interface Report {
  readonly rows: readonly ReportRow[];
  /** 0 if a metric has no value. */
  readonly totals: Readonly<Record<string, number>>;
  readonly warnings: readonly string[];
  readonly pagination: null;
}

export interface Wording {
  readonly weekStartsOn: WeekStart;
  /** Null for no value, which passes no filter. */
  readonly shownText: (dimension: string, text: string) => string | null;
}

const FIRST_DAY = day('2022-01-01');

/** `time` is a local time in ISO form. */
function dateText(dimension: DateDimension, time: string, weekStartsOn: WeekStart) {
  const year = time.slice(0, 4);
  if (dimension === 'hour') return `${time.slice(0, 16)}:00`;
  if (dimension === 'day') return time.slice(0, 10);
  if (dimension === 'month') return time.slice(0, 7);
  if (dimension === 'quarter') return `Q${Math.ceil(Number(time.slice(5, 7)) / 3)} ${year}`;
  if (dimension === 'year') return year;
  const { start, end } = bucketOf(day(time.slice(0, 10)), 'week', weekStartsOn);
  return `${start} - ${addDays(end, -1)}`;
}

interface Bucket {
  readonly texts: ReadonlyMap<string, string>;
  lastDay: Day;
  readonly groups: Map<number, Group>;
}

interface Identity {
  readonly number: number;
  readonly texts: ReadonlyMap<string, string | null>;
  readonly attrDependency: Dependency;
}

interface Group {
  readonly bucket: Bucket;
  readonly identity: Identity;
  /** Exact integers, in the order of the measures. */
  readonly sums: number[];
}

function bucketsBy(query: ReportQuery, { weekStartsOn }: Wording) {
  const shift =
    Date.parse('1970-01-01') - startOfDayAt(day('1970-01-01'), query.utc_offset).getTime();
  const wanted = dateDimensions.filter((dimension) => query.dimensions.includes(dimension));
  const buckets = new Map<string, Bucket>();
  const byHour = new Map<number, Bucket | null>();
  const bucketAt = (hour: number): Bucket | null => {
    const time = new Date(hour * MS_PER_HOUR + shift).toISOString();
    const isWanted = query.textFilters.every(
      ({ dimension, accepts }) =>
        !isDateDimension(dimension) || accepts(dateText(dimension, time, weekStartsOn)),
    );
    if (!isWanted) return null;
    const texts = new Map(
      wanted.map((dimension) => [dimension, dateText(dimension, time, weekStartsOn)]),
    );
    const key = [...texts.values()].join(' ');
    const lastDay = day(time.slice(0, 10));
    const bucket = buckets.get(key) ?? { texts, lastDay, groups: new Map<number, Group>() };
    if (bucket.lastDay < lastDay) bucket.lastDay = lastDay;
    buckets.set(key, bucket);
    return bucket;
  };
  return (hour: number) => {
    if (!byHour.has(hour)) byHour.set(hour, bucketAt(hour));
    return byHour.get(hour) ?? null;
  };
}

const idsOfNamed = new Map([
  ['campaign', ['campaign_id_network']],
  ['campaign_network', ['campaign_id_network']],
  ['adgroup', ['adgroup_id_network']],
  ['adgroup_network', ['adgroup_id_network']],
  ['creative', ['creative_id_network']],
  ['creative_network', ['creative_id_network']],
  ['partner_name', ['partner_id', 'partner']],
  ['partner_id', ['partner_id', 'partner']],
]);

/** Returns the identity of each lane, null if a filter excludes it. */
function identitiesOf(query: ReportQuery, lanes: readonly TrafficLane[], { shownText }: Wording) {
  const dimensions = query.dimensions.filter((dimension) => !isDateDimension(dimension));
  const ids = [...new Set(dimensions.flatMap((dimension) => idsOfNamed.get(dimension) ?? []))];
  const identities = new Map<string, Identity>();
  const textOf = ({ texts }: TrafficLane, dimension: string) => {
    if (dimension === 'currency') return query.currency.name;
    if (dimension === 'currency_code') return query.currency.code;
    return shownText(dimension, texts.get(dimension) ?? '');
  };
  return lanes.map((lane): Identity | null => {
    const isWanted = query.textFilters.every(
      ({ dimension, accepts }) => isDateDimension(dimension) || accepts(textOf(lane, dimension)),
    );
    if (!isWanted) return null;
    const texts = new Map(dimensions.map((dimension) => [dimension, textOf(lane, dimension)]));
    const idOf = (name: string) => lane.texts.get(name) ?? '';
    const named = Object.fromEntries(ids.map((id) => [id, idOf(id)]));
    const channel = { [idOf('partner')]: [idOf('partner_id')] };
    const attrDependency = dimensions.includes('channel') ? { ...named, channel } : named;
    const key = JSON.stringify([[...texts.values()], attrDependency]);
    const identity = identities.get(key) ?? { number: identities.size, texts, attrDependency };
    identities.set(key, identity);
    return identity;
  });
}

function isCounted({ viewed, reattributed, ...atom }: Atom, query: ReportQuery) {
  const { nowHour } = query.moment;
  if (atom.hour > nowHour || nowHour < atom.shownFrom || nowHour >= atom.shownUntil) return false;
  if (query.attribution_type !== 'all' && viewed !== (query.attribution_type === 'impression'))
    return false;
  // With `first`, returning users belong to their first source, which has counted them already.
  if (query.attribution_source === 'first' && reattributed) return false;
  return query.reattributed === 'all' || reattributed === (query.reattributed === 'true');
}

function groupAtoms(
  query: ReportQuery,
  traffic: Traffic,
  wording: Wording,
  measures: WorldMetric['measures'],
): Group[] {
  const bucketAt = bucketsBy(query, wording);
  const identities = identitiesOf(query, traffic.lanes, wording);
  const { start, end } = query.date_period;
  const hourOf = (of: Day) => Math.ceil(startOfDayAt(of, query.utc_offset).getTime() / MS_PER_HOUR);
  const firstHour = hourOf(start > FIRST_DAY ? start : FIRST_DAY);
  const endHour = Math.min(hourOf(end), query.moment.nowHour + 1);
  const groups: Group[] = [];
  for (
    let dayNumber = Math.floor(firstHour / HOURS_PER_DAY);
    dayNumber * HOURS_PER_DAY < endHour;
    dayNumber += 1
  ) {
    for (const atom of atomsOn(dayNumber, traffic)) {
      const isRequested = firstHour <= atom.hour && atom.hour < endHour && isCounted(atom, query);
      const bucket = isRequested ? bucketAt(atom.hour) : null;
      const identity = identities[atom.lane.index] ?? null;
      if (bucket === null || identity === null) continue;
      let group = bucket.groups.get(identity.number);
      if (group === undefined) {
        group = { bucket, identity, sums: measures.map(() => 0) };
        bucket.groups.set(identity.number, group);
        groups.push(group);
      }
      for (const [at, measure] of measures.entries()) {
        group.sums[at] = (group.sums[at] ?? 0) + measure(atom, query.moment);
      }
    }
  }
  return groups;
}

export function createReport(
  query: ReportQuery,
  traffic: Traffic,
  wording: Wording,
): Report | null {
  const wanted = [...query.metrics, ...query.valueFilters.map((filter) => filter.metric)];
  const measures = [...new Set(wanted.flatMap((metric) => metric.measures))];
  const valueOf = (metric: WorldMetric, sums: readonly number[]) =>
    metric.combine(metric.measures.map((measure) => sums[measures.indexOf(measure)] ?? 0));
  const isWithheld = ({ completeAfterDays }: WorldMetric, { lastDay }: Bucket) => {
    if (query.cohort_maturity === 'immature' || completeAfterDays === undefined) return false;
    const completeAt = startOfDayAt(addDays(lastDay, 1 + completeAfterDays), query.utc_offset);
    return completeAt.getTime() > query.moment.nowHour * MS_PER_HOUR;
  };

  const groups = groupAtoms(query, traffic, wording, measures).filter(({ sums }) =>
    query.valueFilters.every(({ metric, accepts }) => accepts(valueOf(metric, sums))),
  );
  if (groups.length === 0) return null;

  const totals = query.metrics.map((metric): [string, number] => {
    const counted = groups.filter(({ bucket }) => !isWithheld(metric, bucket));
    const sums = measures.map((_, at) =>
      counted.reduce((sum, group) => sum + (group.sums[at] ?? 0), 0),
    );
    return [metric.id, inUnits(metric, valueOf(metric, sums) ?? 0)];
  });
  const sortKeyOf = ({ bucket, identity, sums }: Group, name: string): string | number => {
    const metric = query.metrics.find(({ id }) => id === name);
    if (metric === undefined) return bucket.texts.get(name) ?? identity.texts.get(name) ?? '';
    return valueOf(metric, sums) ?? Number.NEGATIVE_INFINITY;
  };
  for (const { name, descending } of query.sort.toReversed()) {
    groups.sort((left, right) => {
      const [a, b] = [sortKeyOf(left, name), sortKeyOf(right, name)];
      if (a === b) return 0;
      return a < b === descending ? 1 : -1;
    });
  }
  const rows = groups.slice(0, query.limit).map(({ bucket, identity, sums }, place): ReportRow => {
    // A map, not assignments to an object: `__proto__` may be the name of a metric.
    const cells = new Map<string, Cell | Dependency>([
      ['attr_dependency', identity.attrDependency],
    ]);
    for (const name of query.dimensions)
      cells.set(name, bucket.texts.get(name) ?? identity.texts.get(name) ?? null);
    for (const metric of query.metrics) {
      // A withheld value looks like a true zero or like no value.
      const withheld = place % 2 === 0 ? '0.0' : null;
      const value = writeValue(metric, valueOf(metric, sums), place);
      cells.set(metric.id, isWithheld(metric, bucket) ? withheld : value);
    }
    return Object.fromEntries(cells);
  });
  return { rows, totals: Object.fromEntries(totals), warnings: [], pagination: null };
}

/** One row in 50 has numbers instead of texts, and the next has counts with a decimal. */
const ODD_EVERY = 50;

function writeValue(metric: WorldMetric, value: number | null, place: number): Cell {
  if (value === null) return place % 2 === 0 ? null : '';
  const form = place % ODD_EVERY;
  const number = inUnits(metric, value);
  if (form === 0) return number;
  if (metric.unit === 'micros') return number.toFixed(6).replace(/0{1,4}$/, '');
  return metric.unit === 'count' && form === 1 ? `${value}.0` : String(value);
}
