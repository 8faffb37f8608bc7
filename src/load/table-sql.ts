/** SQL on a slice's table: what it holds of some days, and how staged rows replace it. Pure: names, types, days in, SQL out. */

import type { DayInterval } from '../model/calendar.ts';
import { type ColumnType, formatColumnType } from '../model/column-type.ts';
import type { Metric } from '../model/metric.ts';
import type { CubeMetric, Slice } from '../model/slice.ts';
import { EXTRA } from '../extract/columns/reading.ts';
import { identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import { REJECTED, staging, WINDOW } from './staged-sql.ts';
import {
  additiveOf,
  castExactly,
  type Columns,
  insideDays,
  periodOf,
  type Target,
} from '../warehouse/tables/target.ts';

type Table = Pick<Target, 'table' | 'columns'> & {
  readonly slice: Pick<Target['slice'], 'name' | 'grain' | 'cube'>;
};

const idsOf = ({ metrics }: Pick<Columns, 'metrics'>): string =>
  metrics.map(({ id }) => literal(id)).join(', ');

/** The rows that a load of some days replaces: all but those of `lost` (a condition); in a cube only those of its metrics. */
const replacedRows = (
  { table, columns, slice: { grain } }: Table,
  days: DayInterval,
  lost: string | null,
): string =>
  `from ${table}
where ${insideDays(grain, days)}${columns.value === undefined ? '' : ` and metric in (${idsOf(columns)})`}${lost === null ? '' : ` and (${lost}) is not true`}`;

/** Deletes the rows that a load replaces. Compares the bare date column: an expression over it would read the whole table. */
export const deleteRows = (target: Table, days: DayInterval, lost: string | null): string =>
  `delete ${replacedRows(target, days, lost)}`;

/** Counts the rows (in a cube the non-zero values) that `deleteRows` deletes, by first day of the period. */
export const countReplaced = (target: Table, days: DayInterval, lost: string): string =>
  `select ${periodOf(target.slice.grain, days.start)} as start_day, ${counted(target)} as rows
${replacedRows(target, days, lost)}
group by 1`;

/** Counts the rows that it leaves, also by age of a cube. */
export const countKept = (target: Table, days: DayInterval, lost: string): string =>
  `select ${periodOf(target.slice.grain, days.start)} as start_day, ${target.columns.value === undefined ? "''" : 'age'} as age, ${counted(target)} as rows
${replacedRows(target, days, null)} and (${lost})
group by 1, 2`;

const counted = ({ columns }: Table): string =>
  columns.value === undefined ? 'count(*)' : 'count_if("value" <> 0)';

/** An exact sum as text with every digit and no trailing zeros: the same for any type of the column. */
const exactText = (sum: string, type: ColumnType): string =>
  String.raw`regexp_replace(${sumText(sum, type)}, '\.0*$|(\.\d*[1-9])0+$', '\1')`;

/** Turns a query with a row per period `p` into a row per sum `s0` … and one for the rows `n`, which has no metric name. */
function inRows(columns: Columns, query: string): string {
  const metrics = additiveOf(columns);
  return `select
    p,
    unnest([${['', ...metrics.map(({ id }) => id)].map(literal).join(', ')}]) as metric,
    '' as age,
    unnest([${['n', ...metrics.map(() => '0')].join(', ')}])::bigint as n,
    0 as z,
    unnest([${['null', ...metrics.map(({ type }, at) => exactText(`s${at}`, type))].join(', ')}])::varchar as s
from (
${query}
)`;
}

/** The sums of a query's additive metrics, as columns `s0` …. */
const sumsOf = (columns: Columns, sum: (metric: Metric, at: number) => string): string =>
  additiveOf(columns)
    .map((metric, at) => `, ${sum(metric, at)} as s${at}`)
    .join('');

/**
 * Makes `before` and `after`: per slice, period, metric and age, the rows `n`, non-zero values `z` (only in a cube), total `s` as
 * text.
 */
export const totalTables = [staging.before, staging.after].map(
  (table) =>
    `create or replace temp table ${table} (slice varchar, p date, metric varchar, age varchar, n bigint, z bigint, s varchar)`,
);

const fill = (table: string, slice: string, query: string): string =>
  `insert into ${table} by name select ${literal(slice)} as slice, * from (\n${query}\n)`;

/** Adds the totals of a slice to `before` or `after`. */
export function totalTable(
  name: 'before' | 'after',
  target: Table,
  ranges: readonly DayInterval[],
  lost: string | null,
): string {
  const { columns, slice } = target;
  const { value } = columns;
  // One query per range: only then does each touch no blocks but its own.
  const parts = ranges.map((days) => {
    const period = periodOf(slice.grain, days.start);
    const rows = replacedRows(target, days, lost);
    if (value !== undefined) {
      const total = exactText(exactSum('"value"', value), value);
      return `select ${period} as p, metric, age, count(*) as n, count_if("value" <> 0) as z, ${total} as s
${rows}
group by 1, 2, 3`;
    }
    const sums = sumsOf(columns, ({ id, type }) => exactSum(identifier(id), type));
    return inRows(columns, `select ${period} as p, count(*) as n${sums}\n${rows}\ngroup by 1`);
  });
  return fill(staging[name], slice.name, parts.join('\nunion all\n'));
}

/** Adds the totals of some windows in `totals` to `after`. */
export function totalStaged(
  { slice, columns }: Pick<Table, 'slice' | 'columns'>,
  windowNos: readonly number[],
): string {
  const query = `select p, sum(n) as n${sumsOf(columns, (_, at) => `sum(s${at})`)}
from ${staging.totals}
where ${WINDOW} in (${windowNos.join(', ')}) and not r
group by 1`;
  return fill(staging.after, slice.name, inRows(columns, query));
}

/** The days of a staged window that one load replaces. */
interface LoadedDays {
  readonly loadId: string;
  readonly window: { readonly replaced: DayInterval };
  readonly answered: { readonly windowNo: number };
}

interface Inserted {
  /** A query for the rows to insert, in the types of the table. */
  readonly rows: string;
  /** Whether each load takes a whole window, whose number then identifies it; comparing days takes a tenth of an insertion. */
  readonly isWhole: boolean;
  readonly hasRejected: boolean;
  /** Whether there are identical rows, of which one is kept. */
  readonly hasCopies: boolean;
  /** Whether the rows are already in the order of their dates, as in most answers; sorting is most of an insertion. */
  readonly isOrdered: boolean;
}

/** The load of a row; no slice has a column with such a name. */
const LOAD = '"load,"';

/** Inserts the staged rows of loads into the slice's table, in order of date. */
export function insertRows(
  { table, columns, slice: { grain, cube } }: Table,
  loads: readonly LoadedDays[],
  { rows, isWhole, hasRejected, hasCopies, isOrdered }: Inserted,
): string {
  const key = [...columns.dimensions, 'attr_dependency'].map(identifier).join(', ');
  const conditions = [
    ...(hasRejected ? [`${REJECTED} is null`] : []),
    ...(isWhole ? [] : [`${LOAD} is not null`]),
  ];
  // Rows of one key are identical here: different ones fail their window.
  const loaded = `select ${hasCopies ? `distinct on (${WINDOW}, ${key}) ` : ''}*, (${loadOf(loads, isWhole, grain)})::bigint as ${LOAD}
from (
${rows}
)${conditions.length === 0 ? '' : `\nwhere ${conditions.join(' and ')}`}`;
  const order =
    grain === null || (cube === undefined && isOrdered && !hasCopies)
      ? ''
      : `\norder by ${identifier(grain)}`;
  if (cube !== undefined) {
    return `insert into ${table} (${key}, cohort, metric, age, age_days, "value", "_load_id")\n${cellsOf(columns, cube, key, loaded)}${order}`;
  }
  const names = [
    ...columns.dimensions,
    ...columns.metrics.map(({ id }) => id),
    'attr_dependency',
    EXTRA,
  ];
  const selected = names.map(identifier).join(', ');
  return `insert into ${table} (${selected}, "_load_id")\nselect ${selected}, ${LOAD}\nfrom (\n${loaded}\n)${order}`;
}

/** An expression for the load of a row: by its window, and by its day if a window is loaded in shares. */
function loadOf(loads: readonly LoadedDays[], isWhole: boolean, grain: Slice['grain']): string {
  const windowNoOf = ({ answered }: LoadedDays): number => answered.windowNo;
  if (!isWhole) {
    const cases = loads.map((load) => {
      return `when ${WINDOW} = ${windowNoOf(load)} and ${insideDays(grain, load.window.replaced)} then ${load.loadId}`;
    });
    return `case ${cases.join(' ')} end`;
  }
  const ids = new Map(loads.map((load) => [windowNoOf(load), load.loadId]));
  const listed = Array.from(
    { length: Math.max(...ids.keys()) + 1 },
    (_, windowNo) => ids.get(windowNo) ?? 'null',
  );
  return `[${listed.join(', ')}][${WINDOW} + 1]`;
}

/** Turns the rows of a query into those of a cube: one for each value, where other slices have a column for each metric. */
function cellsOf(
  { metrics, value }: Columns,
  cube: readonly CubeMetric[],
  key: string,
  rows: string,
): string {
  const cubeMetrics = new Map(cube.map((metric) => [metric.metric, metric]));
  const listed = (of: (column: Metric) => string): string => `[${metrics.map(of).join(', ')}]`;
  const placed = (of: (metric: CubeMetric) => string): string =>
    `${listed(({ id }) => of(cubeMetrics.get(id) ?? { metric: id, cohort: id, age: '', ageDays: 0 }))}[place]`;
  return `select
    ${key},
    ${placed(({ cohort }) => literal(cohort))},
    ${placed(({ metric }) => literal(metric))},
    ${placed(({ age }) => literal(age))},
    ${placed(({ ageDays }) => String(ageDays))},
    "value",
    ${LOAD}
from (
    select
        ${key},
        ${LOAD},
        unnest(range(1, ${metrics.length + 1})) as place,
        unnest(${listed(({ id, type }) => castExactly(identifier(id), formatColumnType(type), formatColumnType(value ?? type)))}) as "value"
    from (
${rows}
    )
)
where "value" is not null`;
}
