/** The data files of a Delta table: those that lie there, by period, and new ones. */

import { randomUUID } from 'node:crypto';

import type { Warehouse } from '../../warehouse/warehouse.ts';
import type { LakeTable } from '../lake-table.ts';
import { contentOfRows, writeFiles, type HeldFile, type HeldFiles, type TablePlan } from '../plan.ts';
import type { Reason } from '../report.ts';
import type { Store } from '../store.ts';
import { readOther } from './catalog.ts';
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

/** A file of the table, and why it cannot stay; null when it can. */
interface FileOfPeriod {
  readonly add: Add;
  readonly wrong: Reason | null;
}

/** The files by first day; under the empty text for a table that is not divided, under a key of its own for a file divided otherwise. */
export function filesByPeriod(
  table: LakeTable,
  { table: before, lying }: Standing,
): ReadonlyMap<string, FileOfPeriod[]> {
  const found = new Map<string, FileOfPeriod[]>();
  if (before === null) return found;
  const typesBefore = typesIn(before.metaData.schemaString);
  const typesNow = typesIn(schemaString(table));
  const isDividedAlike = before.metaData.partitionColumns.join() === (table.key ?? '');
  const wrongWith = (add: Add): Reason | null => {
    const file = lying.get(decodeURIComponent(add.path));
    if (file === undefined) return 'missing';
    if (file.bytes !== add.size) return 'damaged';
    const held = heldColumns(add.stats);
    if (held === null) return 'unstated';
    const fits = [...typesNow].every(([name, type]) => !held.has(name) || typesBefore.get(name) === type);
    return fits && isDividedAlike ? null : 'changed';
  };
  for (const add of before.files.values()) {
    const period = isDividedAlike ? (add.partitionValues[table.key ?? ''] ?? '') : `other ${add.path}`;
    found.set(period, [...(found.get(period) ?? []), { add, wrong: wrongWith(add) }]);
  }
  return found;
}

/** What the planner compares; a file that another engine wrote alone in its period, as `OPTIMIZE` does, is read. */
export async function heldFiles(
  { warehouse, store }: { readonly warehouse: Warehouse; readonly store: Store },
  table: LakeTable,
  filesOf: ReadonlyMap<string, readonly FileOfPeriod[]>,
): Promise<HeldFiles> {
  const held = new Map<string, HeldFile[]>();
  for (const [period, files] of filesOf) {
    const stated: HeldFile[] = [];
    for (const { add, wrong } of files) {
      const own = contentIn(add);
      const isRead = own === null && wrong === null && files.length === 1;
      const source = isRead
        ? readOther(table, add, await store.fetch(`${table.name}/${decodeURIComponent(add.path)}`))
        : null;
      stated.push({ wrong, stated: source === null ? own : await contentOfRows(warehouse, { ...table, source }) });
    }
    held.set(period, stated);
  }
  return held;
}
