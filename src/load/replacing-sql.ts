/**
 * Statements that replace a window in a slice's table. Pure: names, types and days in, SQL out.
 *
 * The deletion compares the bare date column with literals, so that it touches only the blocks that hold those days; an
 * expression over the column would read the whole table.
 */

import type { Day, DayInterval } from '../model/calendar.ts';
import type { ColumnType } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import { identifier, literal } from '../warehouse/quoting.ts';
import type { Columns, MetricColumn } from './slice-columns.ts';

/** The rows of some days; every row for a report without a date dimension. */
function insideDays(grain: DateDimension | null, days: DayInterval): string {
  if (grain === null) return 'true';
  const type = grain === 'hour' ? 'TIMESTAMP' : 'DATE';
  const column = identifier(grain);
  return `${column} >= ${type} ${literal(days.start)} and ${column} < ${type} ${literal(days.end)}`;
}

/** The rows from a day on; every row for a report without a date dimension. */
export function sinceDay(grain: DateDimension | null, day: Day): string {
  if (grain === null) return 'true';
  return `${identifier(grain)} >= ${grain === 'hour' ? 'TIMESTAMP' : 'DATE'} ${literal(day)}`;
}

/** The first day of the period a row belongs to. */
export function periodOf(grain: DateDimension | null, days: DayInterval): string {
  if (grain === null) return `DATE ${literal(days.start)}`;
  return grain === 'hour' ? `cast(${identifier(grain)} as DATE)` : identifier(grain);
}

export function deleteDays(table: string, grain: DateDimension | null, days: DayInterval): string {
  return `delete from ${table} where ${insideDays(grain, days)}`;
}

/** The rows of `typed` a window gets, and how. */
export interface Inserted {
  readonly windowNo: number;
  readonly loadId: string;
  /** Keeps one of identical rows. */
  readonly collapse: boolean;
  /** Whether the rows came in the order of their dates, as most answers do; sorting them again is most of an insertion. */
  readonly isOrdered: boolean;
}

/** Copies a window's typed rows into the slice's table, laid out by date. */
export function insertRows(table: string, columns: Columns, grain: DateDimension | null, from: Inserted): string {
  const names = [...columns.dimensions, ...columns.metrics.map(({ id }) => id), 'attr_dependency', '_extra'];
  const selected = names.map(identifier).join(', ');
  // Over the key, as keys that came unasked may differ in rows that are identical otherwise.
  const one = `distinct on (${[...columns.dimensions, 'attr_dependency'].map(identifier).join(', ')}) `;
  const isLaidOut = from.isOrdered && !from.collapse;
  return `insert into ${table} (${selected}, "_load_id")
select ${from.collapse ? one : ''}${selected}, ${from.loadId}
from typed
where window_no = ${from.windowNo}${grain === null || isLaidOut ? '' : `\norder by ${identifier(grain)}`}`;
}

/** The windows of `typed` whose rows did not come in the order of their dates. */
export function windowsOutOfOrder(grain: DateDimension): string {
  return `select distinct window_no
from (
    select window_no, ${identifier(grain)} as date_here, lag(window_no) over () as last_no,
        lag(${identifier(grain)}) over () as date_before
    from typed
)
where window_no = last_no and date_here < date_before`;
}

/** The metrics whose values add up over rows, in configured order. */
export const additiveOf = (columns: Columns): MetricColumn[] => columns.metrics.filter(({ additive }) => additive);

/** Per period of a window: its rows and the totals of its additive metrics, as table `name`. */
export function totalPeriods(
  name: 'before_totals' | 'after_totals',
  table: string,
  columns: Columns,
  grain: DateDimension | null,
  days: DayInterval,
): string {
  const sums = additiveOf(columns).map(({ id }) => `,\n    sum(${identifier(id)}) as ${identifier(id)}`);
  return `create or replace temp table ${name} as
select
    ${periodOf(grain, days)} as period,
    count(*) as "row count"${sums.join('')}
from ${table}
where ${insideDays(grain, days)}
group by 1`;
}

/**
 * Totals that differ, for periods and metrics that were loaded before; one of more than 26 digits before the point is
 * recorded as NULL. Parameters: $1 slice, $2 fingerprint, $3 seen_at, $4 load_id.
 */
export function recordRestatements(columns: Columns): string | null {
  const parts = additiveOf(columns).map(
    ({ id, type }) => `select
    period,
    ${literal(id)} as metric,
    try_cast(b.${identifier(id)} as DECIMAL(38, 12)) as before,
    try_cast(a.${identifier(id)} as DECIMAL(38, 12)) as after
from before_totals as b
full join after_totals as a using (period)
where ${differs(type, `b.${identifier(id)}`, `a.${identifier(id)}`)}`,
  );
  if (parts.length === 0) return null;
  return `insert into ripen.restatements
select $1, m.period, m.metric, m.before, m.after, $3::timestamp, $4::bigint
from (
${parts.join('\nunion all\n')}
) as m
join ripen.periods as p on p.slice = $1 and p.fingerprint = $2 and p.start_day = m.period
join ripen.loads as l on l.load_id = p.load_id and list_contains(l.metrics, m.metric)`;
}

/** Sums of doubles depend on the order of addition, which no value has to do with. */
function differs(type: ColumnType, before: string, after: string): string {
  const isOther = `${before} is distinct from ${after}`;
  if (type.kind !== 'DOUBLE') return isOther;
  return `${isOther} and not coalesce(abs(${before} - ${after}) <= 1e-9 * greatest(abs(${before}), abs(${after})), false)`;
}

/**
 * Per window of `typed` the exact sums and the sums of magnitudes of its additive metrics, as lists in configured order: of
 * every row of every window, or of the distinct rows of one.
 */
export function sumMetrics(columns: Columns, of: 'every row' | number): string {
  const metrics = additiveOf(columns).map(({ id }) => identifier(id));
  const key = [...columns.dimensions.map(identifier), 'attr_dependency'];
  const from =
    of === 'every row'
      ? 'typed'
      : `(select distinct window_no, ${[...key, ...metrics].join(', ')} from typed where window_no = ${of})`;
  return `select
    window_no,
    [${metrics.map((name) => `sum(${name})::varchar`).join(', ')}] as sums,
    [${metrics.map((name) => `sum(abs(${name}::double))`).join(', ')}] as magnitudes
from ${from}
group by window_no`;
}

/** Windows that hold a row outside their days, with one such date. `windows` holds window_no, start_day, end_day. */
export function rowsOutside(grain: DateDimension): string {
  const column = `t.${identifier(grain)}`;
  return `select t.window_no, count(*) as rows, min(${column})::varchar as example
from typed as t
join windows as w using (window_no)
where ${column} < w.start_day or ${column} >= w.end_day
group by t.window_no`;
}
