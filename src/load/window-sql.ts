/**
 * Statements on the windows of a batch: their checks, and how they replace what the slice's table holds. Pure: names, types and days
 * in, SQL out.
 *
 * A deletion compares the bare date column with literals, so that it touches only the blocks that hold those days; an
 * expression over the column would read the whole table.
 */

import type { Day, DayInterval } from '../model/calendar.ts';
import type { DateDimension } from '../model/dimension.ts';
import { EXTRA } from '../spool/columns/reading.ts';
import { dayLiteral, identifier, literal } from '../warehouse/sql.ts';
import { REJECTED, staging, WINDOW } from './staged-sql.ts';
import type { Columns, MetricColumn } from './target.ts';

/** The rows of some windows that are not stored, each with its day and why. */
export function rejectedRows(grain: DateDimension | null, windowNos: readonly number[]): string {
  const day = grain === null ? 'null' : `cast(${identifier(grain)} as DATE)::varchar`;
  return `select ${WINDOW} as window_no, ${day} as day, ${REJECTED} as rejected
from ${staging.typed}
where ${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is not null`;
}

/** What a JSON document says: the order of keys says nothing, and one that is null no more than one that is absent. */
function jsonContent(document: string): string {
  const entry =
    "{p: path, k: key, t: type, a: atom::varchar, n: case type when 'ARRAY' then json_array_length(value) end}";
  return `(
            select list(${entry} order by path, key)
            from json_tree(${document})
            where parent is not null and type <> 'NULL'
        )`;
}

/**
 * Keys that occur more than once in one of these windows: how often, and in how many different versions. What came unasked is
 * part of a version: it may be what tells the rows apart.
 */
export function duplicateKeys(columns: Columns, windowNos: readonly number[]): string {
  const names = [...columns.dimensions, 'attr_dependency'];
  const key = names.map((name) => `${literal(name)}: ${identifier(name)}`).join(', ');
  const values = columns.metrics.map(({ id }) => `${literal(id)}: ${identifier(id)}`).join(', ');
  // As text: the engine's own JSON of a decimal below one is none that it reads.
  const shown = `concat(left(to_json(row_values)::varchar, -1), ',"_extra":' || row_extra::varchar, '}')`;
  // Documents of the same text need not be taken apart, which takes longer than all the rest.
  const extra = `coalesce("_extra"::varchar, '')`;
  // Lists of values are built for repeated keys alone; for every key they would not fit the memory.
  const digest = `hash(${WINDOW}, ${names.map(identifier).join(', ')})`;
  const inWindows = `${WINDOW} in (${windowNos.join(', ')}) and ${REJECTED} is null`;
  return `with twice as materialized (
    select ${digest} as digest from ${staging.typed} where ${inWindows} group by 1 having count(*) > 1
),
keyed as (
    select
        ${WINDOW} as window_no,
        {${key}} as row_key,
        {${values}} as row_values,
        "_extra" as row_extra,
        max(${extra}) over same_key is distinct from min(${extra}) over same_key as is_other
    from ${staging.typed}
    where ${inWindows} and ${digest} in (select digest from twice)
    window same_key as (partition by ${WINDOW}, ${names.map(identifier).join(', ')})
),
compared as (
    select
        *,
        ${jsonContent('k.odd_extra')} as extra_content
    from (select *, case when is_other then row_extra end as odd_extra from keyed) as k
)
select
    window_no,
    count(*) as copies,
    count(distinct {v: row_values, e: extra_content}) as versions,
    to_json(row_key)::varchar as key,
    concat('[', array_to_string(list_distinct(list(${shown})), ','), ']') as found
from compared
group by window_no, row_key
having count(*) > 1`;
}

/** The rows of some windows that lie outside their days, with one such date. */
export function rowsOutside(grain: DateDimension, windows: readonly (readonly [number, DayInterval])[]): string {
  const column = identifier(grain);
  const parts = windows.map(
    ([windowNo, days]) => `select ${windowNo} as window_no, count(*) as rows, min(${column})::varchar as example
from ${staging.typed}
where ${WINDOW} = ${windowNo} and not (${insideDays(grain, days)})`,
  );
  return parts.join('\nunion all\n');
}

/** The metrics whose values add up over rows, in configured order. */
export const additiveOf = (columns: Columns): MetricColumn[] => columns.metrics.filter(({ additive }) => additive);

/** The rows of some days; every row for a report without a date dimension. */
export function insideDays(grain: DateDimension | null, days: DayInterval): string {
  if (grain === null) return 'true';
  const column = identifier(grain);
  return `${column} >= ${dayLiteral(grain, days.start)} and ${column} < ${dayLiteral(grain, days.end)}`;
}

/** The first day of the period a row belongs to; `start` for a report without a date dimension. */
export function periodOf(grain: DateDimension | null, start: Day): string {
  if (grain === null) return `DATE ${literal(start)}`;
  return grain === 'hour' ? `cast(${identifier(grain)} as DATE)` : identifier(grain);
}

export function deleteDays(table: string, grain: DateDimension | null, days: DayInterval): string {
  return `delete from ${table} where ${insideDays(grain, days)}`;
}

/** Rows that windows get, and how. */
export interface Inserted {
  /** A query for them, in the types of the table. */
  readonly rows: string;
  /** By number of the window, from 0. */
  readonly loadIds: readonly (string | null)[];
  /** Which of the rows are stored, as a condition; null for all. */
  readonly where: string | null;
  /** Keeps one of identical rows. */
  readonly collapse: boolean;
  /** Whether the rows came in the order of their dates, as most answers do; sorting them again is most of an insertion. */
  readonly isOrdered: boolean;
}

/** Copies staged rows into the slice's table, laid out by date. */
export function insertRows(table: string, columns: Columns, grain: DateDimension | null, from: Inserted): string {
  const names = [...columns.dimensions, ...columns.metrics.map(({ id }) => id), 'attr_dependency', EXTRA].map(
    identifier,
  );
  // Rows of one key say the same here: others fail their window.
  const one = `distinct on (${[...columns.dimensions, 'attr_dependency'].map(identifier).join(', ')}) `;
  const isLaidOut = from.isOrdered && !from.collapse;
  // Of several ways to say it the same one is kept each night.
  const order = [...(grain === null || isLaidOut ? [] : [identifier(grain)]), ...(from.collapse ? ['"_extra"'] : [])];
  const loadId = `[${from.loadIds.map((id) => id ?? 'null').join(', ')}][${WINDOW} + 1]::bigint`;
  return `insert into ${table} (${names.join(', ')}, "_load_id")
select ${from.collapse ? one : ''}${names.join(', ')}, ${loadId}
from (
${from.rows}
)${from.where === null ? '' : `\nwhere ${from.where}`}${order.length === 0 ? '' : `\norder by ${order.join(', ')}`}`;
}
