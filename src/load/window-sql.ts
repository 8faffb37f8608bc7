/**
 * Statements on the windows of a batch: its rows, their checks, and how they replace what the slice's table holds. Pure: names,
 * types and days in, SQL out.
 *
 * A batch is worked on in temporary relations whose names hold a blank and columns whose names hold a comma: no slice, dimension
 * or metric can be called so.
 *
 * A deletion compares the bare date column with literals, so that it touches only the blocks that hold those days; an
 * expression over the column would read the whole table.
 */

import type { Day, DayInterval } from '../model/calendar.ts';
import { type ColumnType, formatColumnType } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import type { CubeMetric } from '../model/slice.ts';
import { BODY, EXTRA, REJECTED as REJECTED_COLUMN } from '../spool/columns/reading.ts';
import { dayLiteral, identifier, literal } from '../warehouse/sql.ts';
import type { ReadAnswer } from './read-answers.ts';
import { type Columns, type MetricColumn, tableColumns } from './target.ts';

/** The temporary relations of a batch. */
export const staging = {
  /** A view: every row in the types of the batch, beside WINDOW, PART and REJECTED. */
  typed: '"ripen typed"',
  /** Rows and totals of `typed` per WINDOW, PART, period and REJECTED: what proof, ledger and restatements are made of. */
  totals: '"ripen totals"',
  /** Totals per period before and after a window was replaced. */
  before: '"ripen before"',
  after: '"ripen after"',
} as const;

/** Number of the window in its batch, of the part in its window, and why a row is not stored, NULL for one that is. */
export const [WINDOW, PART, REJECTED] = ['"window,"', '"part,"', identifier(REJECTED_COLUMN)] as const;

/** One answer to a part of a window, whose rows lie in a Parquet file, by themselves or among those of others. */
export interface StagedPart extends Pick<
  ReadAnswer,
  'file' | 'firstBody' | 'bodies' | 'types' | 'hasExtra' | 'hasRejected' | 'isDistinct'
> {
  readonly pages: { readonly length: number };
  readonly windowNo: number;
  readonly partNo: number;
}

/** Number of a row among those of one answer that have its key. */
const COPY = '"copy,"';

/** An answer that has rows, as it was read. */
type ReadPart = ReadAnswer & StagedPart;

/** The rows of a batch. */
export interface Staged {
  /** Those of the slice's table, as wide as the batch needs them. */
  readonly columns: Columns;
  readonly parts: readonly ReadPart[];
  readonly replacing: Replacing;
}

/** Expressions to take in place of a file's own columns, by name. */
export type Replacing = ReadonlyMap<string, string>;

/**
 * The rows of parts in the types of some columns, which hold everything that those of the files do. One scan over a list of files: a
 * union of as many scans takes twice the time to insert. A scan reads all of its files in the types of the first, and rounds what
 * does not fit them, so files of other types have one of their own.
 */
export function stagedRows(columns: Columns, parts: readonly StagedPart[], replacing: Replacing): string {
  if (isBatched(parts)) return joinedRows(columns, parts, replacing);
  const alike = grouped(parts, ({ types }) => types.map(formatColumnType).join());
  return alike.map((some) => rowsAlike(columns, some, replacing)).join('\nunion all\n');
}

const placeOf = ({ windowNo, partNo }: StagedPart): string => `${windowNo} ${partNo}`;

/** Whether a part of a window was answered in batches of its metrics. */
export const isBatched = (parts: readonly StagedPart[]): boolean => new Set(parts.map(placeOf)).size < parts.length;

/**
 * The same where parts were answered in batches: one row for each key of a part, with the values of every batch that has it, as a
 * file has a column for each metric, NULL in the rows of other batches. A key that a batch has twice stays two rows, the first
 * with the first of every batch, so that the check of keys finds it.
 */
function joinedRows(columns: Columns, parts: readonly StagedPart[], replacing: Replacing): string {
  const batches = grouped(parts, placeOf);
  const most = Math.max(...batches.map(({ length }) => length));
  const rounds = Array.from({ length: most }, (_, at) => batches.flatMap((batch) => batch.slice(at, at + 1)));
  const ownKey = [WINDOW, PART, ...columns.dimensions.map(identifier), '"attr_dependency"'];
  const isDistinct = parts.every((part) => part.isDistinct);
  const copy = isDistinct ? '' : `, row_number() over (partition by ${ownKey.join(', ')}) as ${COPY}`;
  const key = isDistinct ? ownKey : [...ownKey, COPY];
  const either = (name: string): string => `coalesce(a.${name}, b.${name}) as ${name}`;
  const extra = identifier(EXTRA);
  const values = [
    ...key.map(either),
    ...columns.metrics.map(({ id }) => either(identifier(id))),
    `coalesce(json_merge_patch(a.${extra}, b.${extra}), a.${extra}, b.${extra}) as ${extra}`,
    either(REJECTED),
  ].join(',\n    ');
  const isSame = key.map((name) => `a.${name} is not distinct from b.${name}`).join(' and ');
  return rounds
    .map((batch) => `select *${copy} from (\n${stagedRows(columns, batch, replacing)}\n)`)
    .reduce((one, other) => `select\n    ${values}\nfrom (${one}) as a full join (${other}) as b on ${isSame}`);
}

