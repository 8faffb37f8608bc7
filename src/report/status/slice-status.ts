/** Compares the periods that slices should have with those that are stored, which are read of all slices together. */

import * as z from 'zod';

import { addDays, dayAt, lastDay, MS_PER_DAY, startOfDayAt } from '../../model/calendar.ts';
import { periodStates as ledgerStates } from '../../model/ledger.ts';
import { ageOf, coveredPeriods } from '../../model/period.ts';
import { fingerprintOf, type Slice } from '../../model/slice.ts';
import { relationsIn } from '../../warehouse/relations.ts';
import { count, dayShape, identifier, statement, timestamp } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { periodSql, readMoney } from './money.ts';
import {
  backtestAge,
  type CellSpan,
  cellStates,
  type CohortCurve,
  curvePoint,
  maturationAge,
  metricHorizon,
  type MetricStatus,
  movedPeriod,
  type PeriodStatus,
  restatedMetric,
  type ShownPeriodState,
  type SliceStatus,
} from './status-report.ts';

/** A week of nights: "what changed since last Monday". */
const RESTATED_DAYS = 7;
/** The curves of six months could not be distinguished. */
const CURVED_MONTHS = 4;
/** As many pictures as fit side by side. */
const CURVED_KEYS = 2;

const tableState = z.object({
  is_live: z.boolean(),
  building_periods: count.nullable(),
});
const rowOfSlice = z.looseObject({ slice: z.string() });

/** What the ledger has of each slice. */
type Stored = Awaited<ReturnType<typeof readStored>>;

/** Reads what the ledger has of slices; without a warehouse, nothing. */
export async function readStored(
  warehouse: Warehouse | null,
  slices: readonly Slice[],
  planAt: Date,
) {
  const configured = slices.map((slice) => {
    return { slice: slice.name, fingerprint: fingerprintOf(slice), metrics: slice.metrics };
  });
  const since = timestamp(new Date(planAt.getTime() - RESTATED_DAYS * MS_PER_DAY));
  const read = async <T>(
    of: string,
    shape: z.ZodType<T>,
    ...parameters: string[]
  ): Promise<(slice: string) => T[]> => {
    const bySlice = new Map<string, T[]>();
    const rows = (await warehouse?.rows(statement(of), parameters, rowOfSlice)) ?? [];
    for (const row of rows) {
      const stored = bySlice.get(row.slice) ?? [];
      bySlice.set(row.slice, stored);
      stored.push(shape.parse(row));
    }
    return (slice) => bySlice.get(slice) ?? [];
  };
  return {
    warehouse,
    relations: warehouse === null ? null : await relationsIn(warehouse, 'main'),
    table: await read('status/table', tableState),
    periods: await read('status/periods', storedPeriod, JSON.stringify(configured)),
    ranges: await read('status/finality', storedRange),
    restated: await read('status/restatements', restatedMetric, since),
    moved: await read('status/moved', movedPeriod, since),
    maturation: await read('status/maturation', maturationAge),
    backtest: await read('status/backtest', backtestAge),
    horizons: await read('status/horizons', metricHorizon),
  };
}

