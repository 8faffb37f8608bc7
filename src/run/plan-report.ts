/** What the next sync would ask for, why, and what that saves: reads the ledger, asks the service nothing. */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { addingAmong, wholeRequests } from '../extract/whole.ts';
import { readCatalog } from '../catalog/stored-catalog.ts';
import { daysBetween, lastDay } from '../model/calendar.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import type { Slice } from '../model/slice.ts';
import { heldAt, type SliceTable } from '../model/ledger.ts';
import { isMetricItem, metricsOf, type Metric } from '../model/metric.ts';
import { readAdditivity } from '../tables/slice-metrics.ts';
import { refuseUnloadable } from '../tables/slice-table.ts';
import { stateOf } from '../model/maturity.ts';
import type { Period } from '../model/period.ts';
import { starRefusal, withStars } from '../model/stars.ts';
import { type DueReason, requestsOf, type Window } from '../model/window.ts';
import { withAudits } from '../plan/audit.ts';
import { planSlice, rowsPerDay, type SlicePlan } from '../plan/plan.ts';
import { chosenSlices, type FullCircumstances, onScratchWarehouse, onWarehouse } from './circumstances.ts';
import { countReleased, readSliceLedger, refuseFutureFetch } from '../warehouse/ledger.ts';
import { drawnTonight } from './tables.ts';
import { warehouseExists } from '../warehouse/opening.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface PlannedWindow {
  /** How many metrics of a cube it requests; absent for any other slice, of which each window requests all. */
  readonly metrics?: number;
  readonly first_day: string;
  readonly last_day: string;
  readonly periods: number;
  readonly reasons: Readonly<Partial<Record<DueReason, number>>>;
  readonly requests: number;
  /** What the periods held when they were last loaded, or do under the meaning before; those that never were as an average day; null before the first. */
  readonly rows_expected: number | null;
}

export interface PlannedSlice {
  readonly name: string;
  readonly windows: readonly PlannedWindow[];
  /** Periods that copies alone hold and that go with the meaning that changed; absent for none. */
  readonly released_periods?: number;
  readonly requests: number;
  /** Of all windows; null before the first load. */
  readonly rows_expected: number | null;
  /** Rows that refetching every unfinal period would bring; null before the first load. */
  readonly refetch_all_rows: number | null;
  /** Periods of the slice's coverage, due or not; 0 where it holds no day yet. */
  readonly periods: number;
  /** Periods of which some cell is not final. */
  readonly unfinal_periods: number;
  /** Unfinal periods that are not asked for. */
  readonly saved_periods: number;
}

export interface PlanReport {
  readonly as_of: string;
  readonly slices: readonly PlannedSlice[];
  readonly requests: number;
  /** Of the slices that were loaded before, as is what follows. */
  readonly rows_expected: number;
  /** Rows that refetching every unfinal period would bring. */
  readonly refetch_all_rows: number;
  /** How many fewer the plan asks for; 0 when it asks for more, as after a metric was added. */
  readonly saved_rows: number;
}

/** The plan of the next sync; everything is `new` where there is no warehouse yet. Throws what a sync would refuse a slice with. */
export async function explainPlan(
  config: Config,
  request: Omit<FullCircumstances, 'asOf'> & { readonly slices: readonly string[] | null },
): Promise<PlanReport> {
  const slices = chosenSlices(config, request.slices);
  const { planAt } = request;
  const explain = async (warehouse: Warehouse): Promise<PlannedSlice[]> => {
    await refuseFutureFetch(warehouse, { slices: config.slices, planAt });
    const explained = await explainedPlans(warehouse, slices, planAt);
    const plans = explained.map(({ plan }) => plan);
    const audited = withAudits(plans, await drawnTonight({ config, warehouse, planAt }, explained));
    return explained.map((each, at) => describePlan({ ...each, plan: audited[at] ?? each.plan }));
  };
  const planned = warehouseExists(config.warehouse)
    ? await onWarehouse(config, 'read', request, explain)
    : await onScratchWarehouse(config, request, explain);
  const rowsExpected = sumOf(planned.map((slice) => slice.rows_expected ?? 0));
  const refetchAllRows = sumOf(planned.map((slice) => slice.refetch_all_rows ?? 0));
  return {
    as_of: planAt.toISOString(),
    slices: planned,
    requests: sumOf(planned.map((slice) => slice.requests)),
    rows_expected: rowsExpected,
    refetch_all_rows: refetchAllRows,
    saved_rows: Math.max(0, refetchAllRows - rowsExpected),
  };
}

interface ExplainedPlan {
  readonly plan: SlicePlan;
  readonly metrics: readonly Metric[];
  /** The table that is served, of this meaning or of the one before. */
  readonly live: SliceTable | null;
  /** Periods of the meaning before that copies alone hold. */
  readonly released: number;
}

