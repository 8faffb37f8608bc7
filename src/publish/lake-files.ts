/** The files of a lake on a local disk: what should be there, what lies there, what has to go. */

import { createHash } from 'node:crypto';
import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { day, type Day } from '../model/calendar.ts';
import { dateDimensions } from '../model/dimension.ts';
import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { summarizePeriods } from './lake-sql.ts';
import type { LakeTable } from './lake-table.ts';
import type { LakeFile } from './manifest.ts';
import { removeUnfinished, syncDirectory } from './replacement.ts';

/** A file as it should be. */
export interface WantedFile extends Omit<LakeFile, 'bytes'> {
  readonly table: LakeTable;
  readonly period: Day | null;
}

const FILE = 'data.parquet';

/** Directories of periods, of the present grain or of one the slice had before. */
const periodDirectory = new RegExp(`^(${dateDimensions.join('|')})=\\d{4}-\\d{2}-\\d{2}$`);

const summaryRow = z.object({
  period: z.string().nullable(),
  rows: count,
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

/** The files a table should have, in order of their periods. A divided table without rows has none. */
export async function wantedFiles(warehouse: Warehouse, table: LakeTable): Promise<WantedFile[]> {
  const summaries = await warehouse.rows(summarizePeriods(table), [], summaryRow);
  const declared = JSON.stringify([table.key, table.columns.map(({ name, type }) => [name, type])]);
  const columns = createHash('sha256').update(declared).digest('hex').slice(0, 16);
  return summaries.map(({ period, rows, content, sums }) => {
    if (period === null && table.key !== null) {
      throw new Failure('DATA_MALFORMED', `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`, {
        hint: 'Backfill the slice; a lake has no place for rows without a period.',
      });
    }
    return {
      table,
      period: period === null ? null : day(period),
      path: [table.name, ...(period === null ? [] : [`${table.key ?? ''}=${period}`]), FILE].join('/'),
      rows,
      sums: Object.fromEntries(table.summed.map((name, index) => [name, sums[index] ?? null])),
      content: `${columns}-${rows}-${content}`,
    };
  });
}

/** Bytes of a file, or null when there is none. */
export async function bytesOf(path: string): Promise<number | null> {
  const found = await stat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  });
  return found?.size ?? null;
}

/**
 * Removes a table's files that should no longer be there, and whatever killed runs left unfinished. Only names the lake
 * itself gives are touched.
 */
export async function sweep(root: string, table: LakeTable, wanted: ReadonlySet<string>): Promise<void> {
  const folder = join(root, table.name);
  const entries = await readdir(folder, { withFileTypes: true });
  const periods = entries.filter((entry) => entry.isDirectory() && periodDirectory.test(entry.name));
  for (const place of ['', ...periods.map(({ name }) => name)]) {
    const path = [table.name, ...(place === '' ? [] : [place]), FILE].join('/');
    await removeUnfinished(join(root, path));
    if (wanted.has(path)) continue;
    await rm(join(root, path), { force: true });
    if (place !== '') await removeIfEmpty(dirname(join(root, path)));
  }
  await syncDirectory(folder);
}

async function removeIfEmpty(directory: string): Promise<void> {
  await rmdir(directory).catch((error: unknown) => {
    // Somebody else's file keeps the directory; it is no part of the lake.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY')) throw error;
  });
}
