/**
 * Plans which files of a table to write, to keep and to remove.
 *
 * A file states which load its rows are from, so that a publish reads only the rows of periods that can have changed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { addDays, day } from '../model/calendar.ts';
import { type ColumnType, parseColumnType } from '../model/column-type.ts';
import { count, identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { isOfSlice, type LakeColumn, type LakeTable } from './lake-table.ts';

/** What it took to bring a copy up to date. */
export interface CopyReport {
  /** Files for readers that were written; 0 if the copy was up to date. */
  readonly files_written: number;
  /** Files that were removed because the warehouse no longer has their rows. */
  readonly files_removed: number;
  /** What else was written: the version, the catalog, the manifest. */
  readonly also_written: readonly string[];
}

/** What identifies the rows of a period. */
export interface PeriodContent {
  /** Equal for equal rows. */
  readonly content: string;
  /** The load that wrote all of the rows; empty if no single one did. */
  readonly stamp: string;
}

/**
 * What the files of a table state of their rows, by first day of the period; the key is empty for an undivided table. Null if
 * the files of a period cannot stay: damaged, with other columns, several, or of another program.
 */
export type StatedFiles = ReadonlyMap<string, PeriodContent | null>;

export interface PlannedFile extends PeriodContent {
  /** As in `StatedFiles`. */
  readonly period: string;
  readonly rows: number;
  /** Per column of an exact type the sum as decimal text; null if all values are NULL. */
  readonly sums: Readonly<Record<string, string | null>>;
}

export interface TablePlan {
  readonly write: readonly PlannedFile[];
  /** Files whose rows are unchanged; their stamp may be new. */
  readonly keep: readonly { readonly period: string; readonly stamp: string }[];
  /** Periods of `StatedFiles` that no longer have rows. */
  readonly removed: readonly string[];
}

const ofPeriod = z
  .string()
  .nullable()
  .transform((period) => period ?? '');
