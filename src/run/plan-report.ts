/** Explains what the next sync would request. Requests nothing. */

import type { Config } from '../config/config.ts';
import type { Failure } from '../errors.ts';
import { readCatalog } from '../account/stored-catalog.ts';
import { daysBetween, lastDay } from '../model/calendar.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import type { Slice } from '../model/slice.ts';
import { rowsPerDay, storedAt, type SliceTable } from '../model/ledger.ts';
import { sumOf } from '../model/measure.ts';
import { metricsOf } from '../model/metric.ts';
import { refusalOf } from '../warehouse/tables/slice-table.ts';
import { stateOf } from '../model/maturity.ts';
import { reversedAt, type Period } from '../model/period.ts';
import { boxesOf, controlBoxesOf, type DueReason } from '../model/window.ts';
import { periodsByReason, type SlicePlan } from '../plan/plan.ts';
import {
  chosenSlices,
  type ResolvedOptions,
  onScratchWarehouse,
  onWarehouse,
} from './circumstances.ts';
import { assertNoFutureFetch } from '../warehouse/ledger.ts';
import { loadableSlices, plannedSlices } from './tables.ts';
import { warehouseExists } from '../warehouse/opening.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

interface PlannedWindow {
  /** Of a cube. The windows of any other slice request all. */
  readonly metrics?: number;
  readonly first_day: string;
  readonly last_day: string;
  readonly periods: number;
  readonly reasons: Readonly<Partial<Record<DueReason, number>>>;
  readonly requests: number;
  /** Rows at the last load, or under the previous meaning, or else the average. Null before the first load. */
  readonly rows_expected: number | null;
}

export interface PlannedSlice {
  readonly name: string;
  readonly windows: readonly PlannedWindow[];
  /** Number of due periods by the reason they are due. */
  readonly reasons: Readonly<Partial<Record<DueReason, number>>>;
  readonly requests: number;
  /** Like the next, null before the first load. */
  readonly rows_expected: number | null;
  /** Rows that fetching every unfinal period again would return. */
  readonly refetch_all_rows: number | null;
  /** Set if the date period, as of the plan, ends before it begins. */
  readonly reversed_period: { readonly first_day: string; readonly last_day: string } | null;
  /** Periods of the slice's coverage, due or not. */
  readonly periods: number;
  /** Periods with at least one cell that is not final. */
  readonly unfinal_periods: number;
  /** Unfinal periods that are not requested. */
  readonly saved_periods: number;
}

export interface PlanReport {
  readonly as_of: string;
  readonly slices: readonly PlannedSlice[];
  readonly requests: number;
  /** Only of slices that were loaded before, like the numbers below. */
  readonly rows_expected: number;
  readonly refetch_all_rows: number;
  /** How many fewer rows the plan requests, or 0 if it requests more, as after a metric was added. */
  readonly saved_rows: number;
}

interface PlanRequest extends Omit<ResolvedOptions, 'asOf'> {
  readonly slices: readonly string[] | null;
  /** Takes the failure a sync would refuse a slice with (default: throws it). */
  readonly refuse?: (slice: string, failure: Failure) => void;
}

