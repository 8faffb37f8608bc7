/** What dividing a window's parts brought: more rows, or reason not to divide them again. Pure. */

import type { LoadResult, Shortfall } from '../load/load-result.ts';
import type { Part } from '../model/part.ts';
import type { Window } from '../model/window.ts';

/** A part that fell short, and the two that took its place. */
export interface Division {
  readonly shortfall: Shortfall;
  readonly halves: readonly Part[];
}

type Split = Extract<LoadResult, { readonly kind: 'split' }>;

/**
 * Why dividing parts once more cannot help, as a clause: the halves of one of them brought no more rows than it had, and came
 * no nearer to the totals.
 */
export function withoutProgress(
  { shortfalls, rows }: Pick<Split, 'shortfalls' | 'rows'>,
  divisions: ReadonlyMap<Part, Division>,
): string | null {
  for (const [part, { isCut, isAssumed }] of shortfalls) {
    const division = divisions.get(part);
    if (division === undefined || isCut) continue;
    const { shortfall, halves } = division;
    const brought = halves.reduce((sum, half) => sum + (rows.get(half) ?? 0), 0);
    const isNearer = [...shortfall.differences].some(([metric, before]) => {
      const away = halves.reduce((sum, half) => sum + (shortfalls.get(half)?.differences.get(metric) ?? 0), 0);
      return away < before;
    });
    // A sum of what does not add up comes nearer by chance.
    if ((isAssumed || !isNearer) && brought <= shortfall.rows) return 'dividing it brought no more rows';
  }
  return null;
}

/** By part that was divided, the two that stand in its place; every other part is the very same value as before. */
export function divisionsOf(before: Window, divided: Window): Map<Part, readonly Part[]> {
  const divisions = new Map<Part, readonly Part[]>();
  let at = 0;
  for (const part of before.parts) {
    const isSame = divided.parts[at] === part;
    if (!isSame) divisions.set(part, divided.parts.slice(at, at + 2));
    at += isSame ? 1 : 2;
  }
  return divisions;
}