async function explainedPlans(warehouse: Warehouse, slices: readonly Slice[], planAt: Date): Promise<ExplainedPlan[]> {
  const stored = readCatalog(warehouse, slices);
  // Ledgers are remembered: while one answer is made sense of, the engine finds the next.
  await Promise.allSettled([stored, ...slices.map(async ({ name }) => readSliceLedger(warehouse, name))]);
  const catalog = await stored;
  const listed = catalog.filter(isMetricItem).map(({ id }) => id);
  const explained: ExplainedPlan[] = [];
  for (const stated of slices) {
    // Before the first catalog nobody knows what a star stands for.
    const refusal = listed.length === 0 ? null : starRefusal(stated, listed);
    if (refusal !== null) throw new Failure('CONFIG_INVALID', `slice ${stated.name}: ${refusal.message}.`, refusal);
    const slice = withStars(stated, listed);
    const ledger = await readSliceLedger(warehouse, slice.name);
    await refuseUnloadable(warehouse, slice, ledger);
    const metrics = metricsOf(slice, catalog, await readAdditivity(warehouse, slice.name));
    const plan = planSlice({ slice, metrics, ledger, planAt, forced: null });
    const { live } = ledger;
    const isChanged = live !== null && live.fingerprint !== plan.fingerprint;
    const released = isChanged ? await countReleased(warehouse, slice.name) : 0;
    explained.push({ plan, metrics, live, released });
  }
  return explained;
}

function unfinalPeriods({ slice, periods, table }: SlicePlan, metrics: readonly Metric[]): Period[] {
  const ages = metricsByAge(slice, metrics);
  return periods.filter((period) =>
    [...ages].some(([age, some]) => {
      const held = heldAt(table, age, period.bucket.start);
      return held === undefined || stateOf(period, some, slice, held) !== 'final';
    }),
  );
}

function describePlan({ plan, metrics, live, released }: ExplainedPlan): PlannedSlice {
  const { slice, periods } = plan;
  const unfinal = unfinalPeriods(plan, metrics);
  const rowsOf = expectingRows(plan, plan.table) ?? expectingRows(plan, live);
  const adding = addingAmong(
    metrics.map(({ additive, additivity }) => ({ additive, isAssumed: additivity === 'assumed' })),
  );
  const windows = plan.windows.map((window) => {
    const requests = requestsOf(window).length + wholeRequests(window, adding);
    return describeWindow(window, requests, rowsOf);
  });
  const due = new Set(plan.windows.flatMap((window) => window.periods.map(({ period }) => period.bucket.start)));
  return {
    name: slice.name,
    windows,
    ...(released === 0 ? {} : { released_periods: released }),
    requests: sumOf(windows.map((window) => window.requests)),
    rows_expected: rowsOf === null ? null : sumOf(windows.map((window) => window.rows_expected ?? 0)),
    refetch_all_rows: rowsOf === null ? null : rowsOf(unfinal, slice),
    periods: periods.length,
    unfinal_periods: unfinal.length,
    saved_periods: unfinal.filter(({ bucket }) => !due.has(bucket.start)).length,
  };
}

function describeWindow(window: Window, requests: number, rowsOf: RowsOf | null): PlannedWindow {
  const reasons: Partial<Record<DueReason, number>> = {};
  for (const { reason } of window.periods) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const { asked, periods } = window;
  const rows = rowsOf?.(
    periods.map(({ period }) => period),
    window.slice,
  );
  return {
    ...(window.slice.cube === undefined ? {} : { metrics: window.slice.metrics.length }),
    first_day: asked.start,
    last_day: lastDay(asked),
    periods: periods.length,
    reasons,
    requests,
    rows_expected: rows ?? null,
  };
}

type RowsOf = (periods: readonly Period[], slice: Slice) => number;

/** The rows periods held when they were last loaded, or as many days as they have usually hold; null before the first. */
function expectingRows({ slice: { metrics } }: SlicePlan, table: SliceTable | null): RowsOf | null {
  const perDay = rowsPerDay(table);
  if (perDay === null) return null;
  return (periods, slice) => {
    // The rows of a cube are values, so that fewer metrics are fewer rows.
    const share = slice.cube === undefined ? 1 : slice.metrics.length / metrics.length;
    const ages = new Set(slice.metrics.map(ageIn(slice)));
    const rowsOf = ({ bucket, asked }: Period): number => {
      const held = sumOf([...ages].map((age) => heldAt(table, age, bucket.start)?.rows ?? 0));
      return held > 0 ? held : share * perDay * daysBetween(asked.start, asked.end);
    };
    return Math.round(sumOf(periods.map(rowsOf)));
  };
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
