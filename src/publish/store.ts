/**
 * A store of tables, on disk or in an object store. Paths are relative to the target, with `/`. A placed file appears whole.
 * `placeNew` never replaces other content, which makes a Delta commit atomic.
 */

import { writeFile } from 'node:fs/promises';

import * as z from 'zod';

import { identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { fileColumns, type LakeTable } from './lake-table.ts';
import { castCell, conditionOn, type PlannedFile } from './plan.ts';

export interface StoredFile {
  readonly bytes: number;
  /** Differs between two contents of one path. */
  readonly etag: string | null;
  /** By the store's clock, in whole milliseconds since 1970; Infinity if unknown. */
  readonly modifiedMs: number;
}

export interface LakeStore {
  /** Where readers find it: an absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly isOnDisk: boolean;
  readonly atOnce: number;
  /** Every file below a folder, by path; all files for the empty text. */
  list(folder: string): Promise<ReadonlyMap<string, StoredFile>>;
  /** Returns null if the file does not exist. */
  read(path: string): Promise<string | null>;
  /** A local path where DuckDB finds the content of a file. */
  fetch(path: string): Promise<string>;
  /** A local path to write the next content of a file to. */
  draft(path: string): Promise<string>;
  /** Puts a file's draft in its place, over any other content. */
  place(path: string): Promise<StoredFile>;
  /** Puts a file's draft in its place. Returns false and changes nothing if other content is there. */
  placeNew(path: string): Promise<boolean>;
  /** Removes a file if it exists, and the folders above it that are then empty. */
  remove(path: string): Promise<void>;
  /** Closes connections and removes drafts that were not placed. */
  close(): Promise<void>;
}

export async function draftText(store: LakeStore, path: string, text: string): Promise<void> {
  await writeFile(await store.draft(path), text);
}

const copyRow = z.object({
  count: z.coerce.number(),
  file_size_bytes: z.coerce.number(),
  column_statistics: z.array(
    z.object({ key: z.string(), value: z.array(z.object({ key: z.string(), value: z.string() })) }),
  ),
});

export type CopyRow = z.infer<typeof copyRow>;

interface WrittenFile extends PlannedFile {
  readonly path: string;
  readonly copied: CopyRow;
  readonly stored: StoredFile;
}

/** Writes files of a table one query at a time, and places as many at once as the store allows. */
export async function writeFiles(
  place: { readonly warehouse: Warehouse; readonly store: LakeStore; readonly signal: AbortSignal },
  table: LakeTable,
  planned: readonly PlannedFile[],
  {
    pathOf,
    options = '',
  }: { readonly pathOf: (period: string) => string; readonly options?: string },
): Promise<WrittenFile[]> {
  const { warehouse, store, signal } = place;
  const cells = fileColumns(table).map(
    (column) => `${castCell(column)} as ${identifier(column.name)}`,
  );
  const written: WrittenFile[] = [];
  for (let start = 0; start < planned.length; start += store.atOnce) {
    const drafts: Omit<WrittenFile, 'stored'>[] = [];
    for (const file of planned.slice(start, start + store.atOnce)) {
      signal.throwIfAborted();
      const path = pathOf(file.period);
      // In the order in which loads wrote the rows.
      const sql = `copy (
select
    ${cells.join(',\n    ')}
from ${table.rows(conditionOn(table, [file.period]))}
) to ${literal(await store.draft(path))} (format parquet, compression zstd, return_stats${options})`;
      for (const copied of await warehouse.rows(sql, [], copyRow))
        drafts.push({ ...file, path, copied });
    }
    // Every placement that began must end before a failure is thrown.
    const placed = await Promise.allSettled(drafts.map(async ({ path }) => store.place(path)));
    for (const [index, outcome] of placed.entries()) {
      const draft = drafts[index];
      if (outcome.status === 'rejected') throw outcome.reason;
      if (draft !== undefined) written.push({ ...draft, stored: outcome.value });
    }
  }
  return written;
}
