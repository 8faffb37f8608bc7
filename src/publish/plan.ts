/** What a table should hold and what lies there, and so which files to write, to keep and to remove. Writes nothing. */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { day, type Day } from '../model/calendar.ts';
import { count } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { stampPeriods, summarizePeriods } from './lake-sql.ts';
import type { LakeTable } from './lake-table.ts';
import { inBatches, type LakeStore, type StoredFile } from './store.ts';

/** What the rows of a period are known by. */
export interface PeriodContent {
  readonly rows: number;
  /** Equal for equal rows. */
  readonly content: string;
  /** Which load brought all of the rows; empty where none did. */
  readonly stamp: string;
  /** Per column of an exact type the sum as decimal text; null when every value is. */
  readonly sums: Readonly<Record<string, string | null>>;
}

/**
 * What the files of a table state of their rows, by first day; under the empty text for a table that is not divided. Null where the
 * files of a period cannot stay: damaged, of other columns, several, or of another program.
 */
export type StatedFiles = ReadonlyMap<string, PeriodContent | null>;

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

const stampRow = z.object({ period: z.string().nullable(), stamp: z.string().nullable() });
const contentRow = z.object({
  period: z.string().nullable(),
  rows: count,
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

/**
 * Compares a table of the warehouse with its files. A divided table has a file for each period with rows, any other table one.
 * Rows of a period are read only where their load is not the one whose rows lie there.
 */
export async function planTable(warehouse: Warehouse, table: LakeTable, held: StatedFiles): Promise<TablePlan> {
  const stamps = table.isLoaded ? await warehouse.rows(stampPeriods(table), [], stampRow) : [];
  const write: PlannedFile[] = [];
  const keep: PlannedFile[] = [];
  const unread = new Map(stamps.map(({ period, stamp }) => [period ?? '', stamp ?? '']));
  const wanted = new Set(unread.keys());
  for (const [key, stamp] of unread) {
    const stated = held.get(key);
    if (stamp === '' || stated?.stamp !== stamp) continue;
    keep.push({ ...stated, period: periodOf(key) });
    unread.delete(key);
  }
  const isAllKnown = stamps.length > 0 && unread.size === 0;
  // Where most periods are to be read, one pass over all of them is shorter.
  const chosen = unread.size > stamps.length / 2 ? [] : [...unread.keys()].map(periodOf);
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

const periodOf = (key: string): Day | null => (key === '' ? null : day(key));

function withoutPeriod(table: LakeTable, rows: number): Failure {
  return new Failure('DATA_MALFORMED', `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`, {
    hint: 'Backfill the slice; its copies have no place for rows without a period.',
  });
}

/** A file to write: its path, the statement that writes its draft, and the rows it must get. */
export interface NewFile {
  readonly path: string;
  readonly rows: number;
  readonly copyTo: (draft: string) => string;
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

/** A file that was written: what DuckDB says of it, and how it lies there. */
export type WrittenFile<F> = F & { readonly copied: CopyRow; readonly stored: StoredFile };

/** Writes files one query at a time and puts them in place. */
export async function writeFiles<F extends NewFile>(
  {
    warehouse,
    store,
    signal,
  }: { readonly warehouse: Warehouse; readonly store: LakeStore; readonly signal: AbortSignal },
  files: readonly F[],
): Promise<WrittenFile<F>[]> {
  const drafted = new Map<string, CopyRow>();
  const written: WrittenFile<F>[] = [];
  const draft = async ({ path, rows, copyTo }: F): Promise<void> => {
    signal.throwIfAborted();
    const [row] = await warehouse.rows(copyTo(await store.draft(path)), [], copyRow);
    if (row?.count !== rows) throw incomplete(path, row?.count ?? 0, rows);
    drafted.set(path, row);
  };
  const place = async (file: F): Promise<void> => {
    const copied = drafted.get(file.path);
    const stored = await store.place(file.path);
    if (copied !== undefined) written.push({ ...file, copied, stored });
  };
  await inBatches(store, files, place, draft);
  return written;
}

function incomplete(path: string, written: number, expected: number): Failure {
  return new Failure('STORAGE_FAILED', `The file ${path} got ${written} rows where the period had ${expected}.`, {
    facts: { written, expected },
    hint: 'Run `ripen publish` again; the old file is still served.',
  });
}
