/** What the next sync would ask for, why, and what that saves: reads the ledger, asks the service nothing. */

import type { Config } from '../config/config.ts';
import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { addingAmong, wholeRequests } from '../extract/whole.ts';
import { readCatalog } from '../catalog/stored-catalog.ts';
import type { Catalog } from '../model/catalog.ts';
import { daysBetween, lastDay } from '../model/calendar.ts';
import { ageIn, metricsByAge } from '../model/cube.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import { carries, emptyLedger, heldAt, type SliceTable } from '../model/ledger.ts';
import { isMetricItem, metricsOf, type Metric } from '../model/metric.ts';
import { readAdditivity } from '../load/slice-metrics.ts';
import { refuseUnloadable } from '../load/slice-table.ts';
import { stateOf } from '../model/maturity.ts';
import { reversedAt, type Period } from '../model/period.ts';
import type { Slice } from '../model/slice.ts';
import { starRefusal, starsOf, withStars } from '../model/stars.ts';
import { type DueReason, requestsOf, type Window } from '../model/window.ts';
import { withAudits, type AuditedPlan } from '../plan/audit.ts';
import { planSlice, rowsPerDay, type SlicePlan } from '../plan/plan.ts';
import { chosenSlices } from './circumstances.ts';
import { futureFetch } from '../warehouse/future-fetch.ts';
import { drawnTonight } from './audits.ts';
import { countReleased, readSliceLedger } from '../warehouse/ledger.ts';
import { openWarehouse, warehouseExists } from '../warehouse/opening.ts';
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

/** A pattern among a slice's metrics, and what it stands for. */
export interface PlannedStar {
  readonly pattern: string;
  readonly metrics: readonly string[];
  /** Those that no period was loaded with yet. */
  readonly new_metrics: readonly string[];
}

