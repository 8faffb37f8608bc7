/**
 * Statements on the windows of a batch: its typed rows, their checks, and how they replace what the slice's table holds. Pure:
 * names, types and days in, SQL out.
 *
 * What a batch is worked on in are temporary tables whose names hold a blank and columns whose names hold a comma: no
 * slice, dimension or metric can be called so.
 *
 * A deletion compares the bare date column with literals, so that it touches only the blocks that hold those days; an
 * expression over the column would read the whole table.
 */

import type { Day, DayInterval } from '../model/calendar.ts';
import { type ColumnType, formatColumnType } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import { BODY } from '../spool/columns/reading.ts';
import { dayLiteral, identifier, literal } from '../warehouse/sql.ts';
import type { Columns, MetricColumn } from './target.ts';

/** The temporary tables of a batch. */
export const staging = {
  /** A view: every row as text, as it came, beside WINDOW, PART and `_extra`. */
  staged: '"ripen staged"',
  /** Every row in the types of the slice, beside WINDOW, PART and ODD; a view where the rows lie in columns. */
  typed: '"ripen typed"',
  /** The same of the rows that hold a text that is no number; only where there are any. */
  rejected: '"ripen rejected"',
  /** Rows and totals of `typed` per WINDOW, PART and period: what proof, ledger and restatements are made of. */
  totals: '"ripen totals"',
  /** What became of texts in an unusual form: metric, text, plain. */
  plainTexts: '"ripen plain texts"',
  /** Texts that are no numbers: metric, text, reason. */
  notNumbers: '"ripen not numbers"',
  /** Totals per period before and after a window was replaced. */
  before: '"ripen before"',
  after: '"ripen after"',
} as const;

/** Number of the window in its batch, of the part in its window, and whether a text of the row was not cast. */
export const [WINDOW, PART, ODD] = ['"window,"', '"part,"', '"odd,"'] as const;

/** One part of a window whose rows lie in a Parquet file, by themselves or among those of others. */
export interface ColumnPart {
  readonly file: string;
  /** The number of its first body there, and how many bodies the file has in all. */
  readonly firstBody: number;
  readonly bodies: number;
  readonly pages: { readonly length: number };
  /** Of its metrics, in table order; null where all of it is text. */
  readonly types: readonly ColumnType[] | null;
  readonly windowNo: number;
  readonly partNo: number;
}

/**
 * The rows of parts in Parquet files, as `typed` has them; in the types of the slice's table, which may have become
 * wider since. One scan over a list of files: a union of as many scans takes twice the time to insert. A scan reads all of its
 * files in the types of the first, and rounds what does not fit them, so files of other types have one of their own.
 */
export function columnRows(columns: Columns, parts: readonly ColumnPart[]): string {
  const alike = grouped(parts, ({ types }) => (types ?? []).map(formatColumnType).join());
  return alike.map((some) => rowsAlike(columns, some)).join('\nunion all\n');
}

function rowsAlike(columns: Columns, parts: readonly ColumnPart[]): string {
  const types = parts[0]?.types ?? [];
  const values = [
    ...columns.dimensions.map(identifier),
    ...columns.metrics.map(
      ({ id, type }, at) => `${castExactly(identifier(id), types[at] ?? type, type)} as ${identifier(id)}`,
    ),
  ];
  return scanOf(parts, [...values, '"attr_dependency"', 'null::JSON as "_extra"', `false as ${ODD}`]);
}

/** The view `staged`: the rows of parts whose files hold texts. */
export function stagedTexts(columns: Columns, parts: readonly ColumnPart[]): string {
  const names = [...columns.dimensions, ...columns.metrics.map(({ id }) => id), 'attr_dependency', '_extra'];
  return `create or replace temp view ${staging.staged} as\n${scanOf(parts, names.map(identifier))}`;
}

/** The rows of parts in Parquet files, as these expressions over their columns. */
function scanOf(parts: readonly ColumnPart[], values: readonly string[]): string {
  const files = grouped(parts, ({ file }) => file);
  const isShared = parts.some(({ pages, bodies }) => pages.length < bodies);
  const lists = isShared ? files.map(byBody) : files;
  const before = lists.map((_, at) => lists.slice(0, at).flat().length);
  const place = isShared
    ? `[${before.join(', ')}][file_index::bigint + 1] + ${identifier(BODY)}`
    : 'file_index::bigint';
  const numbers = (of: (part: ColumnPart) => number): string =>
    `[${lists.flatMap((list) => list.map((part) => (part === null ? 'null' : of(part)))).join(', ')}][${place} + 1]`;
  return `select
    ${numbers(({ windowNo }) => windowNo)}::integer as ${WINDOW},
    ${numbers(({ partNo }) => partNo)}::integer as ${PART},
    ${values.join(',\n    ')}
from read_parquet([${files.map(([part]) => literal(part?.file ?? '')).join(', ')}], hive_partitioning = false)${isShared ? `\nwhere ${WINDOW} is not null` : ''}`;
}

/** By number of the body, the part of one file that it belongs to; null for that of a part that is not wanted. */
function byBody(parts: readonly ColumnPart[]): (ColumnPart | null)[] {
  const found = Array.from({ length: parts[0]?.bodies ?? 0 }, (): ColumnPart | null => null);
  for (const part of parts) found.fill(part, part.firstBody, part.firstBody + part.pages.length);
  return found;
}

/** Values by a text they have in common, in the order of the first of each. */
function grouped<T>(values: readonly T[], textOf: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const text = textOf(value);
    const known = groups.get(text);
    if (known === undefined) groups.set(text, [value]);
    else known.push(value);
  }
  return [...groups.values()];
}

