/** What the ledger stores about loads: the periods that a window would replace, what replaced them, rejected rows. */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { type Day, type DayInterval, spanOf, startOfDayAt } from '../model/calendar.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import {
  basisAt,
  computedAt,
  nextRefreshAt,
  RUNS_TO_BELIEVE_EMPTY,
  stateOf,
} from '../model/maturity.ts';
import type { Metric } from '../model/metric.ts';
import { endOf, isWhole, type Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { reportParameters, type Window } from '../model/window.ts';
import { bound, count, dayShape, instant, statement, timestamp } from '../warehouse/sql.ts';
import { receivedAtOf, requestedAtOf } from '../spool/spool.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { evidenceOf } from './answer-pages.ts';
import type { Replacement } from './decide.ts';
import type { StoredPeriod } from './fate.ts';
import { isStated } from './night-totals.ts';
import type { Reject } from './answered.ts';
import { isWithin } from './window-checks.ts';
import { ledgerBounds, type Target } from '../tables/target.ts';

const storedRow = z
  .object({
    start_day: dayShape,
    end_day: dayShape,
    rows: count,
    empty_runs: count,
    fetched_at: instant,
    age: z.string(),
    is_protected: z.boolean(),
  })
  .transform(
    ({
      start_day: start,
      end_day: end,
      rows,
      empty_runs: emptyRuns,
      fetched_at: fetchedAt,
      age,
      is_protected: isProtected,
    }) => {
      return { bucket: { start, end }, rows, emptyRuns, fetchedAt, age, isProtected };
    },
  );

/**
 * Returns a function for what is stored of a window's periods, by first day; in a cube, of its requested ages together. Final
 * periods up to the load `protectedLoad` are protected.
 */
export async function storedPeriods(
  warehouse: Warehouse,
  { slice, fingerprint }: Target,
  windows: readonly Window[],
  protectedLoad: number | null,
): Promise<(window: Window) => Map<Day, StoredPeriod>> {
  const [first, ...others] = windows.map(({ replaced }) => replaced);
  if (first === undefined) return () => new Map();
  const bounds = ledgerBounds(slice.grain, spanOf(first, ...others));
  const found = await warehouse.rows(
    statement('load/known_periods'),
    [slice.name, fingerprint, ...bounds, protectedLoad],
    storedRow,
  );
  return ({ replaced, slice: { metrics } }) => {
    const ages = new Set(metrics.map(ageIn(slice)));
    const periods = new Map<Day, StoredPeriod>();
    for (const { age, ...each } of found) {
      if (!ages.has(age) || !(slice.grain === null || isWithin(each.bucket.start, replaced)))
        continue;
      // Without a date dimension, the one period counts under the first day of the window.
      const start = slice.grain === null ? replaced.start : each.bucket.start;
      const other = periods.get(start);
      periods.set(start, other === undefined ? each : together(other, each));
    }
    return periods;
  };
}

/** Two ages of a period as one, with the later fetch. */
const together = (one: StoredPeriod, other: StoredPeriod): StoredPeriod => ({
  bucket: one.bucket,
  rows: one.rows + other.rows,
  emptyRuns: Math.max(one.emptyRuns, other.emptyRuns),
  fetchedAt: one.fetchedAt > other.fetchedAt ? one.fetchedAt : other.fetchedAt,
  isProtected: one.isProtected === true || other.isProtected === true,
});

/** A replacement with the id of its load. */
export interface Load extends Replacement {
  readonly loadId: string;
}

/** What is stored of each period after windows were replaced. */
export interface StoredCounts {
  readonly rows: ReadonlyMap<Day, number>;
  /** The number of non-zero values by age of a cube; empty for any other slice. */
  readonly ages: ReadonlyMap<string, ReadonlyMap<Day, number>>;
}

export const rowsIn = ({ periods }: Window, rows: ReadonlyMap<Day, number>): number =>
  periods.reduce((sum, { period }) => sum + (rows.get(period.bucket.start) ?? 0), 0);

/** Statements that record the loads of a slice, and replace the entries of their periods. */
export function recordLoads(
  target: Target,
  loads: readonly Load[],
  counted: StoredCounts,
  runId: string,
): string[] {
  const { slice, fingerprint } = target;
  const items = loads.map((load) => {
    const { window, rejects, verdict, comparisons, answered } = load;
    const { spooled, maturity, fetchedAt } = answered;
    const { answers } = spooled;
    const rejected = rejects.days.length;
    return {
      load_id: load.loadId,
      start_day: window.requested.start,
      end_day: window.requested.end,
      reasons: [...new Set(window.periods.map(({ reason }) => reason))],
      parameters: JSON.stringify(reportParameters(window)),
      requests: answers.reduce((sum, answer) => sum + answer.requests, 0),
      bytes: answers.flatMap(({ pages }) => pages).reduce((sum, page) => sum + page.bytes, 0),
      rows_fetched: rowsIn(window, answered.periodRows) + rejected,
      rows_loaded: rowsIn(window, counted.rows),
      rows_rejected: rejected,
      verdict,
      proof: JSON.stringify(comparisons),
      requested_at: timestamp(requestedAtOf(answers)),
      received_at: timestamp(receivedAtOf(answers)),
      known_at: timestamp(computedAt(fetchedAt, maturity.computedAt)),
    };
  });
  const byAge = metricsByAge(slice, target.columns.metrics);
  const ages = slice.cube === undefined ? null : JSON.stringify([...byAge.keys()]);
  const periods = loads.flatMap((load) => periodsOf(load, slice, byAge, counted));
  const replaced = joined(loads.map(({ window }) => window.replaced)).map((days) =>
    ledgerBounds(slice.grain, days),
  );
  const of = [slice.name, fingerprint];
  return [
    bound('load/record_loads', [
      runId,
      ...of,
      JSON.stringify(slice.metrics),
      JSON.stringify(items),
    ]),
    ...replaced.map((days) => bound('load/delete_periods', [...of, ...days, ages])),
    bound('load/record_periods', [...of, JSON.stringify(periods)]),
  ];
}

/** The ledger's entries for the periods of a load: one per period, in a cube one per period and age. */
function periodsOf(
  { loadId, answered, verdict, window, rejects, totals, stored: storedBefore }: Load,
  slice: Slice,
  byAge: ReadonlyMap<string, readonly Metric[]>,
  counted: StoredCounts,
): Readonly<Record<string, unknown>>[] {
  const { periodRows, maturity, fetchedAt } = answered;
  return window.periods.flatMap(({ period }) => {
    const { start, end } = period.bucket;
    const all = counted.rows.get(start) ?? 0;
    // An age whose values are all zero is not empty.
    const isEmpty = slice.cube === undefined ? all === 0 : !periodRows.has(start);
    // Control totals that state nothing of the period are the second answer that an empty one needs.
    const isConfirmed =
      isStated(totals, start) === false && fetchedAt >= endOf(period, slice.utcOffset);
    const emptyRuns = !isEmpty
      ? 0
      : isConfirmed
        ? RUNS_TO_BELIEVE_EMPTY
        : emptyRunsAfter(storedBefore.get(start), period, fetchedAt, slice);
    const rejected = rejectedIn(period, rejects.days);
    const stated = evidenceOf(maturity, period, fetchedAt);
    const immature = stated.evidence?.immature ?? [];
    const stored = {
      fetchedAt,
      metrics: window.slice.metrics,
      rejected,
      emptyRuns,
      verdict,
      ...stated,
    };
    return [...byAge].map(([age, metrics]) => ({
      age,
      load_id: loadId,
      fetched_at: timestamp(fetchedAt),
      verdict,
      start_day: start,
      end_day: end,
      asked_start: period.requested.start,
      asked_end: period.requested.end,
      ends_at: timestamp(endOf(period, slice.utcOffset)),
      whole: isWhole(period),
      rows: slice.cube === undefined ? all : (counted.ages.get(age)?.get(start) ?? 0),
      rejected,
      empty_runs: emptyRuns,
      state: stateOf(period, metrics, slice, stored),
      sound_at: instantOrNull(basisAt(period, stored)),
      computed_at: instantOrNull(stated.evidence?.computedAt ?? null),
      immature: immature.length === 0 ? null : immature,
      next_refresh_at: instantOrNull(nextRefreshAt(period, metrics, slice, stored)),
    }));
  });
}

/** Consecutive runs without rows, including this one; an answer that is loaded again does not count again. */
function emptyRunsAfter(
  before: StoredPeriod | undefined,
  { bucket }: Period,
  fetchedAt: Date,
  { utcOffset, settleMs }: Slice,
): number {
  if (before === undefined || before.emptyRuns === 0) return 1;
  // Answers from before the period ended do not cover all of it, so the count starts again at its end.
  const isOver = (at: Date, end: Day): boolean =>
    at.getTime() >= startOfDayAt(end, utcOffset).getTime() + settleMs;
  if (isOver(fetchedAt, bucket.end) && !isOver(before.fetchedAt, before.bucket.end)) return 1;
  return before.emptyRuns + (fetchedAt > before.fetchedAt ? 1 : 0);
}

/** The number of rejected rows of a period; a row of unknown day counts for every period. */
function rejectedIn({ bucket }: Period, days: readonly (Day | null)[]): number {
  return days.filter((day) => day === null || isWithin(day, bucket)).length;
}

const instantOrNull = (at: Date | null): string | null => (at === null ? null : timestamp(at));

/** The intervals in order of time; those that touch or overlap become one. */
export function joined(intervals: readonly DayInterval[]): DayInterval[] {
  const ranges: { start: Day; end: Day }[] = [];
  for (const next of intervals.toSorted((a, b) => (a.start < b.start ? -1 : 1))) {
    const last = ranges.at(-1);
    if (last !== undefined && next.start <= last.end)
      last.end = next.end > last.end ? next.end : last.end;
    else ranges.push({ ...next });
  }
  return ranges;
}

export function recordRejects(rejects: readonly Reject[], runId: string): string[] {
  if (rejects.length === 0) return [];
  const rows = rejects.map(({ slice, days, reason, row }) => ({
    slice,
    start_day: days.start,
    end_day: days.end,
    reason: scrub(reason),
    row_text: row,
  }));
  return [bound('load/record_rejects', [runId, JSON.stringify(rows)])];
}