const contentRow = z.object({
  period: ofPeriod,
  rows: count,
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

/**
 * Compares a table of the warehouse with its files; writes nothing. A divided table has a file per period with rows, any other
 * has one. Reads a period's rows only if their load is not the file's. Throws `DATA_MALFORMED` for rows without a period.
 */
export async function planTable(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
  stored: StatedFiles,
): Promise<TablePlan> {
  const stamps = isOfSlice(table) ? await readStamps(warehouse, table) : [];
  const write: PlannedFile[] = [];
  const keep: { readonly period: string; readonly stamp: string }[] = [];
  const unread = new Map<string, string>();
  for (const { period, stamp } of stamps) {
    if (stored.get(period)?.stamp === stamp && stamp !== '') keep.push({ period, stamp });
    else unread.set(period, stamp);
  }
  const wanted = new Set(stamps.map(({ period }) => period));
  // If more than half of the periods must be read, one pass over all is faster.
  const chosen = unread.size > stamps.length / 2 ? [] : [...unread.keys()];
  const isAllKnown = stamps.length > 0 && unread.size === 0;
  const summed = exactColumns(table);
  const contents = isAllKnown
    ? []
    : await warehouse.rows(summarizePeriods(table, chosen), [], contentRow);
  for (const { period, rows, content, sums } of contents) {
    if (period === '' && table.key !== null) {
      throw new Failure(
        'DATA_MALFORMED',
        `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`,
        {
          hint: 'Backfill the slice; its copies cannot store rows without a period.',
        },
      );
    }
    const stamp = unread.get(period);
    if (stamp === undefined && wanted.has(period)) continue;
    wanted.add(period);
    const named = Object.fromEntries(summed.map(({ name }, place) => [name, sums[place] ?? null]));
    const file = { period, rows, content, stamp: stamp ?? '', sums: named };
    (stored.get(period)?.content === content ? keep : write).push(file);
  }
  return { write, keep, removed: [...stored.keys()].filter((period) => !wanted.has(period)) };
}

const stampRow = z.object({ period: ofPeriod, stamp: z.string() });

/** Which load wrote the rows of each period of a slice, by period: from the ledger if it is complete, else from a scan. */
async function readStamps(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
): Promise<readonly z.infer<typeof stampRow>[]> {
  const rows = table.rows(null);
  // The ledger is complete if it accounts for all rows, unlike for a cube with zeros; it lists a cube's period once per age.
  const ledger = `select p.start_day as period, sum(p.rows) as rows, min(p.load_id) as oldest, max(p.load_id) as newest
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    where p.slice = ${literal(table.name)} and p.rows > 0
    group by 1
    qualify sum(sum(p.rows)) over () = (select count(*) from ${rows})`;
  const scan = `select ${periodIn(table)} as period, count(*) as rows, min(_load_id) as oldest, max(_load_id) as newest
    from ${rows}
    group by 1`;
  const known =
    table.grain === null ? [] : await warehouse.rows(stampPeriods(table, ledger), [], stampRow);
  return known.length > 0 ? known : warehouse.rows(stampPeriods(table, scan), [], stampRow);
}

/**
 * Period (null: undivided) and stamp (empty if no single load wrote all rows), from rows of period, rows, oldest and newest
 * load. Only a load writes rows, with its id, so rows of one stamp are equal. The exception is a column that was removed and
 * added again between two publishes: its old values are deleted. So the stamp counts removals.
 */
const stampPeriods = ({ name }: LakeTable, stored: string): string => `with held as (
    ${stored}
)
select
    held.period::varchar as period,
    case
        when held.oldest = held.newest and l.load_id is not null
            then concat_ws('-', held.rows, l.load_id, l.run_id, epoch_us(l.loaded_at), removed.columns)
        else ''
    end as stamp
from held
cross join (
    select count(*) as columns
    from ripen.schema_changes
    where object = ${literal(name)} and change = 'column removed'
) as removed
left join ripen.loads as l on l.load_id = held.newest
order by held.period`;

/** The first day of a row's period, as SQL. */
const periodIn = ({ grain }: LakeTable): string =>
  grain === null ? 'null::date' : `cast(${identifier(grain)} as DATE)`;

/** The condition for some periods; null, for all rows, if the table is undivided, no period is given or one is empty. */
export function conditionOn({ grain }: LakeTable, periods: readonly string[]): string | null {
  if (grain === null || periods.length === 0 || periods.includes('')) return null;
  // The bare column is compared, so that only the blocks of the periods are read.
  const column = identifier(grain);
  if (grain !== 'hour')
    return `${column} in (${periods.map((each) => `DATE ${literal(each)}`).join(', ')})`;
  const after = (each: string): string => literal(addDays(day(each), 1));
  return periods
    .map(
      (each) => `${column} >= TIMESTAMP ${literal(each)} and ${column} < TIMESTAMP ${after(each)}`,
    )
    .join(' or ');
}

/** The metrics of a slice with exact sums. */
const exactColumns = ({
  columns,
  metrics,
}: LakeTable): { readonly name: string; readonly type: ColumnType }[] =>
  columns.flatMap(({ name, type: text }) => {
    const type = parseColumnType(text);
    return type === null || type.kind === 'DOUBLE' || !metrics.includes(name)
      ? []
      : [{ name, type }];
  });

/** For each given period, or all if none is given, in order: first day (null: undivided), rows, content, sums. */
function summarizePeriods(table: LakeTable, periods: readonly string[]): string {
  // The content is equal exactly if the rows are, in any order, with duplicates. A NULL adds nothing: a file without a column
  // equals one with only NULLs in it. A cell is hashed with its column's name, so that a value counts for its column.
  const cells = table.columns.map((column) => {
    const hashed = `hash(${literal(column.name)}, ${castCell(column)})::hugeint`;
    return `case when ${identifier(column.name)} is null then 0::hugeint else ${hashed} end`;
  });
  const sums = exactColumns(table).map(({ name, type }) =>
    sumText(exactSum(identifier(name), type), type),
  );
  return `select
    ${periodIn(table)}::varchar as period,
    count(*)::varchar as rows,
    concat_ws('-', count(*), coalesce(sum(hash(${cells.join('\n        + ')})), 0)) as content,
    [${sums.join(', ')}]::varchar[] as sums
from ${table.rows(conditionOn(table, periods))}
${table.grain === null ? '' : `group by ${periodIn(table)}\norder by ${periodIn(table)}`}`;
}

export const castCell = ({ name, type }: LakeColumn): string =>
  `cast(${identifier(name)} as ${type})`;
