/** The files a lake should hold, from what the warehouse holds. */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { day, type Day } from '../model/calendar.ts';
import { count } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { summarizePeriods } from './lake-sql.ts';
import { filePath } from './lake-store.ts';
import type { LakeTable } from './lake-table.ts';
import type { KnownLake, LakeFile } from './manifest.ts';
import { daysToRead, readStamps } from './period-stamps.ts';

/** A file as it should be. */
export interface WantedFile extends Omit<LakeFile, 'bytes' | 'etag'> {
  readonly table: LakeTable;
  readonly period: Day | null;
}

const summaryRow = z.object({
  period: z.string().nullable(),
  rows: count,
  content: z.string(),
  sums: z.array(z.string().nullable()),
});

/**
 * The files a table should have, in order of their periods. A divided table without rows has none. Of a period whose rows
 * are those of the last publish, what the lake states of its file is taken over; only the others are read.
 */
export async function wantedFiles(warehouse: Warehouse, table: LakeTable, known: KnownLake): Promise<WantedFile[]> {
  const declared = JSON.stringify([table.key, table.columns.map(({ name, type }) => [name, type])]);
  const columns = createHash('sha256').update(declared).digest('hex').slice(0, 16);
  const stamps = (await readStamps(warehouse, table)) ?? [];
  const files = new Map<string | null, WantedFile>();
  for (const { period, stamp } of stamps) {
    const at = placeOf(table, period);
    const entry = known.entries.get(at.path);
    if (stamp === null || entry?.stamp !== stamp || !entry.content.startsWith(`${columns}-`)) continue;
    files.set(period, { ...at, rows: entry.rows, sums: entry.sums, content: entry.content, stamp });
  }
  const unsure = stamps.filter(({ period }) => !files.has(period));
  if (stamps.length > 0 && unsure.length === 0) return [...files.values()];
  const stampOf = new Map(stamps.map(({ period, stamp }) => [period, stamp]));
  const summaries = summarizePeriods(table, daysToRead(unsure, stamps.length));
  for (const { period, rows, content, sums } of await warehouse.rows(summaries, [], summaryRow)) {
    if (period === null && table.key !== null) {
      throw new Failure('DATA_MALFORMED', `The slice ${table.name} held ${rows} rows without a ${table.grain ?? ''}.`, {
        hint: 'Backfill the slice; a lake has no place for rows without a period.',
      });
    }
    const stamp = stampOf.get(period) ?? null;
    files.set(period, {
      ...placeOf(table, period),
      rows,
      sums: Object.fromEntries(table.summed.map((name, index) => [name, sums[index] ?? null])),
      content: `${columns}-${rows}-${content}`,
      ...(stamp === null ? {} : { stamp }),
    });
  }
  return [...files.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

function placeOf(table: LakeTable, period: string | null): Pick<WantedFile, 'table' | 'period' | 'path'> {
  const path = filePath(table.name, period === null ? null : `${table.key ?? ''}=${period}`);
  return { table, period: period === null ? null : day(period), path };
}