export interface PlannedSlice {
  readonly name: string;
  /** What its patterns stand for in the stored catalog; absent without patterns, and before a catalog is stored. */
  readonly stars?: readonly PlannedStar[];
  readonly windows: readonly PlannedWindow[];
  /** Periods that copies alone hold and that go with the meaning that changed; absent for none. */
  readonly released_periods?: number;
  readonly requests: number;
  /** Of all windows; null before the first load. */
  readonly rows_expected: number | null;
  /** Rows that refetching every unfinal period would bring; null before the first load. */
  readonly refetch_all_rows: number | null;
  /** First and last day of a date period that ends before it begins, as of the plan; null for any other. */
  readonly reversed_period: { readonly first_day: string; readonly last_day: string } | null;
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

export interface ExplainRequest {
  readonly planAt: Date;
  readonly slices: readonly string[] | null;
  readonly lockWaitMs: number;
  readonly emit: Emit;
  readonly signal: AbortSignal;
}

/**
 * The plan of the next sync at an instant; everything is `new` when there is no warehouse yet. Throws what a sync would
 * refuse a slice with.
 */
export async function explainPlan(config: Config, request: ExplainRequest): Promise<PlanReport> {
  const slices = chosenSlices(config, request.slices);
  const plans = await planFrom(config, slices, request);
  const planned = plans.map((plan) => describePlan(plan));
  const rowsExpected = sumOf(planned.map((slice) => slice.rows_expected ?? 0));
  const refetchAllRows = sumOf(planned.map((slice) => slice.refetch_all_rows ?? 0));
  return {
    as_of: request.planAt.toISOString(),
    slices: planned,
    requests: sumOf(planned.map((slice) => slice.requests)),
    rows_expected: rowsExpected,
    refetch_all_rows: refetchAllRows,
    saved_rows: Math.max(0, refetchAllRows - rowsExpected),
  };
}

type ExplainedPlan = SlicePlan & {
  /** Periods of the meaning before that copies alone hold. */
  readonly released: number;
  readonly stars: readonly PlannedStar[];
  readonly unfinal: readonly Period[];
  readonly metrics: readonly Metric[];
  /** The table that is served, of this meaning or of the one before. */
  readonly live: SliceTable | null;
};

async function planFrom(config: Config, slices: readonly Slice[], request: ExplainRequest): Promise<ExplainedPlan[]> {
  const warehouse = await openIfPresent(config, request);
  try {
    const future =
      warehouse === null ? null : await futureFetch(warehouse, { slices: config.slices, planAt: request.planAt });
    if (future !== null) throw future;
    const catalog = warehouse === null ? [] : await readAhead(warehouse, slices);
    const listed = catalog.filter(isMetricItem).map(({ id }) => id);
    const planned: (AuditedPlan & Pick<ExplainedPlan, 'live' | 'stars' | 'released'>)[] = [];
    for (const stated of slices) {
      // Before the first catalog nobody knows what a star stands for.
      const refusal = listed.length === 0 ? null : starRefusal(stated, listed);
      if (refusal !== null) throw new Failure('CONFIG_INVALID', `slice ${stated.name}: ${refusal.message}.`, refusal);
      const slice = withStars(stated, listed);
      const ledger = warehouse === null ? emptyLedger : await readSliceLedger(warehouse, slice.name);
      if (warehouse !== null) await refuseUnloadable(warehouse, slice, ledger);
      const seen = warehouse === null ? new Map<string, boolean>() : await readAdditivity(warehouse, slice.name);
      const metrics = metricsOf(slice, catalog, seen);
      const plan = planSlice({ slice, metrics, ledger, planAt: request.planAt, forced: null });
      const stars = listed.length === 0 ? [] : plannedStars(stated, listed, ledger.live);
      const isOther = ledger.live !== null && !carries(ledger.live.fingerprint, fingerprintOf(slice));
      const released = warehouse === null || !isOther ? 0 : await countReleased(warehouse, slice.name);
      planned.push({ plan, metrics, live: ledger.live, stars, released });
    }
    const drawn = warehouse === null ? [] : await drawnTonight({ config, warehouse, planAt: request.planAt }, planned);
    const plans = planned.map(({ plan }) => plan);
    return withAudits(plans, drawn).flatMap((plan, at) => {
      const { plan: _, ...rest } = planned[at] ?? { plan, metrics: [], live: null, stars: [], released: 0 };
      const { metrics } = rest;
      return [{ ...plan, ...rest, unfinal: unfinalPeriods(plan, metrics) }];
    });
  } finally {
    await warehouse?.close();
  }
}

/**
 * The catalog, and with it the ledgers, which are remembered: while one answer is made sense of, the engine finds the next. A
 * ledger that cannot be read is met again where it is asked for; nothing is left under way.
 */
async function readAhead(warehouse: Warehouse, slices: readonly Slice[]): Promise<Catalog> {
  const catalog = readCatalog(warehouse, slices);
  await Promise.allSettled([catalog, ...slices.map(async ({ name }) => readSliceLedger(warehouse, name))]);
  return catalog;
}

function plannedStars(slice: Slice, listed: readonly string[], live: SliceTable | null): PlannedStar[] {
  const loaded = new Set([...(live?.periods.values() ?? [])].flatMap(({ metrics }) => metrics));
  return starsOf(slice, listed).map(({ pattern, metrics }) => ({
    pattern,
    metrics,
    new_metrics: metrics.filter((metric) => !loaded.has(metric)),
  }));
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

async function openIfPresent(config: Config, request: ExplainRequest): Promise<Warehouse | null> {
  if (!warehouseExists(config.warehouse)) return null;
  const { lockWaitMs, emit, signal } = request;
  return openWarehouse(config.warehouse, { mode: 'read', lockWaitMs, emit, signal });
}

function describePlan(plan: ExplainedPlan): PlannedSlice {
  const rowsOf = expectingRows(plan, plan.table) ?? expectingRows(plan, plan.live);
  const adding = addingAmong(
    plan.metrics.map(({ additive, additivity }) => ({ additive, isAssumed: additivity === 'assumed' })),
  );
  const requestCount = (window: Window): number => requestsOf(window).length + wholeRequests(window, adding);
  const windows = plan.windows.map((window) => describeWindow(window, requestCount(window), rowsOf));
  const due = new Set(plan.windows.flatMap(({ periods }) => periods.map(({ period }) => period.bucket.start)));
  const { datePeriod, utcOffset } = plan.slice;
  const reversed = reversedAt(datePeriod, plan.planAt, utcOffset, plan.weekStartsOn);
  return {
    name: plan.slice.name,
    ...(plan.stars.length === 0 ? {} : { stars: plan.stars }),
    windows,
    ...(plan.released === 0 ? {} : { released_periods: plan.released }),
    requests: sumOf(windows.map((window) => window.requests)),
    rows_expected: rowsOf === null ? null : sumOf(windows.map((window) => window.rows_expected ?? 0)),
    refetch_all_rows: rowsOf === null ? null : rowsOf(plan.unfinal, plan.slice),
    reversed_period: reversed === null ? null : { first_day: reversed.first, last_day: reversed.last },
    periods: plan.periods.length,
    unfinal_periods: plan.unfinal.length,
    saved_periods: plan.unfinal.filter(({ bucket }) => !due.has(bucket.start)).length,
  };
}

function describeWindow(window: Window, requests: number, rowsOf: RowsOf | null): PlannedWindow {
  const reasons: Partial<Record<DueReason, number>> = {};
  for (const { reason } of window.periods) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const { asked, periods } = window;
  return {
    ...(window.slice.cube === undefined ? {} : { metrics: window.slice.metrics.length }),
    first_day: asked.start,
    last_day: lastDay(asked),
    periods: periods.length,
    reasons,
    requests,
    rows_expected:
      rowsOf?.(
        periods.map(({ period }) => period),
        window.slice,
      ) ?? null,
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

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}
