/** The ledger's entries of loads, inside the transaction that replaces their windows. */

import type { Day, DayInterval } from '../model/calendar.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { nextRefreshAt, soundAt, stateOf } from '../model/maturity.ts';
import { endOf, isWhole, type Period } from '../model/period.ts';
import { reportParameters } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import { timestamp } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Known } from './guard.ts';
import { ledgerBounds } from './known-periods.ts';
import type { Comparison } from './proof.ts';
import type { Rejects } from './stage.ts';
import type { Target } from './target.ts';

/** A window that passed every check. */
export interface Proven {
  readonly spooled: Spooled;
  readonly windowNo: number;
  /** Rows of it in `typed`, and by first day of the period. */
  readonly rows: number;
  readonly periodRows: ReadonlyMap<Day, number>;
  readonly rejects: Omit<Rejects, 'failure'>;
  /** Whether identical rows occur, of which one is kept. */
  readonly collapse: boolean;
  /** Whether the rows came in the order of their dates. */
  readonly isOrdered: boolean;
  readonly verdict: CompletenessVerdict;
  readonly proof: readonly Comparison[];
  /** Metrics that its rows showed not to add up. */
  readonly notAdditive: readonly string[];
  /** The instant that counts as the fetch in every finality decision. */
  readonly fetchedAt: Date;
  /** What is held of its periods; none of a window that was never loaded. */
  readonly known: ReadonlyMap<Day, Known>;
}

/** A window that is being replaced. */
export interface Load extends Proven {
  readonly loadId: string;
}

/** A window that was replaced. */
export interface StoredLoad extends Load {
  /** Rows that the window has now. */
  readonly stored: number;
}

/** Records the loads of a slice. */
export async function recordLoads(
  warehouse: Warehouse,
  { slice, fingerprint }: Target,
  loads: readonly StoredLoad[],
  runId: string,
): Promise<void> {
  const items = loads.map(({ loadId, spooled, rejects, verdict, proof, rows: fetched, fetchedAt, stored }) => {
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
      rows_fetched: fetched + rejected,
      rows_loaded: stored,
      rows_rejected: rejected,
      verdict,
      proof: JSON.stringify(proof),
      requested_at: timestamp(spooled.requestedAt),
      received_at: timestamp(spooled.receivedAt),
      known_at: timestamp(fetchedAt),
    };
  });
  await warehouse.run(statement('load/record_loads'), [
    runId,
    slice.name,
    fingerprint,
    JSON.stringify(slice.metrics),
    JSON.stringify(items),
  ]);
}

/** Records how the periods of the loads are held from now on; `counted` has the rows of each period where a window's own are not what is stored. */
export async function recordPeriods(
  warehouse: Warehouse,
  target: Target,
  loads: readonly StoredLoad[],
  counted: ReadonlyMap<Day, number> | null,
): Promise<void> {
  const { slice, fingerprint, metrics } = target;
  const ranges = joined(loads.map(({ spooled }) => spooled.window.replaced));
  for (const days of ranges) {
    await warehouse.run(statement('load/forget_periods'), [
      slice.name,
      fingerprint,
      ...ledgerBounds(slice.grain, days),
    ]);
  }
  const periods = loads.flatMap(({ loadId, spooled, fetchedAt, verdict, known, periodRows, rejects }) =>
    spooled.window.periods.map(({ period }) => {
      const rows = (counted ?? periodRows).get(period.bucket.start) ?? 0;
      const before = known.get(period.bucket.start);
      const emptyRuns = rows > 0 ? 0 : (before?.rows === 0 ? before.emptyRuns : 0) + 1;
      const rejected = rejectedIn(period, rejects.days);
      const held = { fetchedAt, rows, rejected, emptyRuns, verdict };
      return {
        load_id: loadId,
        fetched_at: timestamp(fetchedAt),
        verdict,
        start_day: period.bucket.start,
        end_day: period.bucket.end,
        asked_start: period.asked.start,
        asked_end: period.asked.end,
        ends_at: timestamp(endOf(period, slice.utcOffset)),
        whole: isWhole(period),
        rows,
        rejected,
        empty_runs: emptyRuns,
        state: stateOf(period, metrics, slice, held),
        sound_at: instantOrNull(soundAt(period, held)),
        next_refresh_at: instantOrNull(nextRefreshAt(period, metrics, slice, held)),
      };
    }),
  );
  await warehouse.run(statement('load/record_periods'), [slice.name, fingerprint, JSON.stringify(periods)]);
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
