/** One slice: what the ledger and its table hold of it, laid over the periods it is to have. Asks for each fact once. */

import * as z from 'zod';

import { MS_PER_DAY, parseWeekStart } from '../model/calendar.ts';
import { DOUBLE, parseColumnType } from '../model/column-type.ts';
import { faultyShareBelow } from '../model/confidence.ts';
import { fingerprintOf } from '../model/fingerprint.ts';
import type { Slice } from '../model/slice.ts';
import { countReleased } from '../warehouse/ledger.ts';
import { columnsOf, type RelationColumn } from '../warehouse/relations.ts';
import { count, identifier, statement, timestamp } from '../warehouse/sql.ts';
import { doubleSum } from '../warehouse/sums.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  expectedPeriods,
  heldPeriod,
  heldStretch,
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
  moneyPeriod,
  type MoneyMetric,
  mover,
  restatedMetric,
  type RestatedNight,
  type SliceStatus,
  type Unmatched,
} from './status-report.ts';

/** A week of nights: "what moved since last Monday". */
const RESTATED_DAYS = 7;
/** A month of nights shows whether a week is unusual. */
const NIGHTS_DAYS = 30;
/** Enough for a look; `ripen.restatements` has them all. */
const MOVERS = 10;
/** A month shows what is wrong now, and takes no longer with every year. */
const UNMATCHED_DAYS = 30;
/** Enough to know where to look; `ripen.unmatched_rows` has them all. */
const UNMATCHED_NAMES = 5;
/** What a row is called after where its link is missing, the best first. */
const nameColumns = ['network', 'partner_name', 'partner_id', 'app_token'] as const;
/** Metrics that say what was spent and earned, the one that says most first. */
const moneyKinds = [
  { kind: 'spend', forms: [/^cost$/, /^network_cost$/, /^adjust_cost$/] },
  { kind: 'revenue', forms: [/^all_revenue$/, /^revenue$/, /^all_revenue_total_d\d+$/, /^revenue_total_d\d+$/] },
] as const;

const tableState = z.object({
  week_starts_on: z.number().nullable().transform(parseWeekStart),
  is_live: z.boolean(),
  building_periods: count.nullable(),
});
const restatedMetricOfNight = z.object({
  seen_day: z.string(),
  metric: z.string(),
  periods: count,
  change: z.number(),
});
const nameRow = z.object({ name: z.string().nullable(), rows: count, unmatched_rows: count });

/** The status of a slice at an instant; without a warehouse that of one that was never loaded. */
export async function sliceStatus(warehouse: Warehouse | null, slice: Slice, planAt: Date): Promise<SliceStatus> {
  const { name } = slice;
  const since = (days: number): string => timestamp(new Date(planAt.getTime() - days * MS_PER_DAY));
  const read = async <T>(of: string, shape: z.ZodType<T>, ...parameters: (string | number)[]): Promise<T[]> =>
    warehouse === null ? [] : warehouse.rows(statement(of), [name, ...parameters], shape);
  const [table] = await read('status/table', tableState);
  const [audits] = await read('status/audits', auditedCells, since(AUDITED_DAYS));
  const periods = await read('status/periods', heldPeriod, fingerprintOf(slice), JSON.stringify(slice.metrics));
  const columns = warehouse === null || table?.is_live !== true ? [] : await columnsOf(warehouse, name);
  const expected = expectedPeriods(slice, periods, table?.week_starts_on ?? null, planAt);
  const ages = expected.map(({ status }) => status);
  const stretches = await read('status/finality', heldStretch);
  const meanings = new Map(columns.map((column) => [column.name, column.comment]));
  const metrics = metricStatuses(slice.metrics, expected, stretches, meanings);
  const fetches = periods.map((period) => period.fetched_at.getTime());
  return {
    name,
    newest_period: periods.findLast(({ rows }) => rows > 0)?.start_day ?? null,
    newest_fetch_at: fetches.length === 0 ? null : new Date(Math.max(...fetches)).toISOString(),
    next_refresh_at: nextRefreshAt(slice, ages, planAt),
    rows: periods.reduce((sum, { rows }) => sum + rows, 0),
    periods: periodCounts(ages),
    cells: summedCells(metrics),
    unproven_periods: periods.filter((period) => period.is_unproven).length,
    building_periods: table?.building_periods ?? null,
    released_periods: warehouse === null ? 0 : await countReleased(warehouse, name),
    restated: await read('status/restatements', restatedMetric, since(RESTATED_DAYS)),
    movers: await read('status/movers', mover, since(RESTATED_DAYS), MOVERS),
    restated_nights: nightsOf(await read('status/restated_nights', restatedMetricOfNight, since(NIGHTS_DAYS))),
    maturation: await read('status/maturation', maturationAge),
    backtest: await read('status/backtest', backtestAge),
    histories: await read('status/metric_histories', metricHistory, since(AUDITED_DAYS)),
    audited: audits === undefined || audits.cells === 0 ? null : auditedOf(audits),
    money: warehouse === null ? [] : await readMoney(warehouse, slice, columns, planAt),
    curves: warehouse === null || columns.length === 0 ? [] : await readCurves(warehouse, slice),
    unmatched: warehouse === null || columns.length === 0 ? null : await readUnmatched(warehouse, slice),
    metrics,
    ages,
  };
}

function nightsOf(rows: readonly z.infer<typeof restatedMetricOfNight>[]): RestatedNight[] {
  return [...new Set(rows.map(({ seen_day: day }) => day))].map((day) => ({
    seen_day: day,
    metrics: rows.flatMap(({ seen_day: of, ...rest }) => (of === day ? [rest] : [])),
  }));
}

