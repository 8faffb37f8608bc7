/** What a table should hold and what lies there, and so which files to write, to keep and to remove; and how a file is written. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import { BIGINT, parseColumnType } from '../model/column-type.ts';
import { count, identifier, literal, exactSum, sumText } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { fileColumns, isOfSlice, type LakeColumn, type LakeTable } from './lake-table.ts';
import {
  conditionOn,
  isSameStamp,
  type PeriodContent,
  periodIn,
  periodOf,
  readStamps,
  type StatedFiles,
} from './stamps.ts';
import { inBatches, type LakeStore, type StoredFile } from './store.ts';

/** What bringing a copy up to the warehouse took. */
export interface CopyReport {
  /** Files readers query that were written; 0 when the copy was up to date. */
  readonly files_written: number;
  /** Files of periods without rows that were removed. */
  readonly files_removed: number;
  /** What stands beside the files and was written: the catalog, the manifest. */
  readonly also_written: readonly string[];
}

/** A file as it should be; the period is null for a table that is not divided. */
export interface PlannedFile extends PeriodContent {
  readonly period: Day | null;
}

export interface TablePlan {
  readonly write: readonly PlannedFile[];
  /** Files whose rows are unchanged; the load that brought them may be another. */
  readonly keep: readonly PlannedFile[];
  /** Keys of `StatedFiles` that have no rows any more. */
  readonly removed: readonly string[];
}

