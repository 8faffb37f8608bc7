/** SQL on the staged rows of a batch: their sums, and what the checks read. Pure: names, types and days in, SQL out. */

import type { Day } from '../model/calendar.ts';
import { type ColumnType, FAST_DIGITS } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import type { Box, Window } from '../model/window.ts';
import { BODY } from '../extract/columns/reading.ts';
import { identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import type { PageRead } from './read-pages.ts';
import { ANSWER, beginsInWeek, REJECTED, staging, WINDOW } from './staged-sql.ts';
import { additiveOf, type Columns, periodOf } from '../warehouse/tables/target.ts';

/** Fills `totals` in one pass over `answers`; `start` is the first day of the period if the report has no date dimension. */
export function totalAnswers(columns: Columns, grain: DateDimension | null, start: Day): string {
  const sums = additiveOf(columns).map(({ id, type }, at) => {
    const name = identifier(id);
    // For wider decimals this sum would overflow before that of the values; the magnitude of the least integer overflows.
    const isNarrow = type.kind === 'DECIMAL' && type.width <= FAST_DIGITS;
    const magnitudes = isNarrow ? `sum(abs(${name}))::double` : `sum(abs(${name}::double))`;
    return `,
    ${exactSum(name, type)} as s${at}, ${magnitudes} as g${at}, coalesce(count_if(${name} <> 0), 0) as z${at}`;
  });
  return `create or replace temp table ${staging.totals} as
select
    ${WINDOW},
    ${ANSWER},
    ${periodOf(grain, start)} as p,
    ${REJECTED} is not null as r,
    count(*) as n,
    ${columns.value === undefined ? 'count(*)' : `sum(${valuesOf(columns)})`} as v${sums.join('')}
from ${staging.answers}
group by all`;
}

/** The values other than zero in a row of a cube: other metrics bring rows of zeros with them. */
const valuesOf = ({ metrics }: Columns): string =>
  metrics.map(({ id }) => `coalesce((${identifier(id)} <> 0)::integer, 0)`).join(' + ');

const listOf = (columns: Columns, each: (at: number, type: ColumnType) => string): string =>
  additiveOf(columns)
    .map(({ type }, at) => each(at, type))
    .join(', ');

/** Per answer: lists of exact sums, magnitudes and non-zero counts of additive metrics, in order; rows by period as JSON. */
export const sumAnswers = (columns: Columns): string => `select
    ${WINDOW} as window_no,
    ${ANSWER} as answer_no,
    [${listOf(columns, (at, type) => sumText(`sum(s${at})`, type))}]::varchar[] as sums,
    [${listOf(columns, (at) => `sum(g${at})`)}]::double[] as magnitudes,
    [${listOf(columns, (at) => `sum(z${at})`)}]::varchar[] as non_zero,
    to_json(coalesce(list({start_day: p::varchar, rows: n, values: v}) filter (where not r), []))::varchar as periods
from ${staging.totals}
group by ${WINDOW}, ${ANSWER}`;

/** Per answer and period of some windows, the exact sums of additive metrics, in order. */
export const sumPeriods = (columns: Columns, windowNos: readonly number[]): string => `select
    ${WINDOW} as window_no,
    ${ANSWER} as answer_no,
    p::varchar as start_day,
    [${listOf(columns, (at, type) => sumText(`sum(s${at})`, type))}]::varchar[] as sums
from ${staging.totals}
where ${WINDOW} in (${windowNos.join(', ')})
group by ${WINDOW}, ${ANSWER}, p`;

/** The same over the distinct rows of each answer. */
export function sumDistinctPeriods(
  columns: Columns,
  windowNos: readonly number[],
  grain: DateDimension | null,
  start: Day,
): string {
  const metrics = additiveOf(columns).map(({ id, type }) => ({ name: identifier(id), type }));
  // Without unrequested keys: if rows of one key differ in them, the window fails anyway.
  const names = [
    ...columns.dimensions.map(identifier),
    'attr_dependency',
    ...metrics.map(({ name }) => name),
  ];
  return `select
    ${WINDOW} as window_no,
    ${ANSWER} as answer_no,
    (${periodOf(grain, start)})::varchar as start_day,
    [${metrics.map(({ name, type }) => sumText(exactSum(name, type), type)).join(', ')}]::varchar[] as sums
from (
    select distinct ${[WINDOW, ANSWER, ...names].join(', ')}
    from ${staging.answers}
    where ${WINDOW} in (${windowNos.join(', ')})
)
group by all`;
}

/** Per period of some windows, the rows and values after batches of metrics are joined. */
export const countJoined = (
  columns: Columns,
  windowNos: readonly number[],
  grain: DateDimension | null,
  start: Day,
): string => `select
    ${WINDOW} as window_no,
    (${periodOf(grain, start)})::varchar as start_day,
    count(*) as rows,
    ${columns.value === undefined ? 'count(*)' : `sum(${valuesOf(columns)})`} as values
from ${staging.typed}
where ${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is null
group by all`;

/** The rows of some windows that are not stored: the day of each (null without a date dimension), and its reasons by batch. */
export function rejectedRows(grain: DateDimension | null, windowNos: readonly number[]): string {
  const day = grain === null ? 'null' : `cast(${identifier(grain)} as DATE)::varchar`;
  return `select ${WINDOW} as window_no, ${day} as day, '[' || ${REJECTED} || ']' as rejected
from ${staging.typed}
where ${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is not null`;
}

/** Keys that occur more than once in a batch of metrics of one of these windows: how often, and in how many versions. */
export function duplicateKeys(
  columns: Columns,
  windowNos: readonly number[],
  batchNos: readonly (readonly number[])[],
): string {
  // Values that were not requested are part of a version: they may be what distinguishes the rows.
  const names = [...columns.dimensions, 'attr_dependency'];
  const structOf = (of: readonly string[]): string =>
    `{${of.map((n) => `${literal(n)}: ${identifier(n)}`).join(', ')}}`;
  // As text: the engine writes a decimal below one as JSON that it cannot read.
  const shown = `concat(left(to_json(row_values)::varchar, -1), ',"_extra":' || row_extra, '}')`;
  const batch = `[${batchNos.map((list) => `[${list.join(', ')}]`).join(', ')}][${WINDOW} + 1][${ANSWER} + 1]`;
  // Only for repeated keys: lists of the values of every key would not fit into memory.
  const digest = `hash(${WINDOW}, ${batch}, ${names.map(identifier).join(', ')})`;
  const inWindows = `${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is null`;
  return `with twice as materialized (
    select ${digest} as digest from ${staging.answers} where ${inWindows} group by 1 having count(*) > 1
)
select
    window_no,
    batch_no,
    count(*) as copies,
    count(distinct {v: row_values, e: row_extra}) as versions,
    to_json(row_key)::varchar as key,
    concat('[', array_to_string(list_distinct(list(${shown})), ','), ']') as found
from (
    select
        ${WINDOW} as window_no,
        ${batch} as batch_no,
        ${structOf(names)} as row_key,
        ${structOf(columns.metrics.map(({ id }) => id))} as row_values,
        "_extra"::varchar as row_extra
    from ${staging.answers}
    where ${inWindows} and ${digest} in (select digest from twice)
)
group by window_no, batch_no, row_key
having count(*) > 1`;
}

/** The rows of a control answer, with the first day of their period as `p`. */
function controlRows({ slice, requested, replaced }: Window, pages: readonly PageRead[]): string {
  const period = periodOf(slice.grain, replaced.start);
  const cut = `case when ${period} = DATE ${literal(requested.start)} then DATE ${literal(replaced.start)} else ${period} end`;
  const start = beginsInWeek({ slice, requested, replaced }) ? cut : period;
  return pages
    .map(({ file, bodyNo }) => {
      return `select *, ${start} as p from read_parquet(${literal(file)}, hive_partitioning = false) where ${identifier(BODY)} = ${bodyNo}`;
    })
    .join('\nunion all by name\n');
}

/** Per period of a control answer: lists of sums, magnitudes and non-zero counts of some metrics, in their order. */
export function sumControl(
  window: Window,
  metrics: readonly string[],
  pages: readonly PageRead[],
): string {
  const listed = (of: (name: string) => string): string =>
    metrics.map(identifier).map(of).join(', ');
  return `select
    p::varchar as start_day,
    [${listed((name) => `sum(${name})::varchar`)}]::varchar[] as sums,
    [${listed((name) => `sum(abs(${name}::double))`)}]::double[] as magnitudes,
    [${listed((name) => `coalesce(count_if(${name} <> 0), 0)`)}]::varchar[] as non_zero
from (
${controlRows(window, pages)}
)
group by p`;
}

/** The values of the second dimension of a control answer with any value of a metric, but without rows in that period of its whole. */
export function lostValues(
  window: Window,
  windowNo: number,
  { control, part }: Box,
  { names, pages }: { readonly names: readonly string[]; readonly pages: readonly PageRead[] },
): string {
  const value = identifier(control?.[1] ?? '');
  const lists = Object.entries(part).map(
    ([dimension, { in: list }]) =>
      ` and ${identifier(dimension)} in (${(list ?? []).map(literal).join(', ')})`,
  );
  return `select distinct p::varchar as start_day, ${value} as value
from (
${controlRows(window, pages)}
)
where ${names.map((name) => `${identifier(name)} <> 0`).join(' or ')}
except
select (${periodOf(window.slice.grain, window.replaced.start)})::varchar, ${value}
from ${staging.typed}
where ${WINDOW} = ${windowNo}${lists.join('')}
limit 100`;
}
