/**
 * The groups of a report: the atoms of its period added up by bucket and by what tells rows apart besides their date,
 * which is the texts of the requested dimensions and `attr_dependency`, the ids of things that are named (observed:
 * Answers). Two things of one name make two rows. Only the measures requested are computed.
 */

import { isDateDimension } from '../../model/dimension.ts';
import type { Atom, AtomStore } from './atoms.ts';
import type { RowBucket, Buckets } from './buckets.ts';
import { choose, hashText } from './hash.ts';
import type { TrafficLane, LaneDimension } from './lanes.ts';
import type { Measure } from './measures.ts';
import type { ReportQuery } from './query.ts';

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

const HOURS_PER_DAY = 24;

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

export interface Traffic {
  readonly lanes: readonly TrafficLane[];
  readonly atoms: AtomStore;
}

/** The groups of a report in the order of time; a group without atoms does not exist. */
export function groupAtoms(
  query: ReportQuery,
  { lanes, atoms }: Traffic,
  buckets: Buckets,
  measures: readonly Measure[],
): Group[] {
  const groups = new Map<number, Group>();
  const identities = createIdentities(query, lanes);
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