function rowsAlike(columns: Columns, parts: readonly StagedPart[], replacing: Replacing): string {
  const valueOf = (name: string): string => replacing.get(name) ?? identifier(name);
  const values = [
    ...columns.dimensions.map((name) =>
      replacing.has(name) ? `${valueOf(name)} as ${identifier(name)}` : identifier(name),
    ),
    ...columns.metrics.map(
      ({ id, type }, at) => `${castExactly(valueOf(id), parts[0]?.types[at] ?? type, type)} as ${identifier(id)}`,
    ),
    '"attr_dependency"',
    // What no row has is not read.
    parts.some(({ hasExtra }) => hasExtra) ? identifier(EXTRA) : `null::JSON as ${identifier(EXTRA)}`,
    parts.some(({ hasRejected }) => hasRejected) ? REJECTED : `null::VARCHAR as ${REJECTED}`,
  ];
  const files = grouped(parts, ({ file }) => file);
  const lists = files.map(byBody);
  const isShared = lists.some(({ length }) => length > 1);
  const before = lists.map((_, at) => lists.slice(0, at).flat().length);
  const place = isShared
    ? `[${before.join(', ')}][file_index::bigint + 1] + ${identifier(BODY)} + 1`
    : 'file_index::bigint + 1';
  const numbers = (of: (part: StagedPart) => number): string =>
    `[${lists.flatMap((list) => list.map((part) => (part === null ? 'null' : of(part)))).join(', ')}][${place}]`;
  const isPartly = lists.flat().includes(null);
  return `select
    ${numbers(({ windowNo }) => windowNo)}::integer as ${WINDOW},
    ${numbers(({ partNo }) => partNo)}::integer as ${PART},
    ${values.join(',\n    ')}
from read_parquet([${files.map(([part]) => literal(part?.file ?? '')).join(', ')}], hive_partitioning = false)${isPartly ? `\nwhere ${WINDOW} is not null` : ''}`;
}

/** By number of the body, the part of one file that it belongs to; null for that of a part that is not wanted. */
function byBody(parts: readonly StagedPart[]): (StagedPart | null)[] {
  const found = Array.from({ length: parts[0]?.bodies ?? 0 }, (): StagedPart | null => null);
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

/** The columns of `typed` without a value. */
const noRow = ({ dimensions, metrics }: Columns): string =>
  tableColumns({ dimensions, metrics })
    .flatMap(({ name, type }) => (name === '_load_id' ? [] : [`null::${type} as ${identifier(name)}`]))
    .join(', ');

/** The view `typed`; without parts of no rows. */
export function stageRows({
  columns,
  parts,
  replacing,
}: Omit<Staged, 'parts'> & { readonly parts: readonly StagedPart[] }): string {
  const rows =
    parts.length > 0
      ? stagedRows(columns, parts, replacing)
      : `select 0 as ${WINDOW}, 0 as ${PART}, ${noRow(columns)}, null::VARCHAR as ${REJECTED} limit 0`;
  return `create or replace temp view ${staging.typed} as\n${rows}`;
}

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

/** The rows of some days that hold the metrics of these columns: every row outside of a cube. */
export function rowsOf(columns: Columns, grain: DateDimension | null, days: DayInterval): string {
  if (columns.cube === undefined) return insideDays(grain, days);
  const ids = columns.metrics.map(({ id }) => literal(id)).join(', ');
  return `${insideDays(grain, days)} and metric in (${ids})`;
}

/** Rows that windows get, and how. */
interface Inserted {
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
  if (columns.cube !== undefined) return insertCells(table, { ...columns, cube: columns.cube }, grain, from);
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

/** The rows of a cube with a column for each of some metrics, of which one has a value. */
export function metricColumns(
  table: string,
  { dimensions, metrics, cube }: Columns & Required<Pick<Columns, 'cube'>>,
): string {
  const cells = metrics.map(
    ({ id, type }) =>
      `case when metric = ${literal(id)} then ${castExactly('"value"', cube.value, type)} end as ${identifier(id)}`,
  );
  const ids = metrics.map(({ id }) => literal(id)).join(', ');
  return `(select ${[...dimensions.map(identifier), ...cells].join(', ')} from ${table} where metric in (${ids}))`;
}

/** Copies staged rows into the table of a cube, a row for each value. */
function insertCells(
  table: string,
  { dimensions, metrics, cube }: Columns & Required<Pick<Columns, 'cube'>>,
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
