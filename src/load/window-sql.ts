/** SQL on the staged rows of a batch: their sums, and what the checks read. Pure: names, types and days in, SQL out. */

import type { Day } from '../model/calendar.ts';
import { type ColumnType, FAST_DIGITS } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import { identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import { PART, REJECTED, staging, WINDOW } from './staged-sql.ts';
import { additiveOf, type Columns, periodOf } from '../tables/target.ts';

/** Fills `totals` in one pass over `typed`; `start` is the first day of the period if the report has no date dimension. */
export function totalTyped(columns: Columns, grain: DateDimension | null, start: Day): string {
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
    ${PART},
    ${periodOf(grain, start)} as p,
    ${REJECTED} is not null as r,
    count(*) as n,
    ${valuesIn(columns)} as v${sums.join('')}
from ${staging.typed}
group by all`;
}

/** Counts what was answered: rows, in a cube non-zero values, because other metrics bring rows of zeros with them. */
const valuesIn = ({ metrics, cube }: Columns): string =>
  cube === undefined
    ? 'count(*)'
    : metrics.map(({ id }) => `coalesce(count_if(${identifier(id)} <> 0), 0)`).join(' + ');

/** Per window and part: lists of exact sums, magnitudes and non-zero counts of additive metrics, in order; periods as JSON. */
export function sumParts(columns: Columns): string {
  const metrics = additiveOf(columns);
  const each = (sum: (at: number, type: ColumnType) => string): string =>
    metrics.map(({ type }, at) => sum(at, type)).join(', ');
  return `select
    ${WINDOW} as window_no,
    ${PART} as part_no,
    [${each((at, type) => sumText(`sum(s${at})`, type))}]::varchar[] as sums,
    [${each((at) => `sum(g${at})`)}]::double[] as magnitudes,
    [${each((at) => `sum(z${at})`)}]::varchar[] as non_zero,
    to_json(coalesce(list({start: p::varchar, rows: n, values: v}) filter (where not r), []))::varchar as periods
from ${staging.totals}
group by ${WINDOW}, ${PART}`;
}

/** Per window and part, the exact sums over the distinct rows of some windows. */
export function sumDistinct(columns: Columns, windowNos: readonly number[]): string {
  const metrics = additiveOf(columns).map(({ id, type }) => ({ name: identifier(id), type }));
  // Without unrequested keys: if rows of one key differ in them, the window fails anyway.
  const names = [
    ...columns.dimensions.map(identifier),
    'attr_dependency',
    ...metrics.map(({ name }) => name),
  ];
  return `select
    ${WINDOW} as window_no,
    ${PART} as part_no,
    [${metrics.map(({ name, type }) => sumText(exactSum(name, type), type)).join(', ')}]::varchar[] as sums
from (
    select distinct ${[WINDOW, PART, ...names].join(', ')}
    from ${staging.typed}
    where ${WINDOW} in (${windowNos.join(', ')})
)
group by ${WINDOW}, ${PART}`;
}

/** The rows of some windows that are not stored: the day of each (null without a date dimension), and its reasons by batch. */
export function rejectedRows(grain: DateDimension | null, windowNos: readonly number[]): string {
  const day = grain === null ? 'null' : `cast(${identifier(grain)} as DATE)::varchar`;
  return `select ${WINDOW} as window_no, ${day} as day, '[' || ${REJECTED} || ']' as rejected
from ${staging.typed}
where ${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is not null`;
}

/** Keys that occur more than once in one of these windows: how often, and in how many versions. */
export function duplicateKeys(columns: Columns, windowNos: readonly number[]): string {
  // Values that were not requested are part of a version: they may be what distinguishes the rows.
  const names = [...columns.dimensions, 'attr_dependency'];
  const structOf = (of: readonly string[]): string =>
    `{${of.map((n) => `${literal(n)}: ${identifier(n)}`).join(', ')}}`;
  // As text: the engine writes a decimal below one as JSON that it cannot read.
  const shown = `concat(left(to_json(row_values)::varchar, -1), ',"_extra":' || row_extra, '}')`;
  // Only for repeated keys: lists of the values of every key would not fit into memory.
  const digest = `hash(${WINDOW}, ${names.map(identifier).join(', ')})`;
  const inWindows = `${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is null`;
  return `with twice as materialized (
    select ${digest} as digest from ${staging.typed} where ${inWindows} group by 1 having count(*) > 1
)
select
    window_no,
    count(*) as copies,
    count(distinct {v: row_values, e: row_extra}) as versions,
    to_json(row_key)::varchar as key,
    concat('[', array_to_string(list_distinct(list(${shown})), ','), ']') as found
from (
    select
        ${WINDOW} as window_no,
        ${structOf(names)} as row_key,
        ${structOf(columns.metrics.map(({ id }) => id))} as row_values,
        "_extra"::varchar as row_extra
    from ${staging.typed}
    where ${inWindows} and ${digest} in (select digest from twice)
)
group by window_no, row_key
having count(*) > 1`;
}
