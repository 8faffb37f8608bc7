/** Replaces one window: rows, restatements and ledger entry in one transaction. */

import * as z from 'zod';

import type { Day, DayInterval } from '../model/calendar.ts';
import { isWhole, endOf, type Period } from '../model/period.ts';
import { nextRefreshAt, stateOf } from '../model/maturity.ts';
import type { Slice } from '../model/slice.ts';
import { reportParameters } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import { count, timestamp } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Comparison } from './proof.ts';
import { deleteDays, insertRows, recordRestatements, totalPeriods } from './replacing-sql.ts';
import type { Target } from './target.ts';

/** A window that passed every check. */
export interface Proven {
  readonly spooled: Spooled;
  readonly windowNo: number;
  /** Rows the service sent. */
  readonly fetched: number;
  /** The day each row that was left out belongs to; null where none is known. */
  readonly rejectedDays: readonly (Day | null)[];
  /** Whether identical rows occur, of which one is kept. */
  readonly collapse: boolean;
  /** Whether the rows came in the order of their dates. */
  readonly isOrdered: boolean;
  readonly verdict: 'proven' | 'unverifiable';
  readonly proof: readonly Comparison[];
  /** The instant that counts as the fetch in every finality decision. */
  readonly fetchedAt: Date;
}

export interface Replaced {
  readonly rows: number;
  readonly restatedPeriods: number;
}

const loadIdRow = z.object({ load_id: z.string() });
const periodCountRow = z.object({ periods: count });

/** Makes a window's rows visible, atomically. */
export async function replaceWindow(
  warehouse: Warehouse,
  target: Target,
  proven: Proven,
  runId: string,
): Promise<Replaced> {
  const { window } = proven.spooled;
  const { slice, fingerprint, table, columns } = target;
  const [next] = await warehouse.rows("select nextval('ripen.load_ids')::varchar as load_id", [], loadIdRow);
  if (next === undefined) throw new RangeError('The sequence of load ids gave nothing.');
  const loadId = next.load_id;
  const replaced = window.replaced;
  return warehouse.transact(async () => {
    // Nothing of a window that was never loaded can be restated.
    const isKnown = await wasLoaded(warehouse, target, replaced);
    if (isKnown) await warehouse.run(totalPeriods('before_totals', table, columns, slice.grain, replaced));
    await warehouse.run(deleteDays(table, slice.grain, replaced));
    const { windowNo, collapse, isOrdered } = proven;
    const rows = await warehouse.run(
      insertRows(table, columns, slice.grain, { windowNo, loadId, collapse, isOrdered }),
    );
    await warehouse.run(totalPeriods('after_totals', table, columns, slice.grain, replaced));
    const restatements = isKnown ? recordRestatements(columns) : null;
    if (restatements !== null) {
      await warehouse.run(restatements, [slice.name, fingerprint, timestamp(proven.fetchedAt), loadId]);
    }
    await recordLedger(warehouse, target, proven, { loadId, rows, runId });
    const [restated] = await warehouse.rows(
      'select count(distinct period) as periods from ripen.restatements where load_id = $1::bigint',
      [loadId],
      periodCountRow,
    );
    return { rows, restatedPeriods: restated?.periods ?? 0 };
  });
}

/** Whether the ledger knows any period of the days. */
async function wasLoaded(warehouse: Warehouse, { slice, fingerprint }: Target, days: DayInterval): Promise<boolean> {
  const { where, bounds } = periodsOf(slice, days);
  const [found] = await warehouse.rows(
    `select count(*) as periods from ripen.periods where slice = $1 and fingerprint = $2 and ${where}`,
    [slice.name, fingerprint, ...bounds],
    periodCountRow,
  );
  return found !== undefined && found.periods > 0;
}

/** The ledger's periods of some days. A report without a date dimension has one, whatever days the last one covered. */
function periodsOf(slice: Slice, days: DayInterval): { readonly where: string; readonly bounds: readonly string[] } {
  if (slice.grain === null) return { where: 'true', bounds: [] };
  return { where: 'start_day >= $3::date and start_day < $4::date', bounds: [days.start, days.end] };
}

async function recordLedger(
  warehouse: Warehouse,
  target: Target,
  proven: Proven,
  load: { readonly loadId: string; readonly rows: number; readonly runId: string },
): Promise<void> {
  const { spooled, fetchedAt } = proven;
  const { window } = spooled;
  const { slice, fingerprint } = target;
  const bytes = spooled.answers.reduce((sum, { body }) => sum + (body?.bytes ?? 0), 0);
  await warehouse.run(statement('load/record_load'), [
    load.loadId,
    load.runId,
    slice.name,
    fingerprint,
    window.asked.start,
    window.asked.end,
    JSON.stringify([...new Set(window.periods.map(({ reason }) => reason))]),
    JSON.stringify(reportParameters(window)),
    JSON.stringify(slice.metrics),
    spooled.requests,
    bytes,
    proven.fetched,
    load.rows,
    proven.rejectedDays.length,
    proven.verdict,
    JSON.stringify(proven.proof),
    timestamp(spooled.requestedAt),
    timestamp(spooled.receivedAt),
  ]);
  const { where, bounds } = periodsOf(slice, window.replaced);
  await warehouse.run(`delete from ripen.periods where slice = $1 and fingerprint = $2 and ${where}`, [
    slice.name,
    fingerprint,
    ...bounds,
  ]);
  const periods = window.periods.map(({ period }) => {
    const rejected = rejectedIn(period, proven.rejectedDays);
    const state = stateOf(period, target.metrics, slice, fetchedAt);
    return {
      start_day: period.bucket.start,
      end_day: period.bucket.end,
      asked_start: period.asked.start,
      asked_end: period.asked.end,
      ends_at: timestamp(endOf(period, slice.utcOffset)),
      whole: isWhole(period),
      rejected,
      // A period that lacks rows is due at once, and nothing in it is final.
      state: rejected > 0 && state === 'final' ? 'maturing' : state,
      next_refresh_at: instantOrNull(
        rejected > 0 ? fetchedAt : nextRefreshAt(period, target.metrics, slice, fetchedAt),
      ),
    };
  });
  await warehouse.run(statement('load/record_periods'), [
    slice.name,
    fingerprint,
    load.loadId,
    timestamp(fetchedAt),
    JSON.stringify(periods),
  ]);
}

/** Rows left out of a period; one of which no day is known counts for every period. */
function rejectedIn({ bucket }: Period, days: readonly (Day | null)[]): number {
  return days.filter((day) => day === null || (day >= bucket.start && day < bucket.end)).length;
}

const instantOrNull = (at: Date | null): string | null => (at === null ? null : timestamp(at));