/** Returns the next sync's plan, without the slices that it would refuse. Without a warehouse all is `new`. */
export async function explainPlan(config: Config, request: PlanRequest): Promise<PlanReport> {
  const chosen = chosenSlices(config, request.slices);
  const throwIt = (_: string, failure: Failure): never => {
    throw failure;
  };
  const { planAt, refuse = throwIt } = request;
  const explain = async (warehouse: Warehouse): Promise<PlannedSlice[]> => {
    await assertNoFutureFetch(warehouse, config.slices, planAt);
    const catalog = await readCatalog(warehouse, chosen);
    const typed: Pick<SlicePlan, 'slice' | 'metrics'>[] = [];
    const starred = await loadableSlices({ warehouse, planAt }, chosen, catalog, refuse);
    const refusals = starred.map(async ({ slice }) => refusalOf(warehouse, slice));
    for (const [at, refusal] of (await Promise.all(refusals)).entries()) {
      const slice = starred[at]?.slice;
      if (slice === undefined) continue;
      // Whether a metric adds up changes no plan.
      if (refusal === null) typed.push({ slice, metrics: metricsOf(slice, catalog) });
      else refuse(slice.name, refusal);
    }
    const planned = await plannedSlices(config, warehouse, typed, { planAt, forced: null });
    return planned.map(({ plan, ledger }) => describePlan(plan, ledger.live));
  };
  const slices = warehouseExists(config.warehouse)
    ? await onWarehouse(config, 'read', request, explain)
    : await onScratchWarehouse(config, request, explain);
  const rowsExpected = sumOf(slices.map((slice) => slice.rows_expected ?? 0));
  const refetchAllRows = sumOf(slices.map((slice) => slice.refetch_all_rows ?? 0));
  return {
    as_of: planAt.toISOString(),
    slices,
    requests: sumOf(slices.map((slice) => slice.requests)),
    rows_expected: rowsExpected,
    refetch_all_rows: refetchAllRows,
    saved_rows: Math.max(0, refetchAllRows - rowsExpected),
  };
}

function describePlan(plan: SlicePlan, live: SliceTable | null): PlannedSlice {
  const { slice, periods, planAt, table } = plan;
  const ages = metricsByAge(slice, plan.metrics);
  const unfinal = periods.filter((period) =>
    [...ages].some(([age, metrics]) => {
      const record = storedAt(table, age, period.bucket.start);
      return record === undefined || stateOf({ ...record, ...period }, metrics, slice) !== 'final';
    }),
  );
  const rowsOf = expectedRows(slice, table) ?? expectedRows(slice, live);
  const windows = plan.windows.map((window): PlannedWindow => {
    const { requested } = window;
    const requestedPeriods = window.periods.map(({ period }) => period);
    return {
      ...(slice.cube === undefined ? {} : { metrics: window.slice.metrics.length }),
      first_day: requested.start,
      last_day: lastDay(requested),
      periods: requestedPeriods.length,
      reasons: periodsByReason([window]),
      requests: boxesOf(window).length + controlBoxesOf(window).length,
      rows_expected: rowsOf?.(requestedPeriods, window.slice.metrics) ?? null,
    };
  });
  const due = new Set(
    plan.windows.flatMap((window) => window.periods.map(({ period }) => period.bucket.start)),
  );
  const reversed = reversedAt(slice, planAt);
  return {
    name: slice.name,
    windows,
    reasons: periodsByReason(plan.windows),
    requests: sumOf(windows.map((window) => window.requests)),
    rows_expected: rowsOf && sumOf(windows.map((window) => window.rows_expected ?? 0)),
    refetch_all_rows: rowsOf && rowsOf(unfinal, slice.metrics),
    reversed_period: reversed && { first_day: reversed.first, last_day: reversed.last },
    periods: periods.length,
    unfinal_periods: unfinal.length,
    saved_periods: unfinal.filter(({ bucket }) => !due.has(bucket.start)).length,
  };
}

function expectedRows(slice: Slice, table: SliceTable | null) {
  const perDay = rowsPerDay(table);
  if (perDay === null) return null;
  return (periods: readonly Period[], metrics: readonly string[]): number => {
    // The rows of a cube are values.
    const share = slice.cube === undefined ? 1 : metrics.length / slice.metrics.length;
    const ages = new Set(metrics.map(ageIn(slice)));
    const rowsOf = ({ bucket, requested }: Period) => {
      const loaded = sumOf([...ages].map((age) => storedAt(table, age, bucket.start)?.rows ?? 0));
      return loaded > 0 ? loaded : share * perDay * daysBetween(requested.start, requested.end);
    };
    return Math.round(sumOf(periods.map(rowsOf)));
  };
}
