/**
 * Statements on the windows of a batch: its typed rows, their checks and sums, and how they replace what the slice's table
 * holds. Pure: names, types and days in, SQL out.
 *
 * What a batch is worked on in are temporary tables whose names hold a blank and columns whose names hold a comma: no
 * slice, dimension or metric can be called so.
 *
 * A deletion compares the bare date column with literals, so that it touches only the blocks that hold those days; an
 * expression over the column would read the whole table.
 */

import type { Day, DayInterval } from '../model/calendar.ts';
import { type ColumnType, FAST_DIGITS, formatColumnType } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Columns, MetricColumn } from './target.ts';

/** The temporary tables of a batch. */
export const staging = {
  /** One row per document of the files: its rows as JSON and what stands beside them. */
  documents: '"ripen documents"',
  /** One row per spooled file: path, window_no, part_no. */
  answers: '"ripen answers"',
  /** One row per window: window_no, start_day, end_day. */
  windows: '"ripen windows"',
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

/** One part of a window whose rows lie in a Parquet file. */
interface ColumnFile {
  readonly file: string;
  readonly windowNo: number;
  readonly partNo: number;
}

/**
 * The rows of Parquet files, each of one part, as `typed` has them; in the types of the slice's table, which may have become
 * wider since. One scan over a list of files: a union of as many scans takes twice the time to insert.
 */
export function columnRows(columns: Columns, files: readonly ColumnFile[]): string {
  const values = [
    ...columns.dimensions.map(identifier),
    ...columns.metrics.map(
      ({ id, type }) => `cast(${identifier(id)} as ${formatColumnType(type)}) as ${identifier(id)}`,
    ),
  ];
  const numbers = (of: (each: ColumnFile) => number): string => `[${files.map(of).join(', ')}][file_index::bigint + 1]`;
  return `select
    ${numbers(({ windowNo }) => windowNo)}::integer as ${WINDOW},
    ${numbers(({ partNo }) => partNo)}::integer as ${PART},
    ${values.join(',\n    ')},
    "attr_dependency",
    null::JSON as "_extra",
    false as ${ODD}
from read_parquet([${files.map(({ file }) => literal(file)).join(', ')}], hive_partitioning = false)`;
}

/** `typed`, of rows that lie in columns or, without files, of none. */
export function typedColumns(
  as: keyof typeof dropTyped,
  table: string,
  columns: Columns,
  files: readonly ColumnFile[],
): string {
  const rows =
    files.length > 0
      ? columnRows(columns, files)
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

/**
 * Keys that occur more than once in one of these windows: how often, and in how many different versions. What came unasked is
 * part of a version: it may be what tells the rows apart.
 */
export function duplicateKeys(columns: Columns, windowNos: readonly number[]): string {
  const names = [...columns.dimensions, 'attr_dependency'];
  const key = names.map((name) => `${literal(name)}: ${identifier(name)}`).join(', ');
  const values = columns.metrics.map(({ id }) => `${literal(id)}: ${identifier(id)}`).join(', ');
  const extra = `if("_extra" is null, null, json_object('_extra', "_extra"))`;
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
        ${extra} as row_extra
    from ${staging.typed}
    where ${inWindows} and ${digest} in (select digest from twice)
)
select
    window_no,
    count(*) as copies,
    count(distinct {v: row_values, e: row_extra}) as versions,
    to_json(row_key)::varchar as key,
    to_json(list_distinct(list(json_merge_patch(to_json(row_values), coalesce(row_extra, '{}')))))::varchar as found
from keyed
group by window_no, row_key
having count(*) > 1`;
}

/** Fills `totals` in one pass over `typed`; `start` is the first day of a report without a date dimension. */
export function totalTyped(columns: Columns, grain: DateDimension | null, start: Day): string {
  const sums = additiveOf(columns).map(({ id, type }, at) => {
    const name = identifier(id);
    // A sum of wider decimals would overflow sooner than that of the values, and the magnitude of the least integer does.
    const isNarrow = type.kind === 'DECIMAL' && type.width <= FAST_DIGITS;
    const magnitudes = isNarrow ? `sum(abs(${name}))::double` : `sum(abs(${name}::double))`;
    return `,
    sum(${name}) as s${at}, ${magnitudes} as g${at}, coalesce(count_if(${name} <> 0), 0) as z${at}`;
  });
  return `create or replace temp table ${staging.totals} as
select
    ${WINDOW},
    ${PART},
    ${periodOf(grain, start)} as p,
    count(*) as n${sums.join('')}
from ${staging.typed}
group by all`;
}

/**
 * Per window and part in `totals` the exact sums and the sums of magnitudes of its additive metrics, as lists in configured
 * order, and of how many values they are.
 */
export function sumParts(columns: Columns): string {
  const metrics = additiveOf(columns);
  const each = (sum: (at: number) => string): string => metrics.map((_, at) => sum(at)).join(', ');
  return `select
    ${WINDOW} as window_no,
    ${PART} as part_no,
    [${each((at) => `sum(s${at})::varchar`)}]::varchar[] as sums,
    [${each((at) => `sum(g${at})`)}]::double[] as magnitudes,
    [${each((at) => `sum(z${at})`)}]::varchar[] as non_zero
from ${staging.totals}
group by ${WINDOW}, ${PART}`;
}

/** What of a window is added up, apart from `totals`. */
export interface Summed {
  readonly windowNo: number;
  readonly isDistinct: boolean;
  /** Whether the rows in `rejected` are among them. */
  readonly withRejected: boolean;
}

/** The same for the rows of one window of `typed`. */
export function sumWindow(columns: Columns, { windowNo, isDistinct, withRejected }: Summed): string {
  const metrics = additiveOf(columns).map(({ id }) => identifier(id));
  const key = [...columns.dimensions.map(identifier), 'attr_dependency', '"_extra"'];
  const from = [staging.typed, ...(withRejected ? [staging.rejected] : [])].map((table) => `from ${table}`);
  return `select
    ${WINDOW} as window_no,
    ${PART} as part_no,
    [${metrics.map((name) => `sum(${name})::varchar`).join(', ')}]::varchar[] as sums,
    [${metrics.map((name) => `sum(abs(${name}::double))`).join(', ')}]::double[] as magnitudes,
    [${metrics.map((name) => `count(*) filter (where ${name} <> 0)`).join(', ')}]::varchar[] as non_zero
from (
    select ${isDistinct ? 'distinct ' : ''}${[WINDOW, PART, ...key, ...metrics].join(', ')}
    from (${from.join(' union all by name ')})
    where ${WINDOW} = ${windowNo}
)
group by ${WINDOW}, ${PART}`;
}

/** The most digits after the point that a part's values of a metric have. */
export function fractionDigits(metric: string, windowNo: number, partNo: number): string {
  return `select max(length(rtrim(split_part(cast(${identifier(metric)} as VARCHAR), '.', 2), '0'))) as digits
from ${staging.typed}
where ${WINDOW} = ${windowNo} and ${PART} = ${partNo}`;
}

/** Rows per window and period in `totals`. */
export const countPeriods = `select ${WINDOW} as window_no, p as start_day, sum(n)::bigint as rows
from ${staging.totals}
group by 1, 2`;

/** Windows with a period in `totals` that begins outside their days. */
export const windowsOutside = `select distinct t.${WINDOW} as window_no
from ${staging.totals} as t
join ${staging.windows} as w on w.window_no = t.${WINDOW}
where t.p < w.start_day or t.p >= w.end_day`;

/** Windows that hold a row outside their days, with one such date. */
export function rowsOutside(grain: DateDimension): string {
  const column = `t.${identifier(grain)}`;
  return `select t.${WINDOW} as window_no, count(*) as rows, min(${column})::varchar as example
from ${staging.typed} as t
join ${staging.windows} as w on w.window_no = t.${WINDOW}
where ${column} < w.start_day or ${column} >= w.end_day
group by 1`;
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
  const type = grain === 'hour' ? 'TIMESTAMP' : 'DATE';
  const column = identifier(grain);
  return `${column} >= ${type} ${literal(days.start)} and ${column} < ${type} ${literal(days.end)}`;
}

/** The rows from a day on; every row for a report without a date dimension. */
export function sinceDay(grain: DateDimension | null, day: Day): string {
  if (grain === null) return 'true';
  return `${identifier(grain)} >= ${grain === 'hour' ? 'TIMESTAMP' : 'DATE'} ${literal(day)}`;
}

/** The first day of the period a row belongs to; `start` for a report without a date dimension. */
function periodOf(grain: DateDimension | null, start: Day): string {
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
    ...columns.metrics.map(({ id, type }) => `cast(${identifier(id)} as ${formatColumnType(type)})`),
    '"attr_dependency"',
    '"_extra"',
  ];
  // Rows of one key are identical here: others fail their window.
  const one = `distinct on (${[...columns.dimensions, 'attr_dependency'].map(identifier).join(', ')}) `;
  const isLaidOut = from.isOrdered && !from.collapse;
  const loadId = `[${from.loadIds.map((id) => id ?? 'null').join(', ')}][${WINDOW} + 1]::bigint`;
  const where = from.within === null ? '' : `\nwhere ${insideDays(grain, from.within)}`;
  return `insert into ${table} (${names.map(identifier).join(', ')}, "_load_id")
select ${from.collapse ? one : ''}${values.join(', ')}, ${loadId}
from (
${from.rows}
)${where}${grain === null || isLaidOut ? '' : `\norder by ${identifier(grain)}`}`;
}

/** How many values of a window in `typed` each of these metrics has that a type does not hold exactly, as `m0`, `m1` …. */
export function countUnfit(
  metrics: readonly { readonly id: string; readonly type: ColumnType }[],
  windowNo: number,
  inDays: string,
): string {
  const unfit = metrics.map(
    ({ id, type }, at) =>
      `count(*) filter (where ${identifier(id)} is not null and try_cast(${identifier(id)} as ${formatColumnType(type)}) is distinct from ${identifier(id)}) as m${at}`,
  );
  return `select\n    ${unfit.join(',\n    ')}\nfrom ${staging.typed}\nwhere ${WINDOW} = ${windowNo} and ${inDays}`;
}

/** Per period of some days of the table: its rows (`n`) and the totals of its additive metrics (`s0`, `s1` …), as a table. */
export function totalPeriods(
  name: 'before' | 'after',
  target: { readonly table: string; readonly columns: Columns },
  grain: DateDimension | null,
  ranges: readonly DayInterval[],
): string {
  const sums = additiveOf(target.columns).map(({ id }, at) => `,\n    sum(${identifier(id)}) as s${at}`);
  // Each range by itself: only so does each touch no block but its own.
  const parts = ranges.map(
    (days) => `select
    ${periodOf(grain, days.start)} as p,
    count(*) as n${sums.join('')}
from ${target.table}
where ${insideDays(grain, days)}
group by 1`,
  );
  return `create or replace temp table ${staging[name]} as\n${parts.join('\nunion all\n')}`;
}

/** The same for the rows that windows in `totals` bring. */
export function totalAfter(columns: Columns, windowNos: readonly number[]): string {
  const sums = additiveOf(columns).map((_, at) => `,\n    sum(s${at}) as s${at}`);
  return `create or replace temp table ${staging.after} as
select
    p,
    sum(n) as n${sums.join('')}
from ${staging.totals}
where ${WINDOW} in (${windowNos.join(', ')})
group by 1`;
}

/**
 * Totals that differ, for periods and metrics that were loaded before, and whether they were final then; one of more than 26
 * digits before the point is recorded as NULL. Metrics in `except` are left out. Parameters: $1 slice, $2 fingerprint, $3 the
 * loads (JSON list of load_id, seen_at, start_day, end_day).
 */
export function recordRestatements(columns: Columns, except: ReadonlySet<string>): string | null {
  const parts = additiveOf(columns).flatMap(({ id, type }, at) =>
    except.has(id)
      ? []
      : [
          `select
    p,
    ${literal(id)} as metric,
    try_cast(b.s${at} as DECIMAL(38, 12)) as before,
    try_cast(a.s${at} as DECIMAL(38, 12)) as after
from ${staging.before} as b
full join ${staging.after} as a using (p)
where ${differs(type, `b.s${at}`, `a.s${at}`)}`,
        ],
  );
  if (parts.length === 0) return null;
  return `insert into ripen.restatements
with loads as (
    select unnest(
        from_json($3::json, '[{"load_id":"BIGINT","seen_at":"TIMESTAMP","start_day":"DATE","end_day":"DATE"}]'),
        recursive := true
    )
)
select
    $1, m.p, m.metric, m.before, m.after, i.seen_at, i.load_id,
    coalesce(h.sound_at >= h.ends_at + to_seconds(f.horizon_seconds + f.settle_seconds), false) as after_final
from (
${parts.join('\nunion all\n')}
) as m
join loads as i on i.start_day <= m.p and m.p < i.end_day
join ripen.periods as h on h.slice = $1 and h.fingerprint = $2 and h.start_day = m.p
join ripen.loads as l on l.load_id = h.load_id and list_contains(l.metrics, m.metric)
left join ripen.slice_metrics as f on f.slice = $1 and f.metric = m.metric`;
}

/** Sums of doubles depend on the order of addition, which no value has to do with. */
function differs(type: ColumnType, before: string, after: string): string {
  const isOther = `${before} is distinct from ${after}`;
  if (type.kind !== 'DOUBLE') return isOther;
  return `${isOther} and not coalesce(abs(${before} - ${after}) <= 1e-9 * greatest(abs(${before}), abs(${after})), false)`;
}