/**
 * A value in another type that holds it. Between a decimal and a double by its text: the engine divides by a power of ten,
 * or multiplies, and ends beside the nearest one.
 */
export function castExactly(value: string, from: ColumnType, to: ColumnType): string {
  const text = (from.kind === 'DOUBLE') === (to.kind === 'DOUBLE') ? value : `cast(${value} as VARCHAR)`;
  return `cast(${text} as ${formatColumnType(to)})`;
}

/** `typed`, of rows that lie in columns or, without files, of none. */
export function typedColumns(
  as: keyof typeof dropTyped,
  table: string,
  columns: Columns,
  parts: readonly ColumnPart[],
): string {
  const rows =
    parts.length > 0
      ? columnRows(columns, parts)
      : `select 0 as ${WINDOW}, 0 as ${PART}, * exclude ("_load_id"), false as ${ODD} from ${table} limit 0`;
  return `create or replace temp ${as} ${staging.typed} as\n${rows}`;
}

/** Removes `typed`. */
export const dropTyped = {
  table: `drop table if exists ${staging.typed}`,
  view: `drop view if exists ${staging.typed}`,
} as const;

/** The rows of some windows of `typed`. */
export function typedRows(windowNos: readonly number[]): string {
  return `select * from ${staging.typed} where ${WINDOW} in (${windowNos.join(', ')})`;
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
  const inWindows = `${WINDOW} in (${windowNos.join(', ')})`;
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

/** Rows per window and period in `totals`. */
export const countPeriods = `select ${WINDOW} as window_no, p as start_day, sum(n)::bigint as rows
from ${staging.totals}
group by 1, 2`;

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

/** The windows of `typed` whose rows did not come in the order of their dates. */
export function windowsOutOfOrder(grain: DateDimension): string {
  return `select distinct window_no
from (
    select ${WINDOW} as window_no, ${identifier(grain)} as date_here, lag(${WINDOW}) over () as last_no,
        lag(${identifier(grain)}) over () as date_before
    from ${staging.typed}
)
where window_no = last_no and date_here < date_before`;
}

/** The metrics whose values add up over rows, in configured order. */
export const additiveOf = (columns: Columns): MetricColumn[] => columns.metrics.filter(({ additive }) => additive);

/** The rows of some days; every row for a report without a date dimension. */
export function insideDays(grain: DateDimension | null, days: DayInterval): string {
  if (grain === null) return 'true';
  const column = identifier(grain);
  return `${column} >= ${dayLiteral(grain, days.start)} and ${column} < ${dayLiteral(grain, days.end)}`;
}

/** The rows from a day on; every row for a report without a date dimension. */
export function sinceDay(grain: DateDimension | null, day: Day): string {
  if (grain === null) return 'true';
  return `${identifier(grain)} >= ${dayLiteral(grain, day)}`;
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
interface Inserted {
  /** A query for them in the columns of `typed`. */
  readonly rows: string;
  /** The types of their metrics, in table order. */
  readonly types: readonly ColumnType[];
  /** By number of the window, from 0. */
  readonly loadIds: readonly (string | null)[];
  /** Leaves out what lies elsewhere; null: all of the rows are wanted. */
  readonly within: DayInterval | null;
  /** Keeps one of identical rows. */
  readonly collapse: boolean;
  /** Whether the rows came in the order of their dates, as most answers do; sorting them again is most of an insertion. */
  readonly isOrdered: boolean;
}

/**
 * Copies typed rows into the slice's table, laid out by date. `columns` are the table's own: a column of `typed` that is
 * wider, which other windows of the batch need, is narrowed by a cast that is written out, never by the insert.
 */
export function insertRows(table: string, columns: Columns, grain: DateDimension | null, from: Inserted): string {
  const names = [...columns.dimensions, ...columns.metrics.map(({ id }) => id), 'attr_dependency', '_extra'];
  const values = [
    ...columns.dimensions.map(identifier),
    ...columns.metrics.map(({ id, type }, at) => castExactly(identifier(id), from.types[at] ?? type, type)),
    '"attr_dependency"',
    '"_extra"',
  ];
  // Rows of one key say the same here: others fail their window.
  const one = `distinct on (${[...columns.dimensions, 'attr_dependency'].map(identifier).join(', ')}) `;
  const isLaidOut = from.isOrdered && !from.collapse;
  // Of several ways to say it the same one is kept each night.
  const order = [...(grain === null || isLaidOut ? [] : [identifier(grain)]), ...(from.collapse ? ['"_extra"'] : [])];
  const loadId = `[${from.loadIds.map((id) => id ?? 'null').join(', ')}][${WINDOW} + 1]::bigint`;
  const where = from.within === null ? '' : `\nwhere ${insideDays(grain, from.within)}`;
  return `insert into ${table} (${names.map(identifier).join(', ')}, "_load_id")
select ${from.collapse ? one : ''}${values.join(', ')}, ${loadId}
from (
${from.rows}
)${where}${order.length === 0 ? '' : `\norder by ${order.join(', ')}`}`;
}

/** How many values of a window in `typed` each of these metrics has that its type in the table does not hold exactly, as `m0`, `m1` …. */
export function countUnfit(
  metrics: readonly { readonly id: string; readonly typed: ColumnType; readonly stored: ColumnType }[],
  windowNo: number,
  inDays: string,
): string {
  const unfit = metrics.map(({ id, typed, stored }, at) => {
    const value = identifier(id);
    const back = castExactly(`try_${castExactly(value, typed, stored)}`, stored, typed);
    return `count(*) filter (where ${value} is not null and ${back} is distinct from ${value}) as m${at}`;
  });
  return `select\n    ${unfit.join(',\n    ')}\nfrom ${staging.typed}\nwhere ${WINDOW} = ${windowNo} and ${inDays}`;
}
