/** What the ledger stores about loads. */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { type Day, isWithin, meet, startOfDayAt, unionOf } from '../model/calendar.ts';
import { isExact } from '../model/column-type.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import type { FetchedPeriod, PeriodRecord } from '../model/ledger.ts';
import { computedAt, finalMetrics, recordOf, RUNS_TO_BELIEVE_EMPTY } from '../model/maturity.ts';
import { sumOf } from '../model/measure.ts';
import type { Metric } from '../model/metric.ts';
import { endOf } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { reportParameters, type Window } from '../model/window.ts';
import { receivedAtOf, requestedAtOf } from '../extract/spool.ts';
import { additiveOf, ledgerBounds } from '../warehouse/tables/target.ts';
import { periodRow, periodsShape } from '../warehouse/ledger.ts';
import { asScript, bound, insertion, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Answered, Load, Reject, StoredPeriod } from './answered.ts';
import { isStated } from './fate.ts';
import type { Replaced } from './table-sql.ts';

const storedRow = z.object({ slice: z.string(), periods: periodsShape });

/**
 * Reads what is stored of periods, by first day; in a cube, of the requested ages together. Not null, `rows`
 * are those that a load would replace.
 */
export async function storedPeriods(warehouse: Warehouse, windows: readonly Window[]) {
  const requests = windows.map(({ slice, fingerprint, replaced }) => {
    const [start_day, end_day] = ledgerBounds(slice.grain, replaced);
    return { slice: slice.name, fingerprint, start_day, end_day };
  });
  const sql = statement('load/known_periods');
  const stored = await warehouse.rows(sql, [JSON.stringify(requests)], storedRow);
  const bySlice = new Map(stored.map(({ slice, periods }) => [slice, periods]));
  return (
    { slice, replaced }: Window,
    {
      kept,
      rows,
    }: {
      readonly kept: ReadonlySet<Day> | undefined;
      readonly rows: ReadonlyMap<Day, number> | null;
    },
  ): ReadonlyMap<Day, StoredPeriod> => {
    const ages = new Set(slice.metrics.map(ageIn(slice)));
    const periods = new Map<Day, StoredPeriod>();
    for (const period of bySlice.get(slice.name) ?? []) {
      const isReplaced = slice.grain === null || isWithin(period.bucket.start, replaced);
      if (!ages.has(period.age) || !isReplaced) continue;
      // Without a date dimension, the one period counts under the first day of the window.
      const start = slice.grain === null ? replaced.start : period.bucket.start;
      const other = periods.get(start);
      const { records = [], fetchedAt = period.fetchedAt } = other ?? {};
      periods.set(start, {
        ...period,
        records: [...records, period],
        rows: rows === null ? period.rows + (other?.rows ?? 0) : (rows.get(start) ?? 0),
        emptyRuns: Math.max(period.emptyRuns, other?.emptyRuns ?? 0),
        fetchedAt: fetchedAt > period.fetchedAt ? fetchedAt : period.fetchedAt,
        // Without a date dimension, other days are another period.
        isKept:
          kept?.has(period.bucket.start) === true &&
          (slice.grain !== null ||
            (period.bucket.start === replaced.start && period.bucket.end === replaced.end)),
      });
    }
    return periods;
  };
}

export const rowsIn = ({ periods }: Window, rows: ReadonlyMap<Day, number>): number =>
  sumOf(periods.map(({ period }) => rows.get(period.bucket.start) ?? 0));

export interface Recording {
  readonly warehouse: Warehouse;
  readonly runId: string;
}

export interface SliceLoads extends Pick<Replaced, 'target' | 'loads' | 'isKnown'> {
  readonly rows: ReadonlyMap<Day, number>;
  /** All rows, in a cube non-zero values, by `cellKey`. */
  readonly cells: ReadonlyMap<string, number>;
  /** The first days of periods with rows of an app that is no longer listed. */
  readonly keptDays: ReadonlySet<Day>;
}

/** The age is empty but for a cube. */
export const cellKey = (age: string, start: Day): string => `${age} ${start}`;

const restatedRow = z.object({ load_id: z.string(), period: z.string() });

/**
 * Records restatements and loads, and replaces the entries of their periods. Many slices take hardly longer than one. Must end
 * the transaction. Returns the periods in which a total changed, by load.
 */
