/**
 * The snapshot: a copy of the whole warehouse, `main` and `ripen`, that readers may hold open for ever.
 *
 * Built beside the target, opened and compared with the warehouse, renamed over the target. A reader that holds the old
 * file keeps its view; a new one gets the new file. A killed run leaves the old snapshot and one unfinished file.
 */

import { statSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';

import * as z from 'zod';

import type { PublishTarget } from '../config/config.ts';
import { Failure } from '../errors.ts';
import { isReplaced } from '../warehouse/open-files.ts';
import { count, identifier, literal, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { copyDatabase } from './copy.ts';
import { tablesOf, withDatabase, type Database } from './other-database.ts';
import { makeDirectory, makeDurable, putInPlace, removeUnfinished, unfinishedPath } from './replacement.ts';
import type { CopyReport } from './report.ts';

/** Above it the file is rewritten; a nightly delete and insert stays at 1.02 to 1.6 (measured). */
const MOST_BLOAT = 1.5;
/** Below it rewriting saves nothing worth having. */
const LEAST_COMPACTED_BYTES = 8 * 1024 * 1024;

/** Replaces the snapshot at a target that is free or this warehouse's. */
export async function publishSnapshot(
  warehouse: Warehouse,
  { path, mode }: Extract<PublishTarget, { kind: 'duckdb' }>,
  signal: AbortSignal,
): Promise<CopyReport> {
  const compactPath = `${path}.compact`;
  const clear = async (): Promise<void> => {
    await removeUnfinished(path);
    await removeUnfinished(compactPath);
  };
  await makeDirectory(dirname(path), mode);
  await clear();
  try {
    await warehouse.run('checkpoint');
    refuseOtherFile(warehouse.path);
    const expected = await contentsOf(warehouse);
    const isBloated = await isBloatedFile(warehouse);
    await copyDatabase(warehouse.path, unfinishedPath(path), signal);
    const difference = await differenceIn(unfinishedPath(path), expected);
    if (difference !== null) {
      const message = `The copy ${unfinishedPath(path)} differed from the warehouse: ${difference}.`;
      throw new Failure('STORAGE_FAILED', message, {
        hint: 'Check the disk and run `ripen publish` again; the old snapshot is still served.',
      });
    }
    if (isBloated) {
      await compact(unfinishedPath(path), unfinishedPath(compactPath));
      const isEqual = (await differenceIn(unfinishedPath(compactPath), expected)) === null;
      if (isEqual) await rename(unfinishedPath(compactPath), unfinishedPath(path));
    }
    signal.throwIfAborted();
    await putInPlace(path, mode);
    await makeDurable(dirname(path));
    return { files_written: 1, files_removed: 0, also_written: [] };
  } finally {
    await clear();
  }
}

/** The file at the path is what is copied: it has to be the one that is open, with all that was committed, as its log is not copied. `stat` does not disturb the lock. */
function refuseOtherFile(warehouse: string): void {
  if (isReplaced(warehouse)) {
    const message = `The warehouse ${warehouse} was replaced by another file while it was open; what this run loaded went with the one before.`;
    throw new Failure('STORAGE_FAILED', message, {
      facts: { warehouse },
      hint: 'Run it again, and replace the warehouse only while no run is under way.',
    });
  }
  const log = statSync(`${warehouse}.wal`, { throwIfNoEntry: false });
  if (log === undefined || log.size === 0) return;
  throw new Failure('STORAGE_FAILED', `The log ${warehouse}.wal still held ${log.size} bytes after a checkpoint.`, {
    hint: 'Run `ripen publish` again.',
  });
}

const sizeRow = z.object({ file_bytes: count, used_bytes: count });

async function isBloatedFile(warehouse: Warehouse): Promise<boolean> {
  const [size] = await warehouse.rows(statement('publish/size'), [], sizeRow);
  if (size === undefined || size.file_bytes < LEAST_COMPACTED_BYTES) return false;
  return size.file_bytes > size.used_bytes * MOST_BLOAT;
}

/** Rewrites a copy without its free blocks. */
async function compact(from: string, to: string): Promise<void> {
  await withDatabase(':memory:', 'READ_WRITE', async (session) => {
    await session.run(`set temp_directory = ${literal(`${to}.tmp`)}`);
    await session.run(`attach ${literal(from)} as bloated (read_only)`);
    await session.run(`attach ${literal(to)} as compact`);
    await session.run('copy from database bloated to compact');
    await session.run('detach compact');
  });
}

const structureRow = z.object({ kind: z.string(), name: z.string(), said: z.string().nullable() });
const countRow = z.object({ name: z.string(), rows: z.string() });

/** A warehouse's contents as lines: its newest load, every declaration with its comments, the rows of every table. */
export async function contentsOf(database: Database): Promise<string[]> {
  const structure = await database.rows(statement('publish/structure'), [], structureRow);
  const counts = (await tablesOf(database)).map(({ schema_name: schema, table_name: table }) => {
    const name = literal(`rows in ${schema}.${table}`);
    return `select ${name} as name, count(*)::varchar as rows from ${identifier(schema)}.${identifier(table)}`;
  });
  const newest = `select 'newest load' as name, coalesce(max(load_id)::varchar, 'none') as rows from ripen.loads`;
  const rows = await database.rows([newest, ...counts].join('\nunion all\n'), [], countRow);
  return [
    ...structure.map(({ kind, name, said }) => `${kind} ${name}: ${said ?? ''}`),
    ...rows.map(({ name, rows: found }) => `${name}: ${found}`).sort(),
  ];
}

/** The first line in which a database differs from what is expected of it, in words; null when it is equal. */
async function differenceIn(path: string, expected: readonly string[]): Promise<string | null> {
  const found = await withDatabase(path, 'READ_ONLY', contentsOf);
  const line = Array.from({ length: Math.max(expected.length, found.length) }, (_, at) => at).find(
    (at) => expected[at] !== found[at],
  );
  if (line === undefined) return null;
  return `expected ${expected[line] ?? 'nothing more'}, found ${found[line] ?? 'nothing more'}`;
}
