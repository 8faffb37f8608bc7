/** Compares the periods that slices should have with those that are stored. */

import * as z from 'zod';

import { addDays, dayAt, lastDay, MS_PER_DAY, startOfDayAt } from '../../model/calendar.ts';
import { periodStates as ledgerStates } from '../../model/ledger.ts';
import { sumOf } from '../../model/measure.ts';
import { ageOf, coveredPeriods } from '../../model/period.ts';
import { fingerprintOf, type Slice } from '../../model/slice.ts';
import type { KeptPeriods } from '../../warehouse/tables/lost-apps.ts';
import { count, dayShape, identifier, jsonOf, statement, timestamp } from '../../warehouse/sql.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { readMoney } from './money.ts';
import {
  backtestAge,
  cellStates,
  curvePoint,
  maturationAge,
  metricHorizon,
  type MetricStatus,
  movedPeriod,
  type PeriodStatus,
  restatedMetric,
  type SliceStatus,
} from './status-report.ts';

/** A week of nights: "what changed since last Monday". */
const RESTATED_DAYS = 7;
/** The curves of six months could not be distinguished. */
const CURVED_MONTHS = 4;
/** As many pictures as fit side by side. */
const CURVED_KEYS = 2;

const tableState = z.object({
  /** Their comments by name. */
  columns: jsonOf(z.array(z.object({ name: z.string(), comment: z.string().nullable() })))
    .transform((columns) => new Map(columns.map(({ name, comment }) => [name, comment])))
    .nullable(),
  building_periods: count.nullable(),
});

/** `agreement` returns a text for a slice without control totals. */
export async function readSlices(
  warehouse: Warehouse | null,
  slices: readonly Slice[],
  planAt: Date,
  kept: KeptPeriods,
  agreement: Promise<(slice: Slice) => SliceStatus['control'] | string>,
): Promise<SliceStatus[]> {
  const read = async <T>(name: string, shape: z.ZodType<T>, ...parameters: string[]) => {
    // As one text a slice: row by row takes five times as long (measured).
    const sql = `select slice, to_json(list(s order by place))::varchar as listed
from (select row_number() over () as place, * from (\n${statement(name)}\n)) as s
group by slice`;
    const row = z.object({ slice: z.string(), listed: jsonOf(z.array(shape)) });
    const rows = (await warehouse?.rows(sql, parameters, row)) ?? [];
    const bySlice = new Map(rows.map(({ slice, listed }) => [slice, listed]));
    return (slice: string) => bySlice.get(slice) ?? [];
  };
  const configured = slices.map((slice) => {
    return { slice: slice.name, fingerprint: fingerprintOf(slice), metrics: slice.metrics };
  });
  const since = timestamp(new Date(planAt.getTime() - RESTATED_DAYS * MS_PER_DAY));
  const tables = await read('status/table', tableState);
  const stored = await read('status/periods', storedPeriod, JSON.stringify(configured));
  const ranges = await read('status/finality', storedRange);
  const restated = await read('status/restatements', restatedMetric, since);
  const moved = await read('status/moved', movedPeriod, since);
  const maturation = await read('status/maturation', maturationAge);
  const backtest = await read('status/backtest', backtestAge);
  const horizons = await read('status/horizons', metricHorizon);
  const columnsOf = (slice: string) =>
    tables(slice)[0]?.columns ?? new Map<string, string | null>();
  const money = warehouse && (await readMoney(warehouse, slices, columnsOf, stored));
  const controlOf = await agreement;
  const statuses: SliceStatus[] = [];
  for (const slice of slices) {
    const { name, grain } = slice;
    const periods = stored(name);
    const expected = expectedPeriods(slice, periods, planAt, kept.get(name));
    const ages = expected.map(({ status }) => status);
    const meanings = columnsOf(name);
    const metrics = metricStatuses(slice.metrics, expected, ranges(name), meanings);
    // Before the next sync, the table may have another form or date dimension than the slice.
    const hasCurves = meanings.has('age_days') && grain !== null && meanings.has(grain);
    const control = controlOf(slice);
    statuses.push({
      name,
      newest_period: periods.findLast(({ rows }) => rows > 0)?.start_day ?? null,
      newest_fetch_at:
        periods
          .map(({ fetched_at: at }) => at)
          .toSorted()
          .at(-1) ?? null,
      next_refresh_at: nextRefreshAt(slice, ages, planAt),
      rows: sumOf(periods.map(({ rows }) => rows)),
      periods: periodCounts(ages),
      cells: summedCells(metrics),
      unproven_periods: periods.filter((period) => period.is_unproven).length,
      building_periods: tables(name)[0]?.building_periods ?? null,
      restated: restated(name),
      moved: moved(name),
      maturation: maturation(name),
      backtest: backtest(name),
      horizons: horizons(name),
      no_control: periods.length > 0 && typeof control === 'string' ? control : null,
      control: typeof control === 'string' ? null : control,
      curves: warehouse !== null && hasCurves ? await readCurves(warehouse, slice, expected) : [],
      money: money?.get(name) ?? [],
      metrics,
      ages,
    });
  }
  return statuses;
}

