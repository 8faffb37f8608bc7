/**
 * What the ledger holds and learns of loads: the periods that a window would replace, what replaced them, and what is
 * remembered of metrics from one run to the next.
 */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { type Day, type DayInterval, startOfDayAt } from '../model/calendar.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import type { CompletenessVerdict, LoadedPeriod } from '../model/ledger.ts';
import { computedAt, nextRefreshAt, soundAt, stateOf } from '../model/maturity.ts';
import { endOf, isWhole, type Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { reportParameters, type Window } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import { bound, count, dayShape, instant, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { evidenceOf, type WindowMaturity } from './evidence.ts';
import type { Reject, Rejects } from './rejects.ts';
import type { Target } from './target.ts';
import type { Comparison } from './totals.ts';

/** What is stored of a period before a load. */
export type PeriodKnown = Pick<LoadedPeriod, 'bucket' | 'rows' | 'emptyRuns' | 'fetchedAt'>;

const knownRow = z
  .object({
    start_day: dayShape,
    end_day: dayShape,
    rows: count,
    empty_runs: count,
    fetched_at: instant,
    age: z.string(),
  })
  .transform(({ start_day: start, end_day: end, rows, empty_runs: emptyRuns, fetched_at: fetchedAt, age }) => {
    return { bucket: { start, end }, rows, emptyRuns, fetchedAt, age };
  });

/**
 * By first day of the period, of every window; of a report without a date dimension the one period, by the window's. Of a cube what
 * is held of the ages that the window requests, and the latest fetch of them.
 */
export async function knownPeriods(
  warehouse: Warehouse,
  { slice, fingerprint }: Target,
  windows: readonly Window[],
): Promise<(window: Window) => Map<Day, PeriodKnown>> {
  const starts = windows.map(({ replaced }) => replaced.start).sort();
  const ends = windows.map(({ replaced }) => replaced.end).sort();
  const [start, end] = [starts.at(0), ends.at(-1)];
  if (start === undefined || end === undefined) return () => new Map();
  const bounds = ledgerBounds(slice.grain, { start, end });
  const found = await warehouse.rows(statement('load/known_periods'), [slice.name, fingerprint, ...bounds], knownRow);
  return ({ replaced, slice: { metrics } }) => {
    const ages = new Set(metrics.map(ageIn(slice)));
    const known = new Map<Day, PeriodKnown>();
    for (const { age, ...each } of found) {
      if (!ages.has(age) || !(slice.grain === null || isWithin(each.bucket.start, replaced))) continue;
      const start = slice.grain === null ? replaced.start : each.bucket.start;
      const other = known.get(start);
      known.set(start, other === undefined ? each : together(other, each));
    }
    return known;
  };
}

const together = (one: PeriodKnown, other: PeriodKnown): PeriodKnown => ({
  bucket: one.bucket,
  rows: one.rows + other.rows,
  emptyRuns: Math.max(one.emptyRuns, other.emptyRuns),
  fetchedAt: one.fetchedAt > other.fetchedAt ? one.fetchedAt : other.fetchedAt,
});

const isWithin = (day: Day, { start, end }: DayInterval): boolean => start <= day && day < end;

/** The days of the ledger's periods that a load replaces, as parameters; nulls for a report without a date dimension. */
export function ledgerBounds(grain: unknown, { start, end }: DayInterval): readonly [Day | null, Day | null] {
  return grain === null ? [null, null] : [start, end];
}

/** A window that passed every check. */
export interface Proven {
  readonly spooled: Spooled;
  readonly windowNo: number;
  /** Rows of it in `typed`, and by first day of the period. */
  readonly rows: number;
  readonly periodRows: ReadonlyMap<Day, number>;
  readonly rejects: Pick<Rejects, 'recorded' | 'days'>;
  /** Whether identical rows occur, of which one is kept. */
  readonly collapse: boolean;
  /** Whether the rows came in the order of their dates. */
  readonly isOrdered: boolean;
  readonly verdict: CompletenessVerdict;
  readonly proof: readonly Comparison[];
  /** Metrics that its rows showed not to add up. */
  readonly notAdditive: readonly string[];
  /** When it was requested, or the as-of instant it was requested under. */
  readonly fetchedAt: Date;
  readonly maturity: WindowMaturity;
  /** What is stored of its periods; none of a window that was never loaded. */
  readonly known: ReadonlyMap<Day, PeriodKnown>;
}

/** A window that is being replaced. */
export interface Load extends Proven {
  readonly loadId: string;
}

/** What is stored of each period once a window was replaced. */
export interface StoredCounts {
  readonly rows: ReadonlyMap<Day, number>;
  /** By age of a cube, how many values are not zero; empty for any other slice. */
  readonly ages: ReadonlyMap<string, ReadonlyMap<Day, number>>;
}

/** Null where a window's own rows are what is stored. */
type Counted = StoredCounts | null;

/** Rows that a window has once it was replaced. */
export const storedRows = ({ rows, spooled: { window } }: Load, counted: Counted): number =>
  counted === null
    ? rows
    : window.periods.reduce((sum, { period }) => sum + (counted.rows.get(period.bucket.start) ?? 0), 0);

/** A statement that records the loads of a slice. */
export function recordLoads(
  { slice, fingerprint }: Target,
  loads: readonly Load[],
  counted: Counted,
  runId: string,
): string {
  const items = loads.map((load) => {
    const { loadId, spooled, rejects, verdict, proof, fetchedAt, maturity } = load;
    const { window } = spooled;
    const rejected = rejects.days.length;
    return {
      load_id: loadId,
      start_day: window.asked.start,
      end_day: window.asked.end,
      reasons: [...new Set(window.periods.map(({ reason }) => reason))],
      parameters: JSON.stringify(reportParameters(window)),
      requests: spooled.requests,
      bytes: spooled.answers.flatMap(({ pages }) => pages).reduce((sum, page) => sum + page.bytes, 0),
      rows_fetched: load.rows + rejected,
      rows_loaded: storedRows(load, counted),
      rows_rejected: rejected,
      verdict,
      proof: JSON.stringify(proof),
      requested_at: timestamp(spooled.requestedAt),
      received_at: timestamp(spooled.receivedAt),
      known_at: timestamp(computedAt(fetchedAt, maturity.computedAt)),
    };
  });
  const of = [runId, slice.name, fingerprint, JSON.stringify(slice.metrics), JSON.stringify(items)];
  return bound('load/record_loads', of);
}

/** Statements that record how the periods of the loads are stored from now on. */
export function recordPeriods(target: Target, loads: readonly Load[], counted: Counted): string[] {
  const { slice, fingerprint, metrics } = target;
  const held = loads.filter(({ known }) => known.size > 0);
  const byAge = [...metricsByAge(slice, metrics)];
  const forgottenAges = slice.cube === undefined ? null : JSON.stringify(byAge.map(([age]) => age));
  const forgotten = joined(held.map(({ spooled }) => spooled.window.replaced)).map((days) =>
    bound('load/forget_periods', [slice.name, fingerprint, ...ledgerBounds(slice.grain, days), forgottenAges]),
  );
  const periods = loads.flatMap(({ loadId, spooled, fetchedAt, verdict, known, periodRows, rejects, maturity }) =>
    spooled.window.periods.flatMap(({ period }) => {
      const { start } = period.bucket;
      const all = (counted?.rows ?? periodRows).get(start) ?? 0;
      // An age of which every value is zero is no empty one.
      const isEmpty = slice.cube === undefined ? all === 0 : (periodRows.get(start) ?? 0) === 0;
      const emptyRuns = isEmpty ? emptyRunsAfter(known.get(start), period, fetchedAt, slice) : 0;
      const rejected = rejectedIn(period, rejects.days);
      const stated = evidenceOf(maturity, period, fetchedAt);
      const immature = stated.evidence?.immature ?? [];
      const loaded = { fetchedAt, metrics: spooled.window.slice.metrics, rejected, emptyRuns, verdict, ...stated };
      return byAge.map(([age, some]) => ({
        age,
        load_id: loadId,
        fetched_at: timestamp(fetchedAt),
        verdict,
        start_day: period.bucket.start,
        end_day: period.bucket.end,
        asked_start: period.asked.start,
        asked_end: period.asked.end,
        ends_at: timestamp(endOf(period, slice.utcOffset)),
        whole: isWhole(period),
        rows: slice.cube === undefined ? all : (counted?.ages.get(age)?.get(start) ?? 0),
        rejected,
        empty_runs: emptyRuns,
        state: stateOf(period, some, slice, loaded),
        sound_at: instantOrNull(soundAt(period, loaded)),
        computed_at: instantOrNull(stated.evidence?.computedAt ?? null),
        immature: immature.length === 0 ? null : immature,
        next_refresh_at: instantOrNull(nextRefreshAt(period, some, slice, loaded)),
      }));
    }),
  );
  const returned = joined(loads.map(({ spooled }) => spooled.window.replaced)).map((days) =>
    bound('load/forget_released', [slice.name, fingerprint, ...ledgerBounds(slice.grain, days)]),
  );
  return [...forgotten, ...returned, bound('load/record_periods', [slice.name, fingerprint, JSON.stringify(periods)])];
}

/**
 * Runs in a row without rows, with one more: an answer that is loaded again confirms nothing it did not say before. Once a period
 * is over they are counted anew, as those from before say nothing of what came later in it.
 */
function emptyRunsAfter(
  before: PeriodKnown | undefined,
  { bucket }: Period,
  fetchedAt: Date,
  { utcOffset, settleMs }: Slice,
): number {
  if (before === undefined || before.emptyRuns === 0) return 1;
  const isOver = (at: Date, end: Day): boolean => at.getTime() >= startOfDayAt(end, utcOffset).getTime() + settleMs;
  if (isOver(fetchedAt, bucket.end) && !isOver(before.fetchedAt, before.bucket.end)) return 1;
  return before.emptyRuns + (fetchedAt > before.fetchedAt ? 1 : 0);
}

/** Rows left out of a period; one of which no day is known counts for every period. */
function rejectedIn({ bucket }: Period, days: readonly (Day | null)[]): number {
  return days.filter((day) => day === null || (day >= bucket.start && day < bucket.end)).length;
}

const instantOrNull = (at: Date | null): string | null => (at === null ? null : timestamp(at));

/** Intervals in order of time, with those that meet as one. */
export function joined(intervals: readonly DayInterval[]): DayInterval[] {
  const ranges: { start: Day; end: Day }[] = [];
  for (const next of intervals.toSorted((a, b) => (a.start < b.start ? -1 : 1))) {
    const last = ranges.at(-1);
    if (last !== undefined && next.start <= last.end) last.end = next.end > last.end ? next.end : last.end;
    else ranges.push({ ...next });
  }
  return ranges;
}

/** Records rejected rows, at once. Inside the caller's transaction where there is one. */
export async function recordRejects(warehouse: Warehouse, rejects: readonly Reject[], runId: string): Promise<void> {
  if (rejects.length === 0) return;
  const rows = rejects.map(({ slice, days, reason, row }) => ({
    slice,
    start_day: days.start,
    end_day: days.end,
    reason: scrub(reason),
    row_text: row,
  }));
  await warehouse.run(statement('load/record_rejects'), [runId, JSON.stringify(rows)]);
}
