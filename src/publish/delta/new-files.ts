/** Data files of Delta tables, written from the warehouse and put in place under names that are never used again. */

import { randomUUID } from 'node:crypto';

import { Failure } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { openLanes } from '../lanes.ts';
import type { LakeTable } from '../lake-table.ts';
import { copyFile, copyRow, fileStatistics } from './delta-table.ts';
import type { Add } from './log.ts';
import type { NewFile } from './plan.ts';
import type { DeltaStore } from './delta-store.ts';

interface Writing {
  readonly warehouse: Warehouse;
  readonly store: DeltaStore;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** One query at a time; files are put in place while the next is being written. */
export async function writeFiles(night: Writing, table: LakeTable, files: readonly NewFile[]): Promise<readonly Add[]> {
  const lanes = openLanes(night.store.atOnce);
  const added: Add[] = [];
  try {
    for (const file of files) {
      night.signal.throwIfAborted();
      const add = await draftFile(night, table, file);
      await lanes.begin(async () => night.store.place(`${table.name}/${add.path}`));
      added.push(add);
    }
    await lanes.finish();
    return added;
  } finally {
    await lanes.settle();
  }
}

async function draftFile({ store, warehouse, nowMs }: Writing, table: LakeTable, file: NewFile): Promise<Add> {
  const folder = table.key === null ? '' : `${table.key}=${file.period ?? ''}/`;
  const path = `${folder}ripen-${randomUUID()}.parquet`;
  const draft = await store.draft(`${table.name}/${path}`);
  const [written] = await warehouse.rows(copyFile(table, file.period, draft), [], copyRow);
  if (written?.count !== file.rows) {
    throw new Failure(
      'STORAGE_FAILED',
      `The file ${path} got ${written?.count ?? 0} rows where ${file.rows} were due.`,
      {
        facts: { written: written?.count ?? 0, expected: file.rows },
        hint: 'Run `ripen publish` again; the old file is still served.',
      },
    );
  }
  return {
    path,
    partitionValues: table.key === null ? {} : { [table.key]: file.period },
    size: written.file_size_bytes,
    modificationTime: nowMs,
    dataChange: true,
    stats: fileStatistics(table, written),
    tags: file.tags,
  };
}