/** Returns the status of a slice. `control` is a text that says why there is none. */
export async function sliceStatus(
  stored: Stored,
  slice: Slice,
  planAt: Date,
  control: SliceStatus['control'] | string,
): Promise<SliceStatus> {
  const { name } = slice;
  const [table] = stored.table(name);
  const periods = stored.periods(name);
  const fetches = periods.map((period) => period.fetched_at).toSorted();
  const relation = table?.is_live === true ? stored.relations?.get(name) : undefined;
  const columns = relation?.columns ?? [];
  const expected = expectedPeriods(slice, periods, planAt);
  const ages = expected.map(({ status }) => status);
  // Before the next sync, the table may have another form or date dimension than the slice.
  const hasCurves = ['age_days', slice.grain].every((needed) =>
    columns.some(({ name: column }) => column === needed),
  );
  const meanings = new Map(columns.map((column) => [column.name, column.comment]));
  const metrics = metricStatuses(slice.metrics, expected, stored.ranges(name), meanings);
  return {
    name,
    newest_period: periods.findLast(({ rows }) => rows > 0)?.start_day ?? null,
    newest_fetch_at: fetches.at(-1) ?? null,
    next_refresh_at: nextRefreshAt(slice, ages, planAt),
    rows: periods.reduce((sum, { rows }) => sum + rows, 0),
    periods: periodCounts(ages),
    cells: summedCells(metrics),
    unproven_periods: periods.filter((period) => period.is_unproven).length,
    building_periods: table?.building_periods ?? null,
    restated: stored.restated(name),
    moved: stored.moved(name),
    maturation: stored.maturation(name),
    backtest: stored.backtest(name),
    horizons: stored.horizons(name),
    no_control: periods.length > 0 && typeof control === 'string' ? control : null,
    control: typeof control === 'string' ? null : control,
    curves:
      stored.warehouse === null || !hasCurves
        ? []
        : await readCurves(stored.warehouse, slice, expected),
    money:
      stored.warehouse === null
        ? []
        : await readMoney(
            stored.warehouse,
            slice,
            columns.map((column) => column.name),
          ),
    metrics,
    ages,
  };
}

async function readCurves(
  warehouse: Warehouse,
  { name, cube = [], grain }: Slice,
  expected: readonly Expected[],
): Promise<CohortCurve[]> {
  const curves: CohortCurve[] = [];
  const starts = JSON.stringify(expected.map(({ start }) => start));
  for (const cohort of new Set(cube.map((metric) => metric.cohort))) {
    if (curves.length === CURVED_KEYS) break;
    const of = [name, cohort, CURVED_MONTHS, starts];
    const points = await warehouse.rows(curveSql(name, grain ?? 'day'), of, curvePoint);
    if (points.length > 0) curves.push({ cohort, points });
  }
  return curves;
}

/**
 * A withheld value is no row, so the ledger says whether a month is final. $1 slice, $2 key, $3 number of months, $4 the start
 * of each expected period (JSON list).
 */
function curveSql(slice: string, grain: string): string {
  return `with cells as (
    select ${periodSql(grain)} as period, s.metric, s.age_days, sum(s."value")::double as value
    from main.${identifier(slice)} as s
    join ripen.slice_metrics as m on m.slice = $1 and m.metric = s.metric and m.additive
    where s.cohort = $2
    group by all
),

months as (select distinct date_trunc('month', period) as month from cells order by month desc limit $3::integer),

periods as (select unnest(cast($4 as json)::date []) as period union select period from cells),

finality as (
    select date_trunc('month', p.period) as month, m.metric, bool_and(coalesce(f.is_final, false)) as is_final
    from periods as p
    cross join (select distinct metric from cells) as m
    left join ripen.finality as f on f.slice = $1 and f.metric = m.metric and f.period = p.period
    group by all
)

select
    strftime(n.month, '%Y-%m') as month,
    c.age_days,
    sum(c.value) as value,
    bool_and(f.is_final) as is_final
from cells as c
join months as n on n.month = date_trunc('month', c.period)
join finality as f on f.month = n.month and f.metric = c.metric
group by all
order by month, age_days`;
}

export const storedPeriod = z.object({
  start_day: dayShape,
  end_day: dayShape,
  requested_start: dayShape,
  requested_end: dayShape,
  fetched_at: z.string(),
  rows: count,
  rejected: count,
  state: z.enum(ledgerStates),
  is_unproven: z.boolean(),
  next_refresh_at: z.string().nullable(),
  /** False if the slice now has another meaning or more metrics. */
  is_as_configured: z.boolean().nullable(),
});

/** A row of `status/finality`: consecutive periods in one state, by the first and last start day. */
export const storedRange = z.object({
  metric: z.string(),
  kind: z.string(),
  horizon_days: z.number().nullable(),
  horizon_from: z.string(),
  state: z.enum(cellStates),
  first_day: z.string(),
  last_day: z.string(),
});

/** `start`, the first day of the bucket, is the key in the ledger. */
export interface Expected {
  readonly start: string;
  readonly status: PeriodStatus;
}

