/** What the ledger stores about loads: the periods that a window would replace, what replaced them, rejected rows. */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { type Day, type DayInterval, spanOf, startOfDayAt } from '../model/calendar.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import { computedAt, recordOf, RUNS_TO_BELIEVE_EMPTY } from '../model/maturity.ts';
import type { PeriodRecord } from '../model/ledger.ts';
import type { Metric } from '../model/metric.ts';
import { endOf, type Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { reportParameters, type Window } from '../model/window.ts';
import { periodRow, periodsShape } from '../warehouse/ledger.ts';
import { asScript, bound, insertion, statement, timestamp } from '../warehouse/sql.ts';
import { receivedAtOf, requestedAtOf } from '../extract/spool.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { evidenceOf } from './answer-pages.ts';
import type { Replacement } from './decide.ts';
import type { StoredPeriod } from './fate.ts';
import { isStated } from './night-totals.ts';
import type { Reject } from './answered.ts';
import { isWithin } from './window-checks.ts';
import { additiveOf, ledgerBounds, type Target } from '../warehouse/tables/target.ts';

const storedRow = z.object({ periods: periodsShape });

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
  const [stored] = await warehouse.rows(
    statement('load/known_periods'),
    [slice.name, fingerprint, ...bounds],
    storedRow,
  );
  return ({ replaced, slice: { metrics } }) => {
    const ages = new Set(metrics.map(ageIn(slice)));
    const periods = new Map<Day, StoredPeriod>();
    for (const period of stored?.periods ?? []) {
      const isReplaced = slice.grain === null || isWithin(period.bucket.start, replaced);
      if (!ages.has(period.age) || !isReplaced) continue;
      // Without a date dimension, the one period counts under the first day of the window.
      const start = slice.grain === null ? replaced.start : period.bucket.start;
      const isProtected =
        protectedLoad !== null && period.state === 'final' && period.loadId <= protectedLoad;
      const entry = { ...period, isProtected };
      const earlier = periods.get(start);
      periods.set(start, earlier === undefined ? entry : together(earlier, entry));
    }
    return periods;
  };
}

/** Two ages of a period as one, with the later fetch. */
const together = (one: StoredPeriod, other: StoredPeriod): StoredPeriod => ({
  ...one,
  rows: one.rows + other.rows,
  emptyRuns: Math.max(one.emptyRuns, other.emptyRuns),
  fetchedAt: one.fetchedAt > other.fetchedAt ? one.fetchedAt : other.fetchedAt,
  isProtected: one.isProtected === true || other.isProtected === true,
});

/** A replacement with the id of its load. */
export interface Load extends Replacement {
  readonly loadId: string;
}

/** By age of a cube (else empty), and first day of the period. */
type AgeCounts = ReadonlyMap<string, ReadonlyMap<Day, number>>;

/** What is stored of each period after windows were replaced. */
export interface StoredCounts {
  readonly rows: ReadonlyMap<Day, number>;
  /** The number of non-zero values of a cube; empty for any other slice. */
  readonly ages: AgeCounts;
  /** Rows, in a cube non-zero values, of lost apps that stay beside them. */
  readonly kept: AgeCounts;
}

export const rowsIn = ({ periods }: Window, rows: ReadonlyMap<Day, number>): number =>
  periods.reduce((sum, { period }) => sum + (rows.get(period.bucket.start) ?? 0), 0);

interface Recording {
  readonly warehouse: Warehouse;
  readonly runId: string;
}

/** Loads of one slice. */
interface SliceLoads {
  readonly target: Target;
  readonly loads: readonly Load[];
  readonly counted: StoredCounts;
  /** Whether totals may have moved. */
  readonly isKnown: boolean;
}

const restatedRow = z.object({ load_id: z.string(), period: z.string() });

/** The ledger of the loads of one transaction: entries of many slices take hardly longer than those of one. */
export class LoadLedger {
  readonly #recording: Recording;
  readonly #slices: SliceLoads[] = [];
  readonly #restated = new Map<string, string[]>();

  constructor(recording: Recording) {
    this.#recording = recording;
  }

  get isEmpty(): boolean {
    return this.#slices.length === 0;
  }

  add(loads: SliceLoads): void {
    this.#slices.push(loads);
  }

  /** Returns a list of the periods that a load restated, which `write` fills. */
  restatedBy(loadId: string): readonly string[] {
    const periods = this.#restated.get(loadId) ?? [];
    this.#restated.set(loadId, periods);
    return periods;
  }

