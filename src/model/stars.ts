/** Stars: patterns with `*` among a slice's metrics, replaced by the catalog's metrics that they match. Pure. */

import { dateDimensions } from './dimension.ts';
import { globMatches } from './metric.ts';
import { ownColumns, type Slice } from './slice.ts';

/** More is a mistake rather than a report, unless the slice states another number. */
export const MAX_STARRED = 200;

export interface Star {
  readonly pattern: string;
  readonly metrics: readonly string[];
  /** Metrics that differ by letter case alone from a column, with that column. */
  readonly twins: ReadonlyMap<string, string>;
}

export const isStar = (metric: string): boolean => metric.includes('*');

export const hasStars = ({ metrics }: Pick<Slice, 'metrics'>): boolean => metrics.some(isStar);

/**
 * Without those that cannot be columns. Of two names that differ by letter case alone the loaded one stays, or else the first.
 */
export function starsOf(
  { metrics, dimensions }: Pick<Slice, 'metrics' | 'dimensions'>,
  listed: Iterable<string>,
  loaded: ReadonlySet<string> = new Set(),
): Star[] {
  const plain = metrics.filter((name) => !isStar(name));
  const columnNames = [...dimensions, ...plain, ...dateDimensions, ...ownColumns];
  const columns = new Map(columnNames.map((name) => [name.toLowerCase(), name]));
  // The service has no escape for a comma.
  const names = [...listed].filter((name) => !name.includes(','));
  const candidates = new Set([...names.filter((name) => loaded.has(name)), ...names]);
  return metrics.filter(isStar).map((pattern) => {
    const matched: string[] = [];
    const twins = new Map<string, string>();
    for (const name of candidates) {
      if (!globMatches(pattern, name)) continue;
      candidates.delete(name);
      const column = columns.get(name.toLowerCase());
      if (column === undefined) {
        columns.set(name.toLowerCase(), name);
        matched.push(name);
      } else if (column !== name) twins.set(name, column);
    }
    return { pattern, metrics: matched.toSorted(), twins };
  });
}

export function twinsText(stars: readonly Star[]): string | null {
  const texts = stars
    .flatMap(({ twins }) => [...twins])
    .map(([name, column]) => `${name}, which differs from ${column} by letter case alone`);
  return texts.length === 0
    ? null
    : `The patterns also match metrics that are not loaded: ${texts.join('; ')}`;
}

export function withStars(slice: Slice, stars: readonly Star[]): Slice {
  if (stars.length === 0) return slice;
  const metricsOf = new Map(stars.map(({ pattern, metrics }) => [pattern, metrics]));
  return { ...slice, metrics: slice.metrics.flatMap((name) => metricsOf.get(name) ?? [name]) };
}