export async function recordLoads(
  slices: readonly SliceLoads[],
  recording: Recording,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { warehouse, runId } = recording;
  const restated = new Map<string, Set<string>>();
  const known = slices.filter(({ isKnown }) => isKnown);
  const metrics = known.flatMap(({ target: { slice, columns }, loads }) => {
    const except = new Set(loads.flatMap(({ notAdditive }) => notAdditive));
    return additiveOf(columns).flatMap(({ id, type }) => {
      const is_double = !isExact(columns.value ?? type);
      const metric = { slice: slice.name, metric: id, is_double };
      return except.has(id) ? [] : [metric];
    });
  });
  if (metrics.length > 0) {
    const items = known.flatMap(({ target: { slice, fingerprint }, loads }) =>
      loads.map(({ loadId, answered: { fetchedAt }, window: { replaced } }) => {
        const [seen_at, { start: start_day, end: end_day }] = [timestamp(fetchedAt), replaced];
        return { slice: slice.name, fingerprint, load_id: loadId, seen_at, start_day, end_day };
      }),
    );
    const moved = await warehouse.rows(
      statement('load/record_restatements'),
      [JSON.stringify(items), JSON.stringify(metrics)],
      restatedRow,
    );
    for (const { load_id: loadId, period } of moved)
      restated.set(loadId, (restated.get(loadId) ?? new Set()).add(period));
  }
  const rejects = slices.flatMap(({ loads }) => loads.flatMap((load) => load.rejects.recorded));
  const entries = slices.map((of) => entriesOf(of, runId));
  const loads = entries.flatMap((of) => of.loads);
  const periods = entries.flatMap((of) => of.periods);
  await warehouse.run(
    asScript([
      ...(await recordingRejects(rejects, recording)),
      await insertion(warehouse, 'ripen.loads', loads),
      ...entries.flatMap(({ deletions }) => deletions),
      await insertion(warehouse, 'ripen.periods', periods),
    ]),
  );
  return restated;
}

function entriesOf({ target, loads, ...counted }: SliceLoads, runId: string) {
  const { slice, columns, fingerprint } = target;
  const table = { slice: slice.name, fingerprint };
  const counting = new Set<Answered>();
  const loadRows = loads.map((load) => {
    const { window, rejects, verdict, comparisons, answered } = load;
    const { spooled, maturity, fetchedAt } = answered;
    const { answers } = spooled;
    const rejected = rejects.days.length;
    // What several loads have in common counts in the first.
    const received = counting.has(answered) ? [] : answers;
    counting.add(answered);
    return {
      ...table,
      run_id: runId,
      load_id: load.loadId,
      metrics: slice.metrics,
      start_day: window.requested.start,
      end_day: window.requested.end,
      reasons: [...new Set(window.periods.map(({ reason }) => reason))],
      parameters: reportParameters(window),
      requests: sumOf(received.map((answer) => answer.requests)),
      bytes: sumOf(received.flatMap(({ pages }) => pages.map((page) => page.bytes))),
      rows_fetched: rowsIn(window, answered.periodRows) + rejected,
      rows_loaded: rowsIn(window, counted.rows),
      rows_rejected: rejected,
      verdict,
      proof: comparisons,
      requested_at: requestedAtOf(answers),
      received_at: receivedAtOf(answers),
      loaded_at: new Date(),
      known_at: computedAt(fetchedAt, maturity.computedAt),
    };
  });
  const byAge = metricsByAge(slice, columns.metrics);
  const ages = slice.cube === undefined ? null : JSON.stringify([...byAge.keys()]);
  const periods = loads.flatMap((load) => periodsOf(load, slice, byAge, counted));
  const deletions = unionOf(loads.map(({ window }) => window.replaced)).map((days) =>
    bound('load/delete_periods', [
      slice.name,
      fingerprint,
      ...ledgerBounds(slice.grain, days),
      ages,
    ]),
  );
  return { loads: loadRows, deletions, periods: periods.map((period) => periodRow(table, period)) };
}

