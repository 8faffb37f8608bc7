/** Replaces one window: rows, restatements and ledger entry in one transaction. */

import * as z from 'zod';

import type { Day } from '../model/calendar.ts';
import type { CompletenessVerdict } from '../model/ledger.ts';
import { nextRefreshAt, soundAt, stateOf } from '../model/maturity.ts';
import { endOf, isWhole, type Period } from '../model/period.ts';
import { reportParameters } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import { recordRejects } from '../warehouse/rejects.ts';
import { count, dayShape, timestamp } from '../warehouse/shapes.ts';
import { statement } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Known } from './guard.ts';
import { ledgerBounds } from './known-periods.ts';
import type { Comparison } from './proof.ts';
import { countUnfit, deleteDays, insertRows, insideDays, recordRestatements, totalPeriods } from './replacing-sql.ts';
import { alterColumns } from './table-columns.ts';
import type { Rejects } from './stage.ts';
import type { Target } from './target.ts';

/** A window that passed every check. */
export interface Proven {
  readonly spooled: Spooled;
  readonly windowNo: number;
  /** Of `typed`, whose types may be wider than the table's. */
  readonly columns: Target['columns'];
  /** Rows of it in `typed`. */
  readonly rows: number;
  readonly rejects: Omit<Rejects, 'failure'>;
  /** Whether identical rows occur, of which one is kept. */
  readonly collapse: boolean;
  /** Whether the rows came in the order of their dates. */
  readonly isOrdered: boolean;
  readonly verdict: CompletenessVerdict;
  readonly proof: readonly Comparison[];
  /** The instant that counts as the fetch in every finality decision. */
  readonly fetchedAt: Date;
  /** What is held of its periods; none of a window that was never loaded. */
  readonly known: ReadonlyMap<Day, Known>;
}

export interface Replaced {
  readonly rows: number;
  readonly restatedPeriods: number;
  /** With columns as wide as the window needed them. */
  readonly target: Target;
}

const loadIdRow = z.object({ load_id: z.string() });
const periodCountRow = z.object({ periods: count });
const periodRowsRow = z.object({ start_day: dayShape, rows: count });

/** Makes a window's rows visible, atomically. */
export async function replaceWindow(
  warehouse: Warehouse,
  target: Target,
  proven: Proven,
  runId: string,
): Promise<Replaced> {
  const { window } = proven.spooled;
  const { slice, fingerprint, table } = target;
  const [next] = await warehouse.rows("select nextval('ripen.load_ids')::varchar as load_id", [], loadIdRow);
  if (next === undefined) throw new RangeError('The sequence of load ids gave nothing.');
  const loadId = next.load_id;
  const days = window.replaced;
  return warehouse.transact(async () => {
    // Before any row is touched: DuckDB commits no table that is altered after it was written to.
    const wider = await widenAsNeeded(warehouse, target, proven, runId);
    const { columns } = wider;
    // Nothing of a window that was never loaded can be restated.
    const isKnown = proven.known.size > 0;
    if (isKnown) await warehouse.run(totalPeriods('before', table, columns, slice.grain, days));
    await warehouse.run(deleteDays(table, slice.grain, days));
    const { windowNo, collapse, isOrdered } = proven;
    const rows = await warehouse.run(
      insertRows(table, columns, slice.grain, { windowNo, days, loadId, collapse, isOrdered }),
    );
    if (!collapse && rows !== proven.rows) {
      throw new RangeError(`The window got ${rows} rows where its answer had ${proven.rows}.`);
    }
    await warehouse.run(totalPeriods('after', table, columns, slice.grain, days));
    const restatements = isKnown ? recordRestatements(columns) : null;
    if (restatements !== null) {
      await warehouse.run(restatements, [slice.name, fingerprint, timestamp(proven.fetchedAt), loadId]);
    }
    await recordRejects(warehouse, proven.rejects.recorded, runId);
    await recordLoad(warehouse, wider, proven, { loadId, rows, runId });
    await recordPeriods(warehouse, wider, proven, loadId);
    const [restated] = await warehouse.rows(statement('load/restated_periods'), [loadId], periodCountRow);
    return { rows, restatedPeriods: restated?.periods ?? 0, target: wider };
  });
}

/** Widens the table's columns that do not hold every value of the window exactly. */
async function widenAsNeeded(
  warehouse: Warehouse,
  target: Target,
  { columns, windowNo, spooled }: Proven,
  runId: string,
): Promise<Target> {
  const candidates = target.columns.metrics.flatMap((metric, at) => {
    const type = columns.metrics[at]?.type ?? metric.type;
    return type === metric.type ? [] : [{ metric, type }];
  });
  if (candidates.length === 0) return target;
  const inDays = insideDays(target.slice.grain, spooled.window.replaced);
  const sql = countUnfit(
    candidates.map(({ metric }) => metric),
    windowNo,
    inDays,
  );
  const [unfit = {}] = await warehouse.rows(sql, [], z.record(z.string(), count));
  const widened = new Map(
    candidates.flatMap(({ metric, type }, at) => ((unfit[`m${at}`] ?? 0) > 0 ? [[metric.id, type] as const] : [])),
  );
  return alterColumns(warehouse, target, widened, runId);
}

async function recordLoad(
  warehouse: Warehouse,
  { slice, fingerprint }: Target,
  { spooled, rejects, verdict, proof, rows: fetched, fetchedAt }: Proven,
  load: { readonly loadId: string; readonly rows: number; readonly runId: string },
): Promise<void> {
  const { window } = spooled;
  const bytes = spooled.answers.flatMap(({ pages }) => pages).reduce((sum, page) => sum + page.bytes, 0);
  const rejected = rejects.days.length;
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
    fetched + rejected,
    load.rows,
    rejected,
    verdict,
    JSON.stringify(proof),
    timestamp(spooled.requestedAt),
    timestamp(spooled.receivedAt),
    timestamp(fetchedAt),
  ]);
}

async function recordPeriods(warehouse: Warehouse, target: Target, proven: Proven, loadId: string): Promise<void> {
  const { spooled, fetchedAt, verdict, known } = proven;
  const { window } = spooled;
  const { slice, fingerprint, metrics } = target;
  const found = await warehouse.rows(statement('load/totals_after'), [], periodRowsRow);
  const rowsOf = new Map(found.map(({ start_day: start, rows }) => [start, rows]));
  const bounds = ledgerBounds(slice.grain, window.replaced);
  await warehouse.run(statement('load/forget_periods'), [slice.name, fingerprint, ...bounds]);
  const periods = window.periods.map(({ period }) => {
    const rows = rowsOf.get(period.bucket.start) ?? 0;
    const before = known.get(period.bucket.start);
    const emptyRuns = rows > 0 ? 0 : (before?.rows === 0 ? before.emptyRuns : 0) + 1;
    const rejected = rejectedIn(period, proven.rejects.days);
    const held = { fetchedAt, rows, rejected, emptyRuns, verdict };
    return {
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
  });
  await warehouse.run(statement('load/record_periods'), [
    slice.name,
    fingerprint,
    loadId,
    timestamp(fetchedAt),
    verdict,
    JSON.stringify(periods),
  ]);
}

/** Rows left out of a period; one of which no day is known counts for every period. */
function rejectedIn({ bucket }: Period, days: readonly (Day | null)[]): number {
  return days.filter((day) => day === null || (day >= bucket.start && day < bucket.end)).length;
}

const instantOrNull = (at: Date | null): string | null => (at === null ? null : timestamp(at));
