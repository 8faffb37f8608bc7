/**
 * What tells a report's rows apart besides their date: the texts of the requested dimensions, and `attr_dependency`,
 * the ids of things that are named (observed: Answers). Two things of one name make two rows.
 */

import { isDateDimension } from '../../model/dimension.ts';
import { choose, hashText } from './hash.ts';
import type { Lane, LaneDimension, Lanes } from './lanes.ts';
import type { ReportQuery } from './query.ts';
import type { Vocabulary } from './vocabulary.ts';

export type Dependency = string | readonly string[] | Readonly<Record<string, readonly string[]>>;

export interface Identity {
  /** By text dimension; null where the service has no value. */
  readonly texts: ReadonlyMap<string, string | null>;
  readonly attrDependency: Readonly<Record<string, Dependency>>;
  readonly seed: number;
}

export interface Identities {
  readonly all: readonly Identity[];
  /** The identity of each lane; -1 where a filter excludes it. */
  readonly indexByLane: Int32Array;
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
function textOf(lane: Lane, dimension: string, query: ReportQuery, vocabulary: Vocabulary): string | null {
  if (dimension === 'currency') return query.currency.name;
  if (dimension === 'currency_code') return query.currency.code;
  return vocabulary.textOf(lane, dimension);
}

function dependencyOf(
  lane: Lane,
  ids: readonly LaneDimension[],
  seed: number,
  withChannel: boolean,
): Record<string, Dependency> {
  const asLists = choose(seed, LISTS_EVERY) === 0;
  const entries = ids.map((id): [string, Dependency] => [id, asLists ? [lane.texts[id]] : lane.texts[id]]);
  if (withChannel) entries.push(['channel', { [lane.texts.partner]: [lane.texts.partner_id] }]);
  return Object.fromEntries(entries);
}

/** The identities of the lanes that a query's filters leave, in the lanes' order. */
function createIdentities(query: ReportQuery, lanes: Lanes, vocabulary: Vocabulary): Identities {
  const dimensions = query.dimensions.filter((dimension) => !isDateDimension(dimension));
  const ids = [...new Set(dimensions.flatMap((dimension) => idsOfNamed.get(dimension) ?? []))];
  const withChannel = dimensions.includes('channel');
  const hidden: readonly LaneDimension[] = withChannel ? [...ids, 'partner', 'partner_id'] : ids;
  const { osNames } = query;

  const all: Identity[] = [];
  const indexByKey = new Map<string, number>();
  const indexByLane = new Int32Array(lanes.all.length).fill(-1);
  const accepts = (lane: Lane): boolean =>
    (osNames === null || osNames.has(lane.texts.os_name)) &&
    query.filters.dimensions.every(
      ({ dimension, accepts: isAccepted }) =>
        isDateDimension(dimension) || isAccepted(textOf(lane, dimension, query, vocabulary)),
    );

  for (const lane of lanes.all) {
    if (!accepts(lane)) continue;
    const texts = dimensions.map((dimension) => textOf(lane, dimension, query, vocabulary));
    const key = JSON.stringify([texts, hidden.map((id) => lane.texts[id])]);
    let index = indexByKey.get(key);
    if (index === undefined) {
      index = all.length;
      indexByKey.set(key, index);
      const seed = hashText(key);
      all.push({
        texts: new Map(dimensions.map((dimension, position) => [dimension, texts[position] ?? null])),
        attrDependency: dependencyOf(lane, ids, seed, withChannel),
        seed,
      });
    }
    indexByLane[lane.index] = index;
  }
  return { all, indexByLane };
}

/** The identities by query, the latest ones kept: a nightly caller asks the same report for many days. */
export class IdentityStore {
  readonly #lanes: Lanes;
  readonly #vocabulary: Vocabulary;
  readonly #entries = new Map<string, Identities>();

  constructor(lanes: Lanes, vocabulary: Vocabulary) {
    this.#lanes = lanes;
    this.#vocabulary = vocabulary;
  }

  of(query: ReportQuery): Identities {
    const maxEntries = 16;
    const found = this.#entries.get(query.identityKey) ?? createIdentities(query, this.#lanes, this.#vocabulary);
    this.#entries.delete(query.identityKey);
    this.#entries.set(query.identityKey, found);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries) break;
      this.#entries.delete(oldest);
    }
    return found;
  }
}
