/**
 * The cheapest cover: consecutive periods × metrics that contain every due value. Pure. As a request costs a base besides its
 * rows, it may fill a gap of periods that are not due. In a cube the due values are a diagonal: each night another age of each
 * period becomes final.
 */

import { batchesOf, bytesOf, type DuePeriod, type DueReason } from '../model/window.ts';
import { daysBetween } from '../model/calendar.ts';
import type { Period } from '../model/period.ts';

/** In milliseconds. */
export interface RequestCost {
  readonly base: number;
  readonly row: number;
}

/** Typical of a report API, until the ledger has timings. */
export const DEFAULT_COST: RequestCost = { base: 400, row: 1 };

/** Bounds a measured cost: a regression over few or similar loads may have any result. */
export function boundedCost(base: number, row: number): RequestCost {
  // A request also takes a place among the few that run at once, and a transaction.
  return { base: Math.min(Math.max(base, 250), 60_000), row: Math.min(Math.max(row, 0.01), 20) };
}

/** A period without due ages may be requested with its neighbours. */
export interface DueAges {
  readonly period: Period;
  readonly ages: ReadonlyMap<string, DueReason>;
  /** Whether it must begin a window. */
  readonly isFirst?: boolean;
}

/** Consecutive periods, and metrics that are requested of all. */
export interface Group {
  readonly periods: readonly DuePeriod[];
  readonly metrics: readonly string[];
}

interface Covering {
  /** By age, in order. Those of one age are fetched together. */
  readonly metrics: ReadonlyMap<string, readonly string[]>;
  readonly maxDays: number;
  /** Most bytes of an address that names of metrics may take. */
  readonly maxBytes: number;
  readonly cost: RequestCost;
  readonly rowsOf: (period: Period, age: string) => number;
}

export const PRIORITY: Readonly<Record<DueReason, number>> = {
  new: 0,
  open: 0,
  'became final': 1,
  moved: 1,
  maturing: 1,
  empty: 1,
  unproven: 1,
  missing: 2,
  'metric added': 2,
  'meaning changed': 2,
  forced: 2,
  between: 3,
};

export const topReason = (reasons: readonly DueReason[]): DueReason =>
  reasons.reduce((first, each) => (PRIORITY[each] < PRIORITY[first] ? each : first));

/** No value is in two groups, and each begins and ends with a due period. */
export function coverOf(periods: readonly DueAges[], covering: Covering): Group[] {
  const { metrics, maxBytes } = covering;
  const runs: DueAges[][] = [];
  for (const next of periods) {
    const run = runs.at(-1);
    const follows = run?.at(-1)?.period.requested.end === next.period.requested.start;
    if (run !== undefined && follows && next.isFirst !== true) run.push(next);
    else runs.push([next]);
  }
  const groups: Group[] = [];
  for (const run of runs) {
    for (const part of divided(run, covering)) {
      const dueAges = new Set(part.flatMap(({ ages }) => [...ages.keys()]));
      const names = [...metrics].flatMap(([age, ofAge]) => (dueAges.has(age) ? [ofAge] : []));
      const requested = part.map(({ period, ages }): DuePeriod => {
        const reason = ages.size === 0 ? 'between' : topReason([...ages.values()]);
        return { period, reason };
      });
      for (const batch of batchesOf(names, maxBytes))
        groups.push({ periods: requested, metrics: batch });
    }
  }
  return groups;
}

function divided(run: readonly DueAges[], covering: Covering): DueAges[][] {
  const { metrics, maxDays, maxBytes, cost, rowsOf } = covering;
  const bytes = new Map([...metrics].map(([age, names]) => [age, bytesOf(names)]));
  // By age, the rows of all periods before an index.
  const rowsBefore = new Map<string, number[]>();
  for (const age of metrics.keys()) {
    let rows = 0;
    const sums = [0];
    for (const { period } of run) {
      rows += rowsOf(period, age);
      sums.push(rows);
    }
    rowsBefore.set(age, sums);
  }
  const dueIndexes = [...run.keys()].filter((at) => (run[at]?.ages.size ?? 0) > 0);
  // By number of due periods that are covered: the least cost, and where the last part begins.
  const cheapest: { readonly cost: number; readonly from: number }[] = [{ cost: 0, from: 0 }];
  for (let end = 1; end <= dueIndexes.length; end += 1) {
    const last = dueIndexes[end - 1] ?? 0;
    const ages = new Set<string>();
    let least = { cost: Infinity, from: end - 1 };
    for (let from = end - 1; from >= 0; from -= 1) {
      const first = dueIndexes[from] ?? 0;
      const [oldest, newest] = [run[first], run[last]];
      if (oldest === undefined || newest === undefined) break;
      const days = daysBetween(oldest.period.requested.start, newest.period.requested.end);
      if (days > maxDays && from < end - 1) break;
      for (const age of oldest.ages.keys()) ages.add(age);
      let [rows, nameBytes] = [0, 0];
      for (const age of ages) {
        const sums = rowsBefore.get(age);
        rows += (sums?.[last + 1] ?? 0) - (sums?.[first] ?? 0);
        nameBytes += bytes.get(age) ?? 0;
      }
      const requests = Math.max(1, Math.ceil(nameBytes / maxBytes));
      const total = (cheapest[from]?.cost ?? 0) + requests * cost.base + rows * cost.row;
      // Of equal costs the longest part: the newest window, which is requested first, is then a full one.
      if (total <= least.cost) least = { cost: total, from };
    }
    cheapest.push(least);
  }
  const parts: DueAges[][] = [];
  for (let end = dueIndexes.length; end > 0; end = cheapest[end]?.from ?? 0)
    parts.unshift(run.slice(dueIndexes[cheapest[end]?.from ?? 0], (dueIndexes[end - 1] ?? 0) + 1));
  return parts;
}
