/** The data files of a Delta table: those that lie there, by period, and new ones. */

import { randomUUID } from 'node:crypto';

import type { Warehouse } from '../../warehouse/warehouse.ts';
import type { LakeTable } from '../lake-table.ts';
import { writeFiles, type HeldFiles, type TablePlan } from '../plan.ts';
import type { Store } from '../store.ts';
import type { Standing } from './commit.ts';
import type { Add, MetaData } from './log.ts';
import { contentIn, copyNumbered, fileStatistics, heldColumns, schemaString, tagsOf, typesIn } from './table.ts';

/** Writes data files, under names that are never used again. */
export async function addFiles(
  night: { readonly warehouse: Warehouse; readonly store: Store; readonly signal: AbortSignal; readonly nowMs: number },
  { table, metaData }: { readonly table: LakeTable; readonly metaData: MetaData },
  planned: TablePlan['write'],
): Promise<Add[]> {
  const files = planned.map((file) => {
    const folder = table.key === null ? '' : `${table.key}=${file.period ?? ''}/`;
    const add = `${folder}ripen-${randomUUID()}.parquet`;
    const copyTo = (draft: string): string => copyNumbered(table, file.period, draft, metaData);
    return { ...file, add, path: `${table.name}/${add}`, copyTo };
  });
  const written = await writeFiles(night, files);
  return files.flatMap((file) => {
    const copied = written.get(file.path)?.copied;
    if (copied === undefined) return [];
    const add: Add = {
      path: file.add,
      partitionValues: table.key === null ? {} : { [table.key]: file.period },
      size: copied.file_size_bytes,
      modificationTime: night.nowMs,
      dataChange: true,
      stats: fileStatistics(table, copied),
      tags: tagsOf(file),
    };
    return [add];
  });
}

const isDividedAlike = ({ key }: LakeTable, { metaData }: NonNullable<Standing['table']>): boolean =>
  metaData.partitionColumns.join() === (key ?? '');

/** The files by first day; under the empty text for a table that is not divided, under a key of its own for a file divided otherwise. */
export function filesByPeriod(table: LakeTable, { table: before }: Standing): ReadonlyMap<string, readonly Add[]> {
  const found = new Map<string, Add[]>();
  for (const add of before?.files.values() ?? []) {
    const isAlike = before !== null && isDividedAlike(table, before);
    const period = isAlike ? (add.partitionValues[table.key ?? ''] ?? '') : `other ${add.path}`;
    found.set(period, [...(found.get(period) ?? []), add]);
  }
  return found;
}

/** What the planner compares. A file that another engine wrote, as `OPTIMIZE` does, says nothing of its rows and is written anew. */
export function heldFiles(
  table: LakeTable,
  { table: before, lying }: Standing,
  filesOf: ReadonlyMap<string, readonly Add[]>,
): HeldFiles {
  if (before === null) return new Map();
  const typesBefore = typesIn(before.metaData.schemaString);
  const typesNow = typesIn(schemaString(table));
  const isWhole = (add: Add): boolean => {
    const held = heldColumns(add.stats);
    if (held === null || lying.get(decodeURIComponent(add.path))?.bytes !== add.size) return false;
    return [...typesNow].every(([name, type]) => !held.has(name) || typesBefore.get(name) === type);
  };
  return new Map(
    [...filesOf].map(([period, [only, second]]) => {
      const stays = only !== undefined && second === undefined && isDividedAlike(table, before) && isWhole(only);
      return [period, stays ? contentIn(only) : null];
    }),
  );
}