function periodsOf(
  {
    loadId,
    answered,
    verdict,
    differing,
    window,
    rejects,
    totals,
    stated: statedTotals,
    stored,
    isUnserved,
  }: Load,
  slice: Slice,
  byAge: ReadonlyMap<string, readonly Metric[]>,
  counted: Pick<SliceLoads, 'rows' | 'cells' | 'keptDays'>,
): PeriodRecord[] {
  const { periodRows, maturity, fetchedAt } = answered;
  const { utcOffset, settleMs } = slice;
  const load = {
    loadId: Number(loadId),
    requestedAt: requestedAtOf(answered.spooled.answers),
    metrics: window.slice.metrics,
  };
  return window.periods.flatMap(({ period }) => {
    const { bucket, requested } = period;
    const rows = counted.rows.get(bucket.start) ?? 0;
    const before = stored.get(bucket.start);
    if (isUnserved)
      return (before?.records ?? []).map((record) => {
        const metrics = byAge.get(record.age) ?? [];
        const kept = { ...record, ...load };
        const watched = { ...kept, fetchedAt, computedAt: null };
        const finals = (record: FetchedPeriod) => finalMetrics(record, metrics, slice).length;
        // Watched from now on, unless that would make more values final.
        return recordOf(finals(watched) > finals(kept) ? kept : watched, metrics, slice);
      });
    // A row of unknown day counts for every period.
    const rejected = rejects.days.filter((day) => day === null || isWithin(day, bucket)).length;
    // Consecutive runs without rows, this one included. An answer that is loaded again does not count.
    let emptyRuns = 0;
    // Values that are all zero are not empty, nor are rows that were all rejected.
    const isEmpty = slice.cube === undefined ? rows === 0 : !periodRows.has(bucket.start);
    const hasKept = counted.keptDays.has(bucket.start);
    const stated = isStated(totals, bucket.start);
    if (isEmpty && (!hasKept || stated === true) && rejected === 0) {
      // Control totals that state nothing are the second answer. Those with values refute both.
      const isConfirmed = stated === false && fetchedAt >= endOf(period, utcOffset);
      // Answers from before the period ended do not cover all of it.
      const isOver = (at: Date, end: Day) =>
        at.getTime() >= startOfDayAt(end, utcOffset).getTime() + settleMs;
      if (isConfirmed) emptyRuns = RUNS_TO_BELIEVE_EMPTY;
      else if (
        stated ||
        before === undefined ||
        before.emptyRuns === 0 ||
        (isOver(fetchedAt, bucket.end) && !isOver(before.fetchedAt, before.bucket.end))
      )
        emptyRuns = 1;
      else emptyRuns = before.emptyRuns + (fetchedAt > before.fetchedAt ? 1 : 0);
    }
    const immature = maturity.immature.filter(({ days }) => meet(days, bucket));
    const at = computedAt(fetchedAt, maturity.computedAt);
    const fetched = {
      ...load,
      bucket,
      requested,
      fetchedAt,
      rejected,
      emptyRuns,
      verdict,
      computedAt: at < fetchedAt ? at : null,
    };
    return [...byAge].map(([age, metrics]) => {
      const rows = counted.cells.get(cellKey(age, bucket.start)) ?? 0;
      const record = before?.records.find((each) => each.age === age);
      // A night without control totals shows nothing of them.
      const unlike = statedTotals.has(bucket.start)
        ? (differing.get(bucket.start) ?? []).filter((id) =>
            metrics.some((metric) => metric.id === id),
          )
        : (record?.differing ?? []);
      const unfinished = new Set(immature.map(({ metric }) => metric));
      if (hasKept) {
        // Values of an app that is no longer listed stay as they were fetched: they never become final. That the others are not
        // trusted, as one that was missing is back, says nothing of them.
        const trusted = { ...load, verdict: 'proven', rejected: 0, emptyRuns: 0 } as const;
        const finals =
          record === undefined ? [] : finalMetrics({ ...record, ...trusted }, metrics, slice);
        for (const metric of metrics) if (!finals.includes(metric)) unfinished.add(metric.id);
      }
      const evidence = {
        immature: unfinished.size === 0 ? null : [...unfinished],
        differing: unlike.length === 0 ? null : unlike,
      };
      return recordOf({ ...fetched, age, rows, ...evidence }, metrics, slice);
    });
  });
}

export async function recordingRejects(
  rejects: readonly Reject[],
  { warehouse, runId }: Recording,
): Promise<string[]> {
  if (rejects.length === 0) return [];
  const rows = rejects.map(({ slice, days, reason, row }) => ({
    run_id: runId,
    slice,
    start_day: days.start,
    end_day: days.end,
    reason: scrub(reason),
    row,
    seen_at: new Date(),
  }));
  return [await insertion(warehouse, 'ripen.rejected_rows', rows)];
}
