/** What the next sync would ask for, why, and what that saves: reads the ledger, asks the service nothing. */

import type { Config } from './config/config.ts';
import type { Emit } from './events.ts';
import { readCatalog } from './load/catalog-tables.ts';
import { daysBetween, lastDay } from './model/calendar.ts';
import { emptyLedger } from './model/ledger.ts';
import { metricsOf } from './model/metric.ts';
import { stateOf } from './model/maturity.ts';
import type { Period } from './model/period.ts';
import type { Slice } from './model/slice.ts';
import type { DueReason, Window } from './model/window.ts';
import { planSlice, type SlicePlan } from './plan/plan.ts';
import { rowsPerDay } from './plan/sizing.ts';
import { chosenSlices } from './run-guards.ts';
import { readSliceLedger } from './warehouse/ledger.ts';
import { openWarehouse, warehouseExists, type Warehouse } from './warehouse/warehouse.ts';

export interface PlannedWindow {
  readonly first_day: string;
  readonly last_day: string;
  readonly periods: number;
  readonly reasons: Readonly<Partial<Record<DueReason, number>>>;
  readonly requests: number;
}

export interface PlannedSlice {
  readonly name: string;
  readonly windows: readonly PlannedWindow[];
  readonly requests: number;
  /** From the rows a day that earlier loads brought; null before the first. */
  readonly rows_expected: number | null;
  /** Periods of which some cell is not final. */
  readonly unfinal_periods: number;
  /** Unfinal periods that are not asked for. */
  readonly saved_periods: number;
}

export interface PlanReport {
  readonly as_of: string;
  readonly slices: readonly PlannedSlice[];
  readonly requests: number;
  readonly rows_expected: number;
  /** Rows that refetching every unfinal period would bring. */
  readonly refetch_all_rows: number;
}

export interface PlanRequest {
  readonly asOf: Date;
  readonly slices: readonly string[] | null;
  readonly lockWaitMs: number;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/** The plan of the next sync at an instant; everything is `new` when there is no warehouse yet. */
export async function explainPlan(config: Config, request: PlanRequest): Promise<PlanReport> {
  const slices = chosenSlices(config, request.slices);
  const plans = await planFrom(config, slices, request);
  const reports = plans.map((plan) => describePlan(plan));
  const sum = (pick: (report: (typeof reports)[number]) => number): number =>
    reports.reduce((total, each) => total + pick(each), 0);
  return {
    as_of: request.asOf.toISOString(),
    slices: reports.map(({ planned }) => planned),
    requests: sum(({ planned }) => planned.requests),
    rows_expected: Math.round(sum(({ planned }) => planned.rows_expected ?? 0)),
    refetch_all_rows: Math.round(sum(({ refetchAllRows }) => refetchAllRows)),
  };
}

type Planned = SlicePlan & { readonly unfinal: readonly Period[] };

async function planFrom(config: Config, slices: readonly Slice[], request: PlanRequest): Promise<Planned[]> {
  const warehouse = await openIfPresent(config, request);
  try {
    const catalog = warehouse === null ? [] : await readCatalog(warehouse);
    const plans: Planned[] = [];
    for (const slice of slices) {
      const ledger = warehouse === null ? emptyLedger : await readSliceLedger(warehouse, slice.name);
      const metrics = metricsOf(slice, catalog);
      const plan = planSlice({ slice, metrics, ledger, asOf: request.asOf, forced: null });
      const unfinal = plan.periods.filter((period) => {
        const loaded = plan.table?.periods.get(period.bucket.start);
        return loaded === undefined || stateOf(period, metrics, slice, loaded.fetchedAt) !== 'final';
      });
      plans.push({ ...plan, unfinal });
    }
    return plans;
  } finally {
    await warehouse?.close();
  }
}

async function openIfPresent(config: Config, request: PlanRequest): Promise<Warehouse | null> {
  if (!warehouseExists(config.warehouse)) return null;
  const { lockWaitMs, emit, signal } = request;
  return openWarehouse(config.warehouse, { mode: 'read', lockWaitMs, emit, signal });
}

function describePlan(plan: Planned): { readonly planned: PlannedSlice; readonly refetchAllRows: number } {
  const perDay = rowsPerDay(plan.table);
  const windows = plan.windows.map((window) => describeWindow(window));
  const days = plan.windows.reduce((sum, { asked }) => sum + daysBetween(asked.start, asked.end), 0);
  const unfinalDays = plan.unfinal.reduce((sum, { asked }) => sum + daysBetween(asked.start, asked.end), 0);
  const due = new Set(plan.windows.flatMap(({ periods }) => periods.map(({ period }) => period.bucket.start)));
  return {
    planned: {
      name: plan.slice.name,
      windows,
      requests: windows.reduce((sum, window) => sum + window.requests, 0),
      rows_expected: perDay === null ? null : Math.round(perDay * days),
      unfinal_periods: plan.unfinal.length,
      saved_periods: plan.unfinal.filter(({ bucket }) => !due.has(bucket.start)).length,
    },
    refetchAllRows: (perDay ?? 0) * unfinalDays,
  };
}

function describeWindow(window: Window): PlannedWindow {
  const reasons: Partial<Record<DueReason, number>> = {};
  for (const { reason } of window.periods) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const { asked, periods } = window;
  return { first_day: asked.start, last_day: lastDay(asked), periods: periods.length, reasons, requests: 1 };
}