async function readCurves(
  warehouse: Warehouse,
  { name, cube = [], grain }: Slice,
  expected: readonly Expected[],
) {
  // A withheld value is no row, so the ledger says whether a month is final. $4: the start of each expected period.
  const sql = `with cells as (
    select cast(s.${identifier(grain ?? 'day')} as date) as period, s.metric, s.age_days, sum(s."value")::double as value
    from main.${identifier(name)} as s
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
  const curves: SliceStatus['curves'][number][] = [];
  const starts = JSON.stringify(expected.map(({ start }) => start));
  for (const cohort of new Set(cube.map((metric) => metric.cohort))) {
    if (curves.length === CURVED_KEYS) break;
    const points = await warehouse.rows(sql, [name, cohort, CURVED_MONTHS, starts], curvePoint);
    if (points.length > 0) curves.push({ cohort, points });
  }
  return curves;
}

const storedPeriod = z.object({
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
interface Expected {
  readonly start: string;
  readonly status: PeriodStatus;
}

function expectedPeriods(
  slice: Slice,
  stored: readonly z.infer<typeof storedPeriod>[],
  planAt: Date,
  kept: ReadonlySet<string> | undefined,
) {
  const byStart = new Map(stored.map((period) => [period.start_day, period]));
  const loaded = stored.map((period) => ({
    requested: { start: period.requested_start, end: period.requested_end },
  }));
  return coveredPeriods(slice, loaded, planAt).map((period) => {
    const { start, end } = period.bucket;
    const sameStart = byStart.get(start);
    // What is stored is another period if the date dimension has changed, or, without one, the date period.
    const record = sameStart?.end_day === end ? sameStart : undefined;
    const { fetched_at = null, rows = null, rejected = null } = record ?? {};
    const isChanged = record?.is_as_configured === false;
    const { next_refresh_at: stored = null } = record ?? {};
    const now = planAt.toISOString();
    const next = isChanged && (stored === null || stored > now) ? now : stored;
    const status: PeriodStatus = {
      first_day: period.requested.start,
      last_day: lastDay(period.requested),
      age_days: ageOf(period, planAt, slice.utcOffset),
      state: record?.state ?? 'missing',
      fetched_at,
      rows,
      rejected,
      next_refresh_at: kept?.has(start) === true ? null : next,
    };
    return { start, status };
  });
}

export function periodCounts(periods: readonly PeriodStatus[]): SliceStatus['periods'] {
  const counts = { missing: 0, open: 0, maturing: 0, final: 0, cut: 0, empty: 0 };
  for (const { state } of periods) counts[state] += 1;
  return { expected: periods.length, loaded: periods.length - counts.missing, ...counts };
}

/**
 * Returns now if a period is missing, or not over and not just fetched; else when the next period is due, or the next day begins
 * if the date period moves.
 */
function nextRefreshAt(slice: Slice, periods: readonly PeriodStatus[], planAt: Date) {
  const now = planAt.toISOString();
  if (periods.some(({ state, fetched_at: at }) => at === null || (state === 'open' && at < now)))
    return now;
  const tomorrow = startOfDayAt(addDays(dayAt(planAt, slice.utcOffset), 1), slice.utcOffset);
  const instants = periods.flatMap((period) => period.next_refresh_at ?? []);
  if (!('day' in slice.datePeriod.last)) instants.push(tomorrow.toISOString());
  return instants.toSorted().at(0) ?? null;
}

export function metricStatuses(
  metrics: readonly string[],
  periods: readonly Expected[],
  ranges: readonly z.infer<typeof storedRange>[],
  meanings: ReadonlyMap<string, string | null> = new Map(),
): MetricStatus[] {
  return metrics.map((metric) => {
    const stored = ranges.filter((range) => range.metric === metric);
    const { kind = null, horizon_days = null, horizon_from = null } = stored[0] ?? {};
    const spans: MetricStatus['spans'][number][] = [];
    for (const { start, status } of periods) {
      const { first_day, last_day } = status;
      const range = stored.find((one) => one.first_day <= start && start <= one.last_day);
      const state = status.state === 'missing' ? 'missing' : (range?.state ?? 'not loaded');
      const open = spans.at(-1);
      if (open?.state === state)
        spans.splice(-1, 1, { ...open, last_day, periods: open.periods + 1 });
      else spans.push({ state, first_day, last_day, periods: 1 });
    }
    return {
      metric,
      kind,
      horizon_days,
      horizon_from,
      meaning: meanings.get(metric) ?? null,
      cells: summedCells([{ spans }]),
      spans,
    };
  });
}

export function summedCells(metrics: readonly Pick<MetricStatus, 'spans'>[]): SliceStatus['cells'] {
  const cells = {
    expected: 0,
    final: 0,
    maturing: 0,
    open: 0,
    cut: 0,
    empty: 0,
    rejected: 0,
    'not loaded': 0,
    missing: 0,
  };
  for (const { state, periods } of metrics.flatMap(({ spans }) => spans)) {
    cells[state] += periods;
    cells.expected += periods;
  }
  return cells;
}