  /** Records restatements, then the loads, and replaces the entries of their periods. Must end the transaction. */
  async write(): Promise<void> {
    const { warehouse } = this.#recording;
    await this.#restate();
    const rejects = this.#slices.flatMap(({ loads }) =>
      loads.flatMap((load) => load.rejects.recorded),
    );
    const entries = this.#slices.map((of) => entriesOf(of, this.#recording.runId));
    const loadRows = entries.flatMap((of) => of.loads);
    if (loadRows.length === 0) return;
    await warehouse.run(
      asScript([
        ...(await recordRejects(rejects, this.#recording)),
        await insertion(warehouse, 'ripen.loads', loadRows),
        ...entries.flatMap(({ deletions }) => deletions),
        await insertion(
          warehouse,
          'ripen.periods',
          entries.flatMap(({ periods }) => periods),
        ),
      ]),
    );
  }

  /** Records the totals that changed. */
  async #restate(): Promise<void> {
    const known = this.#slices.filter(({ isKnown }) => isKnown);
    const metrics = known.flatMap(({ target: { slice, columns }, loads }) => {
      const except = new Set(loads.flatMap(({ notAdditive }) => notAdditive));
      return additiveOf(columns).flatMap(({ id, type }) => {
        const { kind } = columns.value ?? type;
        const metric = { slice: slice.name, metric: id, is_double: kind === 'DOUBLE' };
        return except.has(id) ? [] : [metric];
      });
    });
    if (metrics.length === 0) return;
    const items = known.flatMap(({ target: { slice, fingerprint }, loads }) =>
      loads.map(({ loadId, answered: { fetchedAt }, window: { replaced } }) => {
        return {
          slice: slice.name,
          fingerprint,
          load_id: loadId,
          seen_at: timestamp(fetchedAt),
          start_day: replaced.start,
          end_day: replaced.end,
        };
      }),
    );
    const moved = await this.#recording.warehouse.rows(
      statement('load/record_restatements'),
      [JSON.stringify(items), JSON.stringify(metrics)],
      restatedRow,
    );
    for (const { load_id: loadId, period } of moved) {
      const periods = this.#restated.get(loadId);
      if (periods?.includes(period) === false) periods.push(period);
    }
  }
}

/** Returns the rows of loads and of their periods, and statements that delete those they replace. */
function entriesOf({ target, loads, counted }: SliceLoads, runId: string) {
  const { slice, columns, fingerprint } = target;
  const table = { slice: slice.name, fingerprint };
  const loadRows = loads.map((load) => {
    const { window, rejects, verdict, comparisons, answered } = load;
    const { spooled, maturity, fetchedAt } = answered;
    const { answers } = spooled;
    const rejected = rejects.days.length;
    return {
      ...table,
      run_id: runId,
      load_id: load.loadId,
      metrics: slice.metrics,
      start_day: window.requested.start,
      end_day: window.requested.end,
      reasons: [...new Set(window.periods.map(({ reason }) => reason))],
      parameters: reportParameters(window),
      requests: answers.reduce((sum, answer) => sum + answer.requests, 0),
      bytes: answers.flatMap(({ pages }) => pages).reduce((sum, page) => sum + page.bytes, 0),
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
  const periodRows = periods.map((period) => periodRow(table, period));
  const replaced = joined(loads.map(({ window }) => window.replaced)).map((days) =>
    ledgerBounds(slice.grain, days),
  );
  const deletions = replaced.map((days) =>
    bound('load/delete_periods', [slice.name, fingerprint, ...days, ages]),
  );
  return { loads: loadRows, deletions, periods: periodRows };
}

/** The ledger's records of the periods of a load: one per period, in a cube one per period and age. */
function periodsOf(
  { loadId, answered, verdict, window, rejects, totals, stored }: Load,
  slice: Slice,
  byAge: ReadonlyMap<string, readonly Metric[]>,
  counted: StoredCounts,
): PeriodRecord[] {
  const { periodRows, maturity, fetchedAt } = answered;
  const requestedAt = requestedAtOf(answered.spooled.answers);
  return window.periods.flatMap(({ period }) => {
    const { start } = period.bucket;
    const rows = counted.rows.get(start) ?? 0;
    // An age whose values are all zero is not empty.
    const isEmpty = slice.cube === undefined ? rows === 0 : !periodRows.has(start);
    // Control totals that state nothing of the period are the second answer that an empty one needs.
    const isConfirmed =
      isStated(totals, start) === false && fetchedAt >= endOf(period, slice.utcOffset);
    const emptyRuns = !isEmpty
      ? 0
      : isConfirmed
        ? RUNS_TO_BELIEVE_EMPTY
        : emptyRunsAfter(stored.get(start), period, fetchedAt, slice);
    const fetched = {
      bucket: period.bucket,
      requested: period.requested,
      loadId: Number(loadId),
      fetchedAt,
      requestedAt,
      metrics: window.slice.metrics,
      rejected: rejectedIn(period, rejects.days),
      emptyRuns,
      verdict,
      ...evidenceOf(maturity, period, fetchedAt),
    };
    return [...byAge].map(([age, metrics]) => {
      const loaded = slice.cube === undefined ? rows : (counted.ages.get(age)?.get(start) ?? 0);
      const kept = counted.kept.get(age)?.get(start) ?? 0;
      return recordOf({ ...fetched, age, rows: loaded + kept }, metrics, slice);
    });
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

export async function recordRejects(
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
