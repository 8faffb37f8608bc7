/** Reads the status of one slice from the ledger and its table, for each period that it should have. Reads each fact once. */

import * as z from 'zod';

import { MS_PER_DAY } from '../model/calendar.ts';
import { fingerprintOf, type Slice } from '../model/slice.ts';
import { columnsOf } from '../warehouse/relations.ts';
import { count, identifier, statement, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  type Expected,
  expectedPeriods,
  storedPeriod,
  storedRange,
  metricStatuses,
  nextRefreshAt,
  periodCounts,
  summedCells,
} from './periods.ts';
import {
  AUDITED_DAYS,
  auditedCells,
  backtestAge,
  type CohortCurve,
  curvePoint,
  maturationAge,
  metricHistory,
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
  is_live: z.boolean(),
  building_periods: count.nullable(),
});
/** Without a warehouse, the status is that of a slice that was never loaded. */
export async function sliceStatus(
  warehouse: Warehouse | null,
  slice: Slice,
  planAt: Date,
): Promise<SliceStatus> {
  const { name } = slice;
  const since = (days: number): string => timestamp(new Date(planAt.getTime() - days * MS_PER_DAY));
  const read = async <T>(
    of: string,
    shape: z.ZodType<T>,
    ...parameters: (string | number)[]
  ): Promise<T[]> =>
    warehouse === null ? [] : warehouse.rows(statement(of), [name, ...parameters], shape);
  const [table] = await read('status/table', tableState);
  const [audits] = await read('status/audits', auditedCells, since(AUDITED_DAYS));
  const periods = await read(
    'status/periods',
    storedPeriod,
    fingerprintOf(slice),
    JSON.stringify(slice.metrics),
  );
  const fetches = periods.map((period) => period.fetched_at).toSorted();
  const columns =
    warehouse === null || table?.is_live !== true ? [] : await columnsOf(warehouse, name);
  const expected = expectedPeriods(slice, periods, planAt);
  const ages = expected.map(({ status }) => status);
  const ranges = await read('status/finality', storedRange);
  // Before the next sync, the table may have another form or date dimension than the slice.
  const hasCurves = ['age_days', slice.grain].every((needed) =>
    columns.some(({ name: column }) => column === needed),
  );
  const meanings = new Map(columns.map((column) => [column.name, column.comment]));
  const metrics = metricStatuses(slice.metrics, expected, ranges, meanings);
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
    restated: await read('status/restatements', restatedMetric, since(RESTATED_DAYS)),
    maturation: await read('status/maturation', maturationAge),
    backtest: await read('status/backtest', backtestAge),
    histories: await read('status/metric_histories', metricHistory, since(AUDITED_DAYS)),
    audited: audits === undefined || audits.cells === 0 ? null : audits,
    curves: warehouse === null || !hasCurves ? [] : await readCurves(warehouse, slice, expected),
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
  const period = grain === 'hour' ? `cast(s."hour" as date)` : `s.${identifier(grain)}`;
  return `with cells as (
    select ${period} as period, s.metric, s.age_days, sum(s."value")::double as value
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
