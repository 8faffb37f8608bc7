/** Grouping: the atoms of a period added up by bucket and identity. Only the measures asked for are computed. */

import type { Atom, AtomStore } from './atoms.ts';
import type { Bucket, Buckets } from './buckets.ts';
import type { Identities, Identity } from './identity.ts';
import type { Measure } from './measures.ts';
import type { Metric } from './metric.ts';
import type { ReportQuery } from './query.ts';

export interface Group {
  readonly bucket: Bucket;
  readonly identity: Identity;
  /** Exact integers, in the order of the measures. */
  readonly sums: number[];
}

const HOURS_PER_DAY = 24;

/** The measures a set of metrics is made of, each once. */
export function measuresOf(metrics: Iterable<Metric>): readonly Measure[] {
  const measures = new Set<Measure>();
  for (const metric of metrics) for (const measure of metric.measures) measures.add(measure);
  return [...measures];
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
  identities: Identities,
  measures: readonly Measure[],
): Group[] {
  const groups: Group[] = [];
  const indexByKey = new Map<number, number>();
  const { firstHour, indexByHour } = buckets;
  const { nowHour } = query.moment;
  const endHour = Math.min(firstHour + indexByHour.length, nowHour + 1);
  const creditsFirst = query.attributionSource === 'first';

  const add = (atom: Atom): void => {
    const bucketIndex = indexByHour[atom.hour - firstHour] ?? -1;
    if (bucketIndex < 0) return;
    const { lane } = atom;
    const identityIndex =
      identities.indexByLane[creditsFirst && atom.reattributed ? lane.organicIndex : lane.index] ?? -1;
    if (identityIndex < 0 || !isCounted(atom, query)) return;

    const key = bucketIndex * identities.all.length + identityIndex;
    let index = indexByKey.get(key);
    if (index === undefined) {
      const bucket = buckets.all[bucketIndex];
      const identity = identities.all[identityIndex];
      if (bucket === undefined || identity === undefined) return;
      index = groups.length;
      indexByKey.set(key, index);
      groups.push({ bucket, identity, sums: measures.map(() => 0) });
    }
    const sums = groups[index]?.sums ?? [];
    const ageHours = nowHour - atom.hour;
    for (let position = 0; position < measures.length; position += 1) {
      const measure = measures[position];
      if (measure === undefined) continue;
      sums[position] = (sums[position] ?? 0) + measure(atom, ageHours, query.moment);
    }
  };

  for (let day = Math.floor(firstHour / HOURS_PER_DAY); day * HOURS_PER_DAY < endHour; day += 1) {
    for (const atom of atoms.onDay(day)) add(atom);
  }
  return groups.sort((left, right) => left.bucket.rank - right.bucket.rank);
}