/**
 * A drawn period is one draw, however many cells it has, as these stand or fall together: with one of its metrics in two changed
 * it counts as half a wrong one, and the sum is rounded up.
 */
function auditedOf(audits: z.infer<typeof auditedCells>): SliceStatus['audited'] {
  const { drawn_periods: drawn, drawn_changed: changed } = audits;
  return { ...audits, wrong_share_below: drawn === 0 ? null : faultyShareBelow(Math.ceil(changed), drawn) };
}

/**
 * The totals of a slice's spend and of its revenue, each by one metric; nothing fetched later than now is final. Empty where it
 * has none or no date.
 */
async function readMoney(
  warehouse: Warehouse,
  slice: Slice,
  columns: readonly RelationColumn[],
  planAt: Date,
): Promise<MoneyMetric[]> {
  const { name, grain } = slice;
  const types = new Map(columns.map((column) => [column.name, column.type]));
  if (grain === null || !types.has(grain)) return [];
  // A simulator's clock may stand later than the machine's.
  const now = timestamp(new Date(Math.max(Date.now(), planAt.getTime())));
  const money: MoneyMetric[] = [];
  for (const { kind, forms } of moneyKinds) {
    const metric = forms.map((form) => slice.metrics.find((id) => form.test(id) && types.has(id))).find(Boolean);
    if (metric === undefined) continue;
    const sum = doubleSum(`s.${identifier(metric)}`, parseColumnType(types.get(metric) ?? '') ?? DOUBLE);
    const sql = moneySql(name, grain, sum);
    const periods = await warehouse.rows(sql, [name, metric, now], moneyPeriod);
    money.push({ kind, metric, currency: slice.parameters['currency'] ?? null, periods });
  }
  return money;
}

function moneySql(slice: string, grain: string, sum: string): string {
  const period = grain === 'hour' ? `cast(s."hour" as date)` : `s.${identifier(grain)}`;
  return `with totals as (
    select ${period} as start_day, ${sum} as value
    from main.${identifier(slice)} as s
    group by 1
)

select
    t.start_day::varchar as first_day,
    t.value,
    coalesce(f.is_final and f.fetched_at <= $3::timestamp, false) as is_final,
    t.value * p.factor as projected
from totals as t
left join ripen.finality as f on f.slice = $1 and f.metric = $2 and f.period = t.start_day
left join ripen.periods as h on h.slice = $1 and h.start_day = t.start_day
left join ripen_internal.projections as p on p.slice = $1 and p.metric = $2 and p.period = t.start_day and p.load_id = h.load_id
order by t.start_day`;
}

/** Half a year of months cannot be told apart. */
const CURVED_MONTHS = 4;
/** As many pictures as stand beside each other. */
const CURVED_KEYS = 2;

async function readCurves(warehouse: Warehouse, { name, cube = [], grain }: Slice): Promise<CohortCurve[]> {
  const curves: CohortCurve[] = [];
  for (const cohort of grain === null ? [] : new Set(cube.map((metric) => metric.cohort))) {
    if (curves.length === CURVED_KEYS) break;
    const points = await warehouse.rows(curveSql(name, grain ?? 'day'), [name, cohort, CURVED_MONTHS], curvePoint);
    if (points.length > 0) curves.push({ cohort, points });
  }
  return curves;
}

/** $1 slice, $2 key, $3 how many months. */
function curveSql(slice: string, grain: string): string {
  const period = grain === 'hour' ? `cast(s."hour" as date)` : `s.${identifier(grain)}`;
  return `with cells as (
    select ${period} as period, s.metric, s.age_days, sum(s."value")::double as value
    from main.${identifier(slice)} as s
    join ripen.slice_metrics as m on m.slice = $1 and m.metric = s.metric and m.additive
    where s.cohort = $2
    group by all
),

months as (select distinct date_trunc('month', period) as month from cells order by month desc limit $3::integer)

select
    strftime(n.month, '%Y-%m') as month,
    c.age_days,
    sum(c.value) as value,
    bool_and(coalesce(f.is_final, false)) as is_final
from cells as c
join months as n on n.month = date_trunc('month', c.period)
left join ripen.finality as f on f.slice = $1 and f.metric = c.metric and f.period = c.period
group by all
order by month, age_days`;
}

/** Of the 30 days up to the newest row; null for a slice without dates or without such a view. */
async function readUnmatched(warehouse: Warehouse, { name: slice, grain }: Slice): Promise<Unmatched | null> {
  if (grain === null) return null;
  const columns = new Set((await columnsOf(warehouse, `${slice}_links`)).map((column) => column.name));
  const named = nameColumns.find((name) => columns.has(name));
  if (!columns.has('is_matched') || !columns.has(grain) || named === undefined) return null;
  const rows = await warehouse.rows(
    `select v.${identifier(named)} as name, count(*) as rows, count(*) filter (where not v.is_matched) as unmatched_rows
from main.${identifier(`${slice}_links`)} as v
where v.${identifier(grain)} > (select max(s.${identifier(grain)}) from main.${identifier(slice)} as s) - interval ${UNMATCHED_DAYS} days
group by 1
order by unmatched_rows desc, name`,
    [],
    nameRow,
  );
  const total = (of: 'rows' | 'unmatched_rows'): number => rows.reduce((sum, row) => sum + row[of], 0);
  return {
    days: UNMATCHED_DAYS,
    rows: total('rows'),
    unmatched_rows: total('unmatched_rows'),
    names: rows
      .filter((row) => row.unmatched_rows > 0)
      .slice(0, UNMATCHED_NAMES)
      .map((row) => ({ name: row.name, unmatched_rows: row.unmatched_rows })),
  };
}
