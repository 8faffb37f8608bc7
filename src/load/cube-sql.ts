/**
 * Statements on the table of a cube, which has a row for each value: what it holds, and how staged rows become rows of it. Pure: names,
 * types and days in, SQL out.
 */

import type { Day, DayInterval } from '../model/calendar.ts';
import type { DateDimension } from '../model/dimension.ts';
import type { CubeMetric } from '../model/slice.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import { exactSum } from '../warehouse/sums.ts';
import { castExactly, REJECTED, staging, WINDOW } from './staged-sql.ts';
import type { CubeColumns, MetricColumn } from './target.ts';
import { type Inserted, insideDays, periodOf } from './window-sql.ts';

const idsOf = ({ metrics }: Pick<CubeColumns, 'metrics'>): string => metrics.map(({ id }) => literal(id)).join(', ');

/** The rows of some days that hold the metrics of these columns. */
const ofMetrics = (columns: CubeColumns, grain: DateDimension | null, days: DayInterval): string =>
  `${insideDays(grain, days)} and metric in (${idsOf(columns)})`;

/** Deletes the rows of some days that hold the metrics of these columns. */
export const deleteCells = (
  table: string,
  columns: CubeColumns,
  grain: DateDimension | null,
  days: DayInterval,
): string => `delete from ${table} where ${ofMetrics(columns, grain, days)}`;

/** Per period, metric and age of some days: its rows (`n`), its total (`s`), and how many values are not zero (`z`), as a table. */
export function totalCells(
  name: 'before' | 'after',
  { table, columns }: { readonly table: string; readonly columns: CubeColumns },
  grain: DateDimension | null,
  ranges: readonly DayInterval[],
): string {
  const parts = ranges.map(
    (days) => `select
    ${periodOf(grain, days.start)} as p, metric, age, count(*) as n, count_if("value" <> 0) as z,
    ${exactSum('"value"', columns.cube.value)} as s
from ${table}
where ${ofMetrics(columns, grain, days)}
group by 1, 2, 3`,
  );
  return `create or replace temp table ${staging[name]} as\n${parts.join('\nunion all\n')}`;
}

/** Per period and age in `after`: the rows, and the values that are not zero. */
export const countAges = `select p as start_day, age, sum(n)::bigint as rows, sum(z)::bigint as non_zero
from ${staging.after}
group by 1, 2`;

/** Per window and period in `typed`: how many values are not zero. */
export function countCells({ metrics }: CubeColumns, grain: DateDimension | null, start: Day): string {
  const counts = metrics.map(({ id }) => `coalesce(count_if(${identifier(id)} <> 0), 0)`);
  return `select ${WINDOW} as window_no, ${periodOf(grain, start)} as start_day, ${counts.join(' + ')} as rows
from ${staging.typed}
where ${REJECTED} is null
group by 1, 2`;
}

/** Copies staged rows into the table, a row for each value. */
export function insertCells(
  table: string,
  { dimensions, metrics, cube }: CubeColumns,
  grain: DateDimension | null,
  from: Inserted,
): string {
  const key = [...dimensions, 'attr_dependency'].map(identifier).join(', ');
  const listed = (of: (column: MetricColumn) => string): string => `[${metrics.map(of).join(', ')}]`;
  const placed = (of: (metric: CubeMetric) => string): string =>
    `${listed(({ id }) => of(cube.of.get(id) ?? { metric: id, cohort: id, age: '', ageDays: 0 }))}[place]`;
  const loadId = `[${from.loadIds.map((id) => id ?? 'null').join(', ')}][${WINDOW} + 1]::bigint`;
  return `insert into ${table} (${key}, cohort, metric, age, age_days, "value", "_load_id")
select
    ${key},
    ${placed(({ cohort }) => literal(cohort))},
    ${placed(({ metric }) => literal(metric))},
    ${placed(({ age }) => literal(age))},
    ${placed(({ ageDays }) => String(ageDays))},
    "value",
    load_id
from (
    select
        ${key},
        ${loadId} as load_id,
        unnest(range(1, ${metrics.length + 1})) as place,
        unnest(${listed(({ id, type }) => castExactly(identifier(id), type, cube.value))}) as "value"
    from (
        select ${from.collapse ? `distinct on (${key}) ` : ''}*
        from (
${from.rows}
        )${from.where === null ? '' : `\n        where ${from.where}`}
    )
)
where "value" is not null${grain === null ? '' : `\norder by ${identifier(grain)}`}`;
}
