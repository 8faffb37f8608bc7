/** The files a lake should hold, from what the warehouse holds. */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { Failure } from '../errors.ts';
import { day, type Day } from '../model/calendar.ts';
import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { summarizePeriods } from './lake-sql.ts';
import { filePath } from './lake-store.ts';
import type { LakeTable } from './lake-table.ts';
import type { LakeFile } from './manifest.ts';

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
      path: filePath(table.name, period === null ? null : `${table.key ?? ''}=${period}`),
      rows,
      sums: Object.fromEntries(table.summed.map((name, index) => [name, sums[index] ?? null])),
      content: `${columns}-${rows}-${content}`,
    };
  });
}
