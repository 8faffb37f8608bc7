/** SQL on a slice's table. Pure. */

import type { DayInterval } from '../model/calendar.ts';
import { type ColumnType, formatColumnType } from '../model/column-type.ts';
import type { Metric } from '../model/metric.ts';
import type { CubeMetric } from '../model/slice.ts';
import { EXTRA } from '../extract/columns/reading.ts';
import {
  additiveOf,
  castExactly,
  type Columns,
  insideDays,
  periodOf,
  type Target,
} from '../warehouse/tables/target.ts';
import { appColumn } from '../warehouse/tables/lost-apps.ts';
import { exactSum, identifier, literal, sumText } from '../warehouse/sql.ts';
import type { Load } from './answered.ts';
import { REJECTED, type Staged, typedRows, WINDOW } from './staged-sql.ts';

export interface Replaced {
  readonly target: Target;
  readonly loads: readonly Load[];
  readonly staged: Staged;
  readonly ranges: readonly DayInterval[];
  /** A condition for rows that stay in any case. */
  readonly lost: string | null;
  readonly rows: number;
  readonly hasCopies: boolean;
  /** By date, as in most answers; sorting is most of an insertion. */
  readonly isOrdered: boolean;
  /** Whether the table gets the rows that `totals` counts. */
  readonly isCounted: boolean;
  readonly isKnown: boolean;
}

/** In a cube, only rows of the load's metrics. */
function replacedRows(
  { table, columns, slice: { grain } }: Target,
  days: DayInterval,
  lost: string | null,
) {
  const metrics = columns.metrics.map(({ id }) => literal(id)).join(', ');
  const conditions = [
    insideDays(grain, days),
    ...(columns.value === undefined ? [] : [`metric in (${metrics})`]),
    ...(lost === null ? [] : [`(${lost}) is not true`]),
  ];
  return `from ${table}\nwhere ${conditions.join(' and ')}`;
}

export const countReplaced = (target: Target, days: DayInterval, lost: string): string =>
  `select ${periodOf(target.slice.grain, days.start)} as start_day, ${counted(target)} as rows
${replacedRows(target, days, lost)}
group by 1`;

export const countKept = (target: Target, days: DayInterval, lost: string): string =>
  `select ${periodOf(target.slice.grain, days.start)} as start_day, ${target.columns.value === undefined ? "''" : 'age'} as age, ${identifier(appColumn(target.slice) ?? '')} as app, ${counted(target)} as values
${replacedRows(target, days, null)} and (${lost})
group by 1, 2, 3`;

const counted = ({ columns }: Target) =>
  columns.value === undefined ? 'count(*)' : 'count_if("value" <> 0)';

/** Without trailing zeros: the same for any type of the column. */
const exactText = (sum: string, type: ColumnType) =>
  String.raw`regexp_replace(${sumText(sum, type)}, '\.0*$|(\.\d*[1-9])0+$', '\1')`;

/** A row per sum `s0` …, and one for the number of rows, which has no metric. */
function inRows(columns: Columns, query: string) {
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

const sumsOf = (columns: Columns, sum: (metric: Metric, at: number) => string) =>
  additiveOf(columns)
    .map((metric, at) => `, ${sum(metric, at)} as s${at}`)
    .join('');

const [BEFORE, AFTER] = ['"ripen before"', '"ripen after"'];

/** Per slice, period, metric and age: rows `n`, non-zero values `z` (only of a cube), total `s`. */
export const totalTables = [BEFORE, AFTER].map(
  (table) =>
    `create or replace temp table ${table} (slice varchar, p date, metric varchar, age varchar, n bigint, z bigint, s varchar)`,
);

function totalTable(name: string, { target, ranges, lost }: Replaced) {
  const { columns, slice } = target;
  const { value } = columns;
  // One query per range, so that each touches only its own blocks.
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
  return fill(name, slice.name, parts.join('\nunion all\n'));
}

const fill = (table: string, slice: string, query: string) =>
  `insert into ${table} by name select ${literal(slice)} as slice, * from (\n${query}\n)`;

export function replaceRows(replaced: Replaced): string[] {
  const { target, loads, staged, ranges, lost, rows, isCounted, isKnown } = replaced;
  if (ranges.length === 0) return [];
  const windowNos = loads.map(({ answered }) => answered.windowNo).join(', ');
  const ofWindows = `select p, sum(n) as n${sumsOf(staged.columns, (_, at) => `sum(s${at})`)}
from ${staged.totals}
where ${WINDOW} in (${windowNos}) and not r
group by 1`;
  const after = isCounted
    ? fill(AFTER, target.slice.name, inRows(staged.columns, ofWindows))
    : totalTable(AFTER, replaced);
  const firstLoad = Math.min(...loads.map(({ loadId }) => Number(loadId)));
  const check = `select case when count(*) <> ${rows} then error('The windows got ' || count(*) || ' rows where their answers had ${rows}.') end
from ${target.table}
where "_load_id" >= ${firstLoad}`;
  return [
    ...(isKnown ? [totalTable(BEFORE, replaced)] : []),
    // Compares the bare date column: an expression over it would read the whole table.
    ...ranges.map((days) => `delete ${replacedRows(target, days, lost)}`),
    ...(rows > 0 ? [insertRows(replaced)] : []),
    ...(isCounted && rows > 0 ? [check] : []),
    ...(isCounted && !isKnown ? [] : [after]),
  ];
}

/** The load of a row; no slice has a column with such a name. */
const LOAD = '"load,"';

function insertRows({ target, loads, staged, hasCopies, isOrdered }: Replaced) {
  const { table, columns, slice } = target;
  const { grain, cube } = slice;
  const key = [...columns.dimensions, 'attr_dependency'].map(identifier).join(', ');
  // Comparing days takes a tenth of an insertion.
  const isWhole = loads.every(({ window, answered }) => window === answered.spooled.window);
  const ids = new Map(loads.map(({ loadId, answered }) => [answered.windowNo, loadId]));
  const listed = Array.from(
    { length: Math.max(...ids.keys()) + 1 },
    (_, windowNo) => ids.get(windowNo) ?? 'null',
  );
  const cases = loads.map(({ loadId, window, answered }) => {
    return `when ${WINDOW} = ${answered.windowNo} and ${insideDays(grain, window.replaced)} then ${loadId}`;
  });
  const load = isWhole ? `[${listed.join(', ')}][${WINDOW} + 1]` : `case ${cases.join(' ')} end`;
  const hasRejected = staged.pages.some((page) => page.hasRejected);
  const conditions = [
    ...(hasRejected ? [`${REJECTED} is null`] : []),
    ...(isWhole ? [] : [`${LOAD} is not null`]),
  ];
  // Rows of one key are identical here: different ones fail their window.
  const loaded = `select ${hasCopies ? `distinct on (${WINDOW}, ${key}) ` : ''}*, (${load})::bigint as ${LOAD}
from (
${typedRows({ ...staged, columns })}
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

function cellsOf(
  { metrics, value }: Columns,
  cube: readonly CubeMetric[],
  key: string,
  rows: string,
) {
  const cubeMetrics = new Map(cube.map((metric) => [metric.metric, metric]));
  const listed = (of: (column: Metric) => string) => `[${metrics.map(of).join(', ')}]`;
  const placed = (of: (metric: CubeMetric) => string) =>
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