const contentRow = z.object({
  period: z.string().nullable(),
  rows: count,
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

/**
 * Compares a table of the warehouse with its files; writes nothing. A divided table has a file for each period with rows, any other
 * table one. Rows of a period are read only where their load, or
 * a link they may belong to, is not the one with which they lie there.
 */
export async function planTable(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
  held: StatedFiles,
): Promise<TablePlan> {
  const stamps =
    isOfSlice(table) || table.linked !== null ? await readStamps(warehouse, table, held) : new Map<string, string>();
  const write: PlannedFile[] = [];
  const keep: PlannedFile[] = [];
  const unread = new Map(stamps);
  const wanted = new Set(unread.keys());
  for (const [key, stamp] of unread) {
    const stated = held.get(key);
    if (stated === null || stated === undefined || stamp === '' || !isSameStamp(stated.stamp, stamp)) continue;
    keep.push({ ...stated, stamp, period: periodOf(key) });
    unread.delete(key);
  }
  const isAllKnown = stamps.size > 0 && unread.size === 0;
  // Where most periods are to be read, one pass over all of them is shorter.
  const chosen = unread.size > stamps.size / 2 || unread.has('') ? [] : [...unread.keys()].map(periodOf);
  const contents = isAllKnown ? [] : await warehouse.rows(summarizePeriods(table, chosen), [], contentRow);
  for (const { period, rows, content, sums } of contents) {
    if (period === null && table.key !== null) throw withoutPeriod(table, rows);
    const key = period ?? '';
    const stamp = unread.get(key);
    if (stamp === undefined && wanted.has(key)) continue;
    wanted.add(key);
    const named = Object.fromEntries(table.summed.map((name, place) => [name, sums[place] ?? null]));
    const file = { period: periodOf(key), rows, content, stamp: stamp ?? '', sums: named };
    (held.get(key)?.content === content ? keep : write).push(file);
  }
  return { write, keep, removed: [...held.keys()].filter((key) => !wanted.has(key)) };
}

function withoutPeriod(table: LakeTable, rows: number): Failure {
  return new Failure('DATA_MALFORMED', `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`, {
    hint: 'Backfill the slice; its copies have no place for rows without a period.',
  });
}

/**
 * Per period of those given, or of all where none is, in order: first day (null: not divided), rows, content, and the exact sums in
 * the order of `summed`; all in one scan.
 *
 * The content is the same exactly when the rows are, in any order, copies counted. A NULL adds nothing to it: a file without a
 * column is as good as one with NULLs alone. A cell is hashed with the name of its column, so that a value counts where it stands.
 */
function summarizePeriods(table: LakeTable, periods: readonly (Day | null)[]): string {
  const cells = table.columns.map((column) => {
    const hashed = `hash(${literal(column.name)}, ${castCell(column)})::hugeint`;
    return `case when ${identifier(column.name)} is null then 0::hugeint else ${hashed} end`;
  });
  const types = new Map(table.columns.map(({ name, type }) => [name, parseColumnType(type)]));
  const sums = table.summed.map((name) => {
    const type = types.get(name) ?? BIGINT;
    return sumText(exactSum(identifier(name), type), type);
  });
  return `select
    ${periodIn(table)}::varchar as period,
    count(*)::varchar as rows,
    concat_ws('-', count(*), coalesce(sum(hash(${cells.join('\n        + ')})), 0)) as content,
    [${sums.join(', ')}]::varchar[] as sums
from ${table.rows(conditionOn(table, periods))}
${table.grain === null ? '' : `group by ${periodIn(table)}\norder by ${periodIn(table)}`}`;
}

export const castCell = ({ name, type }: LakeColumn): string => `cast(${identifier(name)} as ${type})`;

/** How the columns of a file are written: each by an expression, and DuckDB's further options. */
export interface FileForm {
  readonly cell: (column: LakeColumn) => string;
  readonly options?: string;
}

/** Writes a period's rows, or all of an undivided table, as one Parquet file in the order loads laid them out. */
function copyPeriod(table: LakeTable, period: Day | null, path: string, { cell, options = '' }: FileForm): string {
  const cells = fileColumns(table).map((column) => `${cell(column)} as ${identifier(column.name)}`);
  return `copy (
select
    ${cells.join(',\n    ')}
from ${table.rows(conditionOn(table, [period]))}
) to ${literal(path)} (format parquet, compression zstd, return_stats${options})`;
}

const copyRow = z.object({
  count: z.coerce.number(),
  file_size_bytes: z.coerce.number(),
  column_statistics: z.array(
    z.object({ key: z.string(), value: z.array(z.object({ key: z.string(), value: z.string() })) }),
  ),
});

/** What DuckDB says of a file it wrote. */
export type CopyRow = z.infer<typeof copyRow>;

/** A file that was written: where, what DuckDB says of it, and how it lies there. */
export interface WrittenFile extends PlannedFile {
  readonly path: string;
  readonly copied: CopyRow;
  readonly stored: StoredFile;
}

/** Writes files of a table one query at a time and puts them in place, each where `pathOf` says. */
export async function writeFiles(
  place: { readonly warehouse: Warehouse; readonly store: LakeStore; readonly signal: AbortSignal },
  table: LakeTable,
  planned: readonly PlannedFile[],
  { pathOf, ...form }: FileForm & { readonly pathOf: (period: Day | null) => string },
): Promise<WrittenFile[]> {
  const { warehouse, store, signal } = place;
  const written: WrittenFile[] = [];
  const draft = async (file: PlannedFile): Promise<Omit<WrittenFile, 'stored'>> => {
    signal.throwIfAborted();
    const path = pathOf(file.period);
    const sql = copyPeriod(table, file.period, await store.draft(path), form);
    const [copied] = await warehouse.rows(sql, [], copyRow);
    if (copied?.count !== file.rows) throw incomplete(path, copied?.count ?? 0, file.rows);
    return { ...file, path, copied };
  };
  await inBatches(store, planned, draft, async (file) => {
    written.push({ ...file, stored: await store.place(file.path) });
  });
  return written;
}

function incomplete(path: string, written: number, expected: number): Failure {
  return new Failure('STORAGE_FAILED', `The file ${path} got ${written} rows where the period had ${expected}.`, {
    facts: { written, expected },
    hint: 'Run `ripen publish` again; the old file is still served.',
  });
}
