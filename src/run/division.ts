/** What dividing a window's parts brought: more rows, or reason not to divide them again. Pure. */

import { Failure } from '../errors.ts';
import type { LoadResult, Shortfall } from '../load/load-result.ts';
import type { Part } from '../model/part.ts';
import type { Window } from '../model/window.ts';
import type { KnownValues } from '../plan/split.ts';

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

/** Dimensions that a window is not to be divided by, as rows were lost where it was; and all that were tried so. */
export interface Barred {
  readonly now: readonly string[];
  readonly tried: readonly string[];
}

/**
 * What to leave out next after parts lost rows: one dimension they were divided by after the other, as one of them may be
 * at fault alone, then all of them; null when that was tried too.
 */
export function barNext(parts: readonly Part[], { now, tried }: Barred = { now: [], tried: [] }): Barred | null {
  const used = new Set(parts.flatMap((part) => Object.keys(part)));
  const next = [...used].find((dimension) => !tried.includes(dimension));
  if (next !== undefined) return { now: [next], tried: [...tried, next] };
  return now.length < tried.length ? { now: tried, tried } : null;
}

/** Values to divide by, without those of barred dimensions. */
export function unbarred(known: KnownValues, barred: Barred | undefined): KnownValues {
  return new Map([...known].filter(([dimension]) => barred?.now.includes(dimension) !== true));
}

/** A failure that also says why dividing cannot help. */
export function told(failure: Failure, because: string): Failure {
  const { code, message, facts, hint, cause } = failure;
  const text = `${message.replace(/\.$/, '')}; ${because}.`;
  return new Failure(code, text, { facts, ...(hint === null ? {} : { hint }), cause });
}
