/** Stars: patterns with `*` among a slice's metrics, replaced by the catalog's metrics that they match. Pure. */

import { dateDimensions } from './dimension.ts';
import { globMatches } from './metric.ts';
import { ownColumns, type Slice } from './slice.ts';

/** The most metrics of a slice with stars, unless it states another number: more is a mistake rather than a report. */
export const MOST_STARRED = 200;

export interface Star {
  readonly pattern: string;
  readonly metrics: readonly string[];
}

export const isStar = (metric: string): boolean => metric.includes('*');

export const hasStars = ({ metrics }: Pick<Slice, 'metrics'>): boolean => metrics.some(isStar);

/** The listed metrics that each star matches, sorted: each once, without those the slice states or that cannot be columns. */
export function starsOf(
  { metrics, dimensions }: Pick<Slice, 'metrics' | 'dimensions'>,
  listed: Iterable<string>,
): Star[] {
  const stated = [
    ...dimensions,
    ...metrics.filter((name) => !isStar(name)),
    ...dateDimensions,
    ...ownColumns,
  ];
  const taken = new Set(stated.map((name) => name.toLowerCase()));
  // The service has no escape for a comma.
  const names = [...new Set(listed)].filter((name) => !name.includes(',')).toSorted();
  return metrics.filter(isStar).map((pattern) => {
    const matched = names.filter((name) => {
      const isFree = !taken.has(name.toLowerCase()) && globMatches(pattern, name);
      if (isFree) taken.add(name.toLowerCase());
      return isFree;
    });
    return { pattern, metrics: matched };
  });
}

/** The slice with each star replaced by the metrics it stands for; unchanged if it has no stars. */
export function withStars(slice: Slice, listed: Iterable<string>): Slice {
  if (!hasStars(slice)) return slice;
  const stars = new Map(starsOf(slice, listed).map(({ pattern, metrics }) => [pattern, metrics]));
  return { ...slice, metrics: slice.metrics.flatMap((name) => stars.get(name) ?? [name]) };
}

/** Why a slice cannot be loaded with the metrics of its stars, and the remedy; null if it can. */
export function starRefusal(
  slice: Slice,
  listed: Iterable<string>,
): { readonly message: string; readonly hint: string } | null {
  if (!hasStars(slice)) return null;
  const names = [...listed];
  const empty = slice.metrics
    .filter(isStar)
    .find((star) => !names.some((name) => globMatches(star, name)));
  if (empty !== undefined) {
    const hint = 'Correct or remove the pattern; `ripen catalog WORD` searches the metrics.';
    return { message: `${empty} matches no metric that filters-data lists`, hint };
  }
  const { metrics } = withStars(slice, names);
  const most = slice.maxMetrics ?? MOST_STARRED;
  if (metrics.length <= most) return null;
  const patterns = slice.metrics.filter(isStar).join(', ');
  const message = `with what ${patterns} stands for it has ${metrics.length} metrics, and at most ${most} are allowed`;
  return { message, hint: 'Narrow the pattern, or raise max_metrics of the slice.' };
}
