/**
 * Plans which files of a table to write, to keep and to remove. A file states which load its rows are from, so that a publish
 * reads only the rows of periods that can have changed.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { addDays, day } from '../model/calendar.ts';
import { parseColumnType } from '../model/column-type.ts';
import { count, identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { isOfSlice, type LakeColumn, type LakeTable } from './lake-table.ts';

export interface CopyReport {
  /** Files for readers; 0 if the copy was up to date. */
  readonly files_written: number;
  /** Files that were removed because the warehouse no longer has their rows. */
  readonly files_removed: number;
  /** The version, the catalog or the manifest, if written. */
  readonly also_written: readonly string[];
}

/** What identifies the rows of a period. */
export interface PeriodContent {
  /** Equal for equal rows. */
  readonly content: string;
  /** The load that wrote all of the rows. */
  readonly stamp: string;
}

/**
 * What the files of a table state of their rows, by first day of the period, empty for an undivided table. Null if the files
 * cannot stay: damaged, with other columns, several, or of another program.
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

/**
 * Compares a table with its files, one per period, and reads a period's rows only if their load is not the file's. Throws
 * `DATA_MALFORMED` for rows without a period.
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
  for (const period of isAllKnown ? [] : await summarizePeriods(warehouse, table, chosen)) {
    const { period: start, rows, content } = period;
    if (start === '' && table.key !== null) {
      const message = `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`;
      throw new Failure('DATA_MALFORMED', message, {
        hint: 'Backfill the slice; its copies cannot store rows without a period.',
      });
    }
    const stamp = unread.get(start);
    if (stamp === undefined && wanted.has(start)) continue;
    wanted.add(start);
    (stored.get(start)?.content === content ? keep : write).push({ ...period, stamp: stamp ?? '' });
  }
  return { write, keep, removed: [...stored.keys()].filter((period) => !wanted.has(period)) };
}

const stampRow = z.object({ period: ofPeriod, stamp: z.string() });

/**
 * Reads the stamps of a slice's periods, from the ledger if it is complete, else from a scan. Rows of one stamp are equal: only
 * a load writes rows, with its id. The exception is a column that was removed and added again between two publishes, so the
 * stamp counts removals.
 */
async function readStamps(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
): Promise<readonly z.infer<typeof stampRow>[]> {
  const { name, grain } = table;
  const rows = table.rows(null);
  // The ledger is complete if it accounts for all rows, unlike for a cube with zeros; it lists a cube's period once per age.
  const ledger = `select p.start_day as period, sum(p.rows) as rows, min(p.load_id) as oldest, max(p.load_id) as newest
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    where p.slice = ${literal(name)} and p.rows > 0
    group by 1
    qualify sum(sum(p.rows)) over () = (select count(*) from ${rows})`;
  const scan = `select ${periodIn(table)} as period, count(*) as rows, min(_load_id) as oldest, max(_load_id) as newest
    from ${rows}
    group by 1`;
  const read = async (periods: string): Promise<z.infer<typeof stampRow>[]> => {
    const sql = `with held as (
    ${periods}
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
    return warehouse.rows(sql, [], stampRow);
  };
  const recorded = grain === null ? [] : await read(ledger);
  return recorded.length > 0 ? recorded : read(scan);
}

const periodIn = ({ grain }: LakeTable): string =>
  grain === null ? 'null::date' : `cast(${identifier(grain)} as DATE)`;

/** Returns the condition for some periods, or null for all rows. */
export function conditionOn({ grain }: LakeTable, periods: readonly string[]): string | null {
  if (grain === null || periods.length === 0 || periods.includes('')) return null;
  // The bare column is compared, so that only the blocks of the periods are read.
  const column = identifier(grain);
  if (grain !== 'hour')
    return `${column} in (${periods.map((start) => `DATE ${literal(start)}`).join(', ')})`;
  const conditions = periods.map((start) => {
    const end = literal(addDays(day(start), 1));
    return `${column} >= TIMESTAMP ${literal(start)} and ${column} < TIMESTAMP ${end}`;
  });
  return conditions.join(' or ');
}

const contentRow = z.object({
  period: ofPeriod,
  rows: count,
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

/** Reads rows, content and exact sums of the given periods, or of all if none is given. */
async function summarizePeriods(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
  periods: readonly string[],
): Promise<Omit<PlannedFile, 'stamp'>[]> {
  // The content is equal exactly if the rows are, in any order, with duplicates. A NULL adds nothing: a file without a column
  // equals one with only NULLs in it. A cell is hashed with its column's name, so that a value counts for its column.
  const cells = table.columns.map((column) => {
    const hashed = `hash(${literal(column.name)}, ${castCell(column)})::hugeint`;
    return `case when ${identifier(column.name)} is null then 0::hugeint else ${hashed} end`;
  });
  const exact = table.columns.flatMap(({ name, type: text }) => {
    const type = table.metrics.includes(name) ? parseColumnType(text) : null;
    if (type === null || type.kind === 'DOUBLE') return [];
    return [{ name, sum: sumText(exactSum(identifier(name), type), type) }];
  });
  const sql = `select
    ${periodIn(table)}::varchar as period,
    count(*)::varchar as rows,
    concat_ws('-', count(*), coalesce(sum(hash(${cells.join('\n        + ')})), 0)) as content,
    [${exact.map(({ sum }) => sum).join(', ')}]::varchar[] as sums
from ${table.rows(conditionOn(table, periods))}
${table.grain === null ? '' : `group by ${periodIn(table)}\norder by ${periodIn(table)}`}`;
  return (await warehouse.rows(sql, [], contentRow)).map(({ period, rows, content, sums }) => {
    const entries = exact.map(({ name }, index) => [name, sums[index] ?? null] as const);
    return { period, rows, content, sums: Object.fromEntries(entries) };
  });
}

export const castCell = ({ name, type }: LakeColumn): string =>
  `cast(${identifier(name)} as ${type})`;
