/**
 * What a table should hold and what lies there, and so which files to write, to keep and to remove.
 *
 * A file states what its rows follow from, so that a publication reads the rows of those periods alone that can have changed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { addDays, day } from '../model/calendar.ts';
import { type ColumnType, parseColumnType } from '../model/column-type.ts';
import { count, identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { isOfSlice, type LakeColumn, type LakeTable } from './lake-table.ts';

/** What bringing a copy up to the warehouse took. */
export interface CopyReport {
  /** Files readers query that were written; 0 when the copy was up to date. */
  readonly files_written: number;
  /** Files of periods without rows that were removed. */
  readonly files_removed: number;
  /** What stands beside the files and was written: the catalog, the manifest. */
  readonly also_written: readonly string[];
}

/** What the rows of a period are known by. */
export interface PeriodContent {
  /** Equal for equal rows. */
  readonly content: string;
  /** Which load brought all of the rows; empty where none did. */
  readonly stamp: string;
}

/**
 * What the files of a table state of their rows, by first day; under the empty text for a table that is not divided. Null where the
 * files of a period cannot stay: damaged, of other columns, several, or of another program.
 */
export type StatedFiles = ReadonlyMap<string, PeriodContent | null>;

/** A file as it should be. */
export interface PlannedFile extends PeriodContent {
  /** As in `StatedFiles`. */
  readonly period: string;
  readonly rows: number;
  /** Per column of an exact type the sum as decimal text; null when every value is. */
  readonly sums: Readonly<Record<string, string | null>>;
}

export interface TablePlan {
  readonly write: readonly PlannedFile[];
  /** Files whose rows are unchanged; the load that brought them may be another. */
  readonly keep: readonly { readonly period: string; readonly stamp: string }[];
  /** Periods of `StatedFiles` that have no rows any more. */
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
 * Compares a table of the warehouse with its files; writes nothing. A divided table has a file for each period with rows, any other
 * table one. Rows of a period are read only where their load is not the one with which they lie there.
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
  // Where most periods are to be read, one pass over all of them is shorter.
  const chosen = unread.size > stamps.length / 2 ? [] : [...unread.keys()];
  const isAllKnown = stamps.length > 0 && unread.size === 0;
  const summed = exactColumns(table);
  const contents = isAllKnown ? [] : await warehouse.rows(summarizePeriods(table, chosen), [], contentRow);
  for (const { period, rows, content, sums } of contents) {
    if (period === '' && table.key !== null) {
      throw new Failure('DATA_MALFORMED', `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`, {
        hint: 'Backfill the slice; its copies have no place for rows without a period.',
      });
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

/**
 * Which load brought the rows of each period of a slice, in order: the ledger says it, where it accounts for as many rows as the table
 * has; otherwise, as of a cube with zeros and of a table that is not divided, the rows themselves do, which takes a scan.
 */
async function readStamps(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
): Promise<readonly z.infer<typeof stampRow>[]> {
  const rows = table.rows(null);
  // A period of a cube is in the ledger once for each age.
  const ledger = `select p.start_day as period, sum(p.rows) as rows, min(p.load_id) as oldest, max(p.load_id) as newest
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    where p.slice = ${literal(table.name)} and p.rows > 0
    group by 1
    qualify sum(sum(p.rows)) over () = (select count(*) from ${rows})`;
  const scan = `select ${periodIn(table)} as period, count(*) as rows, min(_load_id) as oldest, max(_load_id) as newest
    from ${rows}
    group by 1`;
  const known = table.grain === null ? [] : await warehouse.rows(stampPeriods(table, ledger), [], stampRow);
  return known.length > 0 ? known : warehouse.rows(stampPeriods(table, scan), [], stampRow);
}

/**
 * Period (null: not divided) and stamp, empty where no single load brought all rows, from rows of period, rows, oldest and newest load.
 *
 * Only a load writes rows and gives them its id, so rows of one stamp are equal, but for a column that was removed: if it returns
 * before a publish without it, it holds nothing of those loads any more. So removals count too.
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

/** The first day of the period of a row, as SQL. */
const periodIn = ({ grain }: LakeTable): string =>
  grain === null ? 'null::date' : `cast(${identifier(grain)} as DATE)`;

/**
 * The condition for some periods, null for no condition: of none, or where one is no day. The bare column is compared, so that only the
 * blocks of the periods are read.
 */
export function conditionOn({ grain }: LakeTable, periods: readonly string[]): string | null {
  if (grain === null || periods.length === 0 || periods.includes('')) return null;
  const column = identifier(grain);
  if (grain !== 'hour') return `${column} in (${periods.map((each) => `DATE ${literal(each)}`).join(', ')})`;
  const after = (each: string): string => literal(addDays(day(each), 1));
  return periods
    .map((each) => `${column} >= TIMESTAMP ${literal(each)} and ${column} < TIMESTAMP ${after(each)}`)
    .join(' or ');
}

/** The numbers of a slice that add up exactly. */
const exactColumns = ({ columns, metrics }: LakeTable): { readonly name: string; readonly type: ColumnType }[] =>
  columns.flatMap(({ name, type: text }) => {
    const type = parseColumnType(text);
    return type === null || type.kind === 'DOUBLE' || !metrics.includes(name) ? [] : [{ name, type }];
  });

/**
 * Per period of those given, or of all where none is, in order: first day (null: not divided), rows, content, and the sums of
 * `exactColumns`; all in one scan.
 *
 * The content is the same exactly when the rows are, in any order, copies counted. A NULL adds nothing to it: a file without a
 * column is as good as one with NULLs alone. A cell is hashed with the name of its column, so that a value counts where it stands.
 */
function summarizePeriods(table: LakeTable, periods: readonly string[]): string {
  const cells = table.columns.map((column) => {
    const hashed = `hash(${literal(column.name)}, ${castCell(column)})::hugeint`;
    return `case when ${identifier(column.name)} is null then 0::hugeint else ${hashed} end`;
  });
  const sums = exactColumns(table).map(({ name, type }) => sumText(exactSum(identifier(name), type), type));
  return `select
    ${periodIn(table)}::varchar as period,
    count(*)::varchar as rows,
    concat_ws('-', count(*), coalesce(sum(hash(${cells.join('\n        + ')})), 0)) as content,
    [${sums.join(', ')}]::varchar[] as sums
from ${table.rows(conditionOn(table, periods))}
${table.grain === null ? '' : `group by ${periodIn(table)}\norder by ${periodIn(table)}`}`;
}

export const castCell = ({ name, type }: LakeColumn): string => `cast(${identifier(name)} as ${type})`;
