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
import { makeDirectory, putInPlace, removeUnfinished, syncDirectory, unfinishedPath } from './replacement.ts';
import type { CopyReport } from './report.ts';

/** Above it the file is rewritten; a nightly delete and insert stays at 1.02 to 1.6 (measured). */
const MOST_BLOAT = 1.5;
/** Below it rewriting saves nothing worth having. */
const LEAST_COMPACTED_BYTES = 8 * 1024 * 1024;

const sizeRow = z.object({ file_bytes: count, used_bytes: count });

/** Replaces the snapshot at a target that is free or this warehouse's. */
export async function publishSnapshot(
  warehouse: Warehouse,
  target: Extract<PublishTarget, { kind: 'duckdb' }>,
  signal: AbortSignal,
): Promise<CopyReport> {
  const { path, mode } = target;
  const compactPath = `${path}.compact`;
  const clear = async (): Promise<void> => {
    await removeUnfinished(path);
    await removeUnfinished(compactPath);
  };
  await makeDirectory(dirname(path), mode);
  await clear();
  try {
    await warehouse.run('checkpoint');
    refuseReplaced(warehouse.path);
    refuseLog(warehouse.path);
    const expected = await contentsOf(warehouse);
    const isBloated = await isBloatedFile(warehouse);
    await copyDatabase(warehouse.path, unfinishedPath(path), signal);
    await verify(unfinishedPath(path), expected);
    if (isBloated && (await compact(unfinishedPath(path), unfinishedPath(compactPath), expected))) {
      await rename(unfinishedPath(compactPath), unfinishedPath(path));
    }
    signal.throwIfAborted();
    await putInPlace(path, mode);
    await syncDirectory(dirname(path));
    return { files_written: 1, files_removed: 0, also_written: [] };
  } finally {
    await clear();
  }
}

/** The file at its path is what would be copied, and is another then. */
function refuseReplaced(warehouse: string): void {
  if (!isReplaced(warehouse)) return;
  const message = `The warehouse ${warehouse} was replaced by another file while it was open; what this run loaded went with the one before.`;
  throw new Failure('STORAGE_FAILED', message, {
    facts: { warehouse },
    hint: 'Run it again, and replace the warehouse only while no run is under way.',
  });
}

/** What is committed must be in the file itself, as its log is not copied. `stat` does not disturb the lock. */
function refuseLog(warehouse: string): void {
  const log = statSync(`${warehouse}.wal`, { throwIfNoEntry: false });
  if (log === undefined || log.size === 0) return;
  throw new Failure('STORAGE_FAILED', `The log ${warehouse}.wal still held ${log.size} bytes after a checkpoint.`, {
    hint: 'Run `ripen publish` again.',
  });
}

async function verify(copy: string, expected: readonly string[]): Promise<void> {
  const difference = firstDifference(expected, await withDatabase(copy, 'READ_ONLY', contentsOf));
  if (difference === null) return;
  throw new Failure(
    'STORAGE_FAILED',
    `The copy ${copy} differed from the warehouse: expected ${difference.expected}, found ${difference.found}.`,
    { facts: difference, hint: 'Check the disk and run `ripen publish` again; the old snapshot is still served.' },
  );
}

async function isBloatedFile(warehouse: Warehouse): Promise<boolean> {
  const [size] = await warehouse.rows(statement('publish/size'), [], sizeRow);
  if (size === undefined || size.file_bytes < LEAST_COMPACTED_BYTES) return false;
  return size.file_bytes > size.used_bytes * MOST_BLOAT;
}

/** Rewrites a copy without its free blocks; false when the result is not equal in everything: then it is not used. */
async function compact(from: string, to: string, expected: readonly string[]): Promise<boolean> {
  await withDatabase(':memory:', 'READ_WRITE', async (session) => {
    await session.run(`set temp_directory = ${literal(`${to}.tmp`)}`);
    await session.run(`attach ${literal(from)} as bloated (read_only)`);
    await session.run(`attach ${literal(to)} as compact`);
    await session.run('copy from database bloated to compact');
    await session.run('detach compact');
  });
  return firstDifference(expected, await withDatabase(to, 'READ_ONLY', contentsOf)) === null;
}

const structureRow = z.object({ kind: z.string(), name: z.string(), said: z.string().nullable() });
const countRow = z.object({ name: z.string(), rows: z.string() });
const newestRow = z.object({ newest: z.string().nullable() });

/** A warehouse's contents as lines: its newest load, every declaration with its comments, the rows of every table. */
export async function contentsOf(database: Database): Promise<string[]> {
  const structure = await database.rows(statement('publish/structure'), [], structureRow);
  const tables = await tablesOf(database);
  const counts = await database.rows(
    tables
      .map(({ schema_name: schema, table_name: table }) => {
        const name = literal(`${schema}.${table}`);
        return `select ${name} as name, count(*)::varchar as rows from ${identifier(schema)}.${identifier(table)}`;
      })
      .join('\nunion all\n'),
    [],
    countRow,
  );
  const [load] = await database.rows('select max(load_id)::varchar as newest from ripen.loads', [], newestRow);
  return [
    `newest load ${load?.newest ?? 'none'}`,
    ...structure.map(({ kind, name, said }) => `${kind} ${name}: ${said ?? ''}`),
    ...counts.map(({ name, rows }) => `${rows} rows in ${name}`).sort(),
  ];
}

/** The first line in which two contents differ, as expected and found; null when they are equal. */
function firstDifference(
  expected: readonly string[],
  found: readonly string[],
): { readonly expected: string; readonly found: string } | null {
  const length = Math.max(expected.length, found.length);
  for (let line = 0; line < length; line += 1) {
    const [wanted, got] = [expected[line] ?? 'nothing more', found[line] ?? 'nothing more'];
    if (wanted !== got) return { expected: wanted, found: got };
  }
  return null;
}