/** Returns every period of the slice's coverage at an instant, in order. */
export function expectedPeriods(
  slice: Slice,
  stored: readonly z.infer<typeof storedPeriod>[],
  planAt: Date,
): Expected[] {
  const byStart = new Map(stored.map((period) => [period.start_day, period]));
  const loaded = stored.map((period) => ({
    requested: { start: period.requested_start, end: period.requested_end },
  }));
  return coveredPeriods(slice, loaded, planAt).map((period) => {
    const sameStart = byStart.get(period.bucket.start);
    // What is stored is another period if the date dimension has changed, or, without one, the date period.
    const found = sameStart?.end_day === period.bucket.end ? sameStart : undefined;
    return {
      start: period.bucket.start,
      status: {
        first_day: period.requested.start,
        last_day: lastDay(period.requested),
        age_days: ageOf(period, planAt, slice.utcOffset),
        state: found?.state ?? 'missing',
        fetched_at: found?.fetched_at ?? null,
        rows: found?.rows ?? null,
        rejected: found?.rejected ?? null,
        next_refresh_at:
          found?.is_as_configured === false
            ? planAt.toISOString()
            : (found?.next_refresh_at ?? null),
      },
    };
  });
}

export function periodCounts(periods: readonly PeriodStatus[]): SliceStatus['periods'] {
  const counts: Record<ShownPeriodState, number> = {
    missing: 0,
    open: 0,
    maturing: 0,
    final: 0,
    cut: 0,
    empty: 0,
  };
  for (const { state } of periods) counts[state] += 1;
  return { expected: periods.length, loaded: periods.length - counts.missing, ...counts };
}

/**
 * Returns when a fetch is next due: now if a period is missing, or not over and not just fetched. Else at the next refresh of a
 * period, or at the start of the next day if that is earlier and the date period moves.
 */
export function nextRefreshAt(
  slice: Slice,
  periods: readonly PeriodStatus[],
  planAt: Date,
): string | null {
  const now = planAt.toISOString();
  if (periods.some(({ state, fetched_at: at }) => at === null || (state === 'open' && at < now)))
    return now;
  const tomorrow = startOfDayAt(addDays(dayAt(planAt, slice.utcOffset), 1), slice.utcOffset);
  const moves = 'day' in slice.datePeriod.last ? [] : [tomorrow.toISOString()];
  const expected = periods.map((period) => period.next_refresh_at).filter((at) => at !== null);
  return [...expected, ...moves].toSorted().at(0) ?? null;
}

/** `meanings` are the comments of the columns. */
export function metricStatuses(
  metrics: readonly string[],
  periods: readonly Expected[],
  ranges: readonly z.infer<typeof storedRange>[],
  meanings: ReadonlyMap<string, string | null> = new Map(),
): MetricStatus[] {
  return metrics.map((metric) => {
    const stored = ranges.filter((range) => range.metric === metric);
    const [first] = stored;
    const spans: CellSpan[] = [];
    for (const { start, status } of periods) {
      const range = stored.find(
        ({ first_day: from, last_day: to }) => from <= start && start <= to,
      );
      const state = status.state === 'missing' ? 'missing' : (range?.state ?? 'not loaded');
      const open = spans.at(-1);
      if (open?.state === state) {
        spans.splice(-1, 1, { ...open, last_day: status.last_day, periods: open.periods + 1 });
      } else {
        spans.push({ state, first_day: status.first_day, last_day: status.last_day, periods: 1 });
      }
    }
    return {
      metric,
      kind: first?.kind ?? null,
      horizon_days: first?.horizon_days ?? null,
      horizon_from: first?.horizon_from ?? null,
      meaning: meanings.get(metric) ?? null,
      cells: summedCells([{ spans }]),
      spans,
    };
  });
}

export function summedCells(metrics: readonly Pick<MetricStatus, 'spans'>[]): SliceStatus['cells'] {
  const spans = metrics.flatMap((metric) => metric.spans);
  const cells = {
    final: 0,
    maturing: 0,
    open: 0,
    cut: 0,
    empty: 0,
    rejected: 0,
    'not loaded': 0,
    missing: 0,
  };
  for (const { state, periods } of spans) cells[state] += periods;
  return { expected: spans.reduce((sum, { periods }) => sum + periods, 0), ...cells };
}
