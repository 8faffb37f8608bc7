/** In which order windows are asked for: a deadline costs the oldest, never yesterday. Pure. */

import type { DueReason, Window } from '../model/window.ts';
import type { SlicePlan } from './plan.ts';

/** What is new, then what ripens, then older history; audits last, as nothing waits for them. */
const ranks: Readonly<Record<DueReason, number>> = {
  new: 0,
  open: 0,
  'became final': 1,
  maturing: 1,
  empty: 1,
  unproven: 1,
  missing: 2,
  'metric added': 2,
  'meaning changed': 2,
  forced: 2,
  audit: 3,
};
const HISTORY = 2;

/**
 * The windows of all plans by what they bring, newest first within each. Where nothing was loaded under a meaning yet, its
 * newest window is what is new, and the others are history.
 */
export function inOrder(plans: readonly SlicePlan[]): Window[] {
  return plans
    .flatMap((plan) => plan.windows.map((window) => ({ window, rank: rankOf(window, plan) })))
    .toSorted((a, b) => a.rank - b.rank || compare(b.window.asked.end, a.window.asked.end))
    .map(({ window }) => window);
}

function rankOf(window: Window, { windows, table }: SlicePlan): number {
  const isFirstLoad = table === null || table.periods.size === 0;
  if (isFirstLoad) return window === windows.at(-1) ? 0 : HISTORY;
  return Math.min(...window.periods.map(({ reason }) => ranks[reason]));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
