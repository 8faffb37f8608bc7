/**
 * The windows of a cube: runs of periods × batches of metrics that cover every due cell at the least cost. Pure.
 *
 * A cell is one age of one period. The due cells of a cube are a diagonal, because each night a different age of each period
 * becomes final: one request per cell would be too many, and one for all cells would request everything again.
 */

import { batchesOf, bytesOf, type DuePeriod, type DueReason } from '../model/window.ts';
import { daysBetween } from '../model/calendar.ts';
import type { Period } from '../model/period.ts';

/** A period with its due ages, at least one. */
export interface DueAges {
  readonly period: Period;
  readonly ages: ReadonlyMap<string, DueReason>;
}

export interface Rectangle {
  /** Contiguous, in order of time. */
  readonly periods: readonly DuePeriod[];
  readonly metrics: readonly string[];
}

export interface Covering {
  /** The metrics of each age, in order of the ages; the metrics of one age are fetched together. */
  readonly metrics: ReadonlyMap<string, readonly string[]>;
  readonly maxDays: number;
  /** Most bytes of an address that the names of metrics may take. */
  readonly maxBytes: number;
  /** Picks the reason to report if a period is requested for several. */
  readonly topReason: (reasons: readonly DueReason[]) => DueReason;
}

/** What a request costs the service besides its rows, in cells of one metric and day. */
const REQUEST_COST = 120;

/** The metrics of an age, and the bytes that their names take in an address. */
interface AgeMetrics {
  readonly metrics: readonly string[];
  readonly bytes: number;
}

type Measured = Omit<Covering, 'metrics'> & { readonly metrics: ReadonlyMap<string, AgeMetrics> };

/** The rectangles that cover the due ages of periods, which must be in order; no cell is in two rectangles. */
export function rectanglesOf(due: readonly DueAges[], stated: Covering): Rectangle[] {
  const entries = [...stated.metrics].map(
    ([age, metrics]) => [age, { metrics, bytes: bytesOf(metrics) }] as const,
  );
  const covering = { ...stated, metrics: new Map(entries) };
  return runsOf(due).flatMap((run) =>
    divided(run, covering).flatMap((part) => batched(part, covering)),
  );
}

/** Groups neighbouring periods. */
function runsOf(due: readonly DueAges[]): DueAges[][] {
  const runs: DueAges[][] = [];
  for (const next of due) {
    const run = runs.at(-1);
    if (run?.at(-1)?.period.requested.end === next.period.requested.start) run.push(next);
    else runs.push([next]);
  }
  return runs;
}

/** Divides a run into parts whose requests and cells cost least; none of several periods is longer than a window may be. */
function divided(run: readonly DueAges[], covering: Measured): DueAges[][] {
  // By end of a part: the least cost of everything up to it, and where the last part begins.
  const best: { readonly cost: number; readonly from: number }[] = [{ cost: 0, from: 0 }];
  for (let end = 1; end <= run.length; end += 1) {
    const ages = new Set<string>();
    let least = { cost: Infinity, from: end - 1 };
    for (let from = end - 1; from >= 0; from -= 1) {
      const [first, last] = [run[from], run[end - 1]];
      if (first === undefined || last === undefined) break;
      const days = daysBetween(first.period.requested.start, last.period.requested.end);
      if (days > covering.maxDays && from < end - 1) break;
      for (const age of first.ages.keys()) ages.add(age);
      const cost = (best[from]?.cost ?? 0) + costOf(ages, days, covering);
      if (cost < least.cost) least = { cost, from };
    }
    best.push(least);
  }
  const parts: DueAges[][] = [];
  for (let end = run.length; end > 0; end = best[end]?.from ?? 0)
    parts.unshift(run.slice(best[end]?.from ?? 0, end));
  return parts;
}

function costOf(ages: ReadonlySet<string>, days: number, { metrics, maxBytes }: Measured): number {
  let [cells, bytes] = [0, 0];
  for (const age of ages) {
    const known = metrics.get(age);
    cells += (known?.metrics.length ?? 0) * days;
    bytes += known?.bytes ?? 0;
  }
  return Math.ceil(bytes / maxBytes) * REQUEST_COST + cells;
}

/** A part of a run with the metrics of its ages, in batches whose names fit into an address. */
function batched(
  part: readonly DueAges[],
  { metrics, maxBytes, topReason }: Measured,
): Rectangle[] {
  const due = new Set(part.flatMap(({ ages }) => [...ages.keys()]));
  const names = [...metrics].flatMap(([age, known]) => (due.has(age) ? [known.metrics] : []));
  const periods = part.map(({ period, ages }): DuePeriod => ({
    period,
    reason: topReason([...ages.values()]),
  }));
  return batchesOf(names, maxBytes).map((batch) => ({ periods, metrics: batch }));
}
