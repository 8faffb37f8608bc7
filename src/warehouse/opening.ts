/**
 * Opening the warehouse.
 *
 * Hides the lock, the wait for it, and migrations. DuckDB's lock belongs to the process and is given back by the kernel when
 * the process dies; it is the run lock.
 */

import { existsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import { makeDirectories } from './directories.ts';
import { type Attempt, claimFile, type Mode } from './open-files.ts';
import { asScript, count, literal, migrations } from './sql.ts';
import { MEMORY_LIMIT, isUnknownToEngine, storageFailure, warehouseOn, type Warehouse } from './warehouse.ts';

/** How a warehouse is to be opened, and what to do while somebody else has it. */
export interface OpenRequest {
  readonly mode: Mode;
  /** How long to wait for another process to let go. */
  readonly lockWaitMs: number;
  readonly emit: Emit;
  readonly signal?: AbortSignal;
}

/** How the engine works, beside what depends on the file. */
const engineSettings = {
  memory_limit: MEMORY_LIMIT,
  // What is freed goes back to the system early: of a million rows it kept 100 MB more, and was no faster (measured).
  allocator_bulk_deallocation_flush_threshold: '1MB',
  // What is inserted is written row group by row group: five waiting took 20 MB more, and were no faster (measured).
  write_buffer_row_group_count: '1',
  // The log is worked in at the end; doing so every few windows takes most of a long backfill's commits.
  checkpoint_threshold: '1GB',
  // Of a new file. Each column that rows were added to holds a block in memory until the checkpoint: with the engine's 256 KiB, 40 slices of
  // 12 metrics hold 120 MB, and their file is four times as large. A table of millions of rows is as fast and no larger (measured).
  default_block_size: '65536',
  autoinstall_known_extensions: 'false',
} as const;

/** Every thread that parses holds a document; more would not fit the memory limit. */
const MOST_THREADS = 4;
/** How many threads the engine works with on much data. */
const engineThreads = (): number => Math.min(MOST_THREADS, availableParallelism());

/** On a smaller file, or batch, two threads take a fifth more processor time than one, and no less time (measured). */
const SMALL = { fileBytes: 64_000_000, batchBytes: 4_000_000 } as const;

/** Threads for what a file holds when it is opened. */
const threadsFor = (file: string): number =>
  existsSync(file) && statSync(file).size > SMALL.fileBytes ? engineThreads() : 1;

/** A thread takes half a megabyte a metric for its sums, however few the rows are (measured): a second one would not fit beside more. */
const MOST_SHARED_METRICS = 200;

/** Gives the engine all its threads where a batch of so many bytes is worth it, and one where it has too many metrics for two. */
export async function expectBatch(warehouse: Warehouse, bytes: number, metrics: number): Promise<void> {
  if (metrics > MOST_SHARED_METRICS) await warehouse.useThreads(1);
  else if (bytes > SMALL.batchBytes) await warehouse.useThreads(engineThreads());
}

/** From so many rows on an insertion is worth a thread of its own. */
const MANY_ROWS = 20_000;

/**
 * One transaction; of many rows in one thread: of two that insert, one spins while it waits for the other, and what is left
 * of each is copied once more, which takes half as long again in all (measured).
 */
export async function transactRows<T>(warehouse: Warehouse, rows: number, work: () => Promise<T>): Promise<T> {
  if (rows < MANY_ROWS) return warehouse.transact(work);
  await warehouse.useThreads(1);
  try {
    return await warehouse.transact(work);
  } finally {
    // A database that failed takes no setting either, and what it failed of is to be told.
    await warehouse.useThreads(engineThreads()).catch(() => null);
  }
}

/** How often a locked warehouse is tried again. */
const LOCK_POLL_MS = 250;

/**
 * Opens the warehouse; in `write` mode creates and migrates it. Throws `WAREHOUSE_LOCKED` after the wait, `WAREHOUSE_FOREIGN` for a file
 * that is none, `WAREHOUSE_NEWER` for one of another version that may not be changed, `STORAGE_FAILED` when the path cannot be used.
 */
export async function openWarehouse(path: string, request: OpenRequest): Promise<Warehouse> {
  const file = resolve(path);
  if (!warehouseExists(file) && request.mode === 'read') {
    throw new Failure('STORAGE_FAILED', `The warehouse ${file} did not exist.`, { hint: 'Run `ripen sync` first.' });
  }
  try {
    if (request.mode === 'write') makeDirectories(dirname(file));
  } catch (error) {
    throw storageFailure(`The directory of the warehouse ${file} could not be made`, error);
  }
  const { instance, letGo } = await acquire(file, request);
  try {
    const warehouse = await warehouseOn(file, instance, letGo);
    await migrate(warehouse, request.mode);
    return warehouse;
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Whether a file lies at the path. Throws `WAREHOUSE_FOREIGN` where only the log of one does. */
export function warehouseExists(path: string): boolean {
  if (existsSync(path)) return true;
  // DuckDB would replay the log of somebody else's database into a new file.
  if (existsSync(`${path}.wal`)) {
    throw new Failure('WAREHOUSE_FOREIGN', `A write-ahead log lay at ${path}.wal without its database.`, {
      hint: 'Move the .wal file away, or put its database back beside it.',
    });
  }
  return false;
}

async function acquire(
  file: string,
  { mode, lockWaitMs, emit, signal }: OpenRequest,
): Promise<{ instance: DuckDBInstance; letGo: () => void }> {
  const giveUpAt = Date.now() + lockWaitMs;
  for (let isReported = false; ; isReported = true) {
    const attempt = await claimFile(file, mode, async () => tryOpen(file, mode));
    if (!('holder' in attempt)) return attempt;
    if (Date.now() >= giveUpAt) {
      throw new Failure('WAREHOUSE_LOCKED', `The warehouse ${file} was held by ${attempt.holder}.`, {
        facts: { warehouse: file, holder: attempt.holder, waited_ms: lockWaitMs },
        hint: 'Wait for the other run, or close the session that has the file open; analysts should open a published copy.',
      });
    }
    if (!isReported) emit({ type: 'lock_waiting', warehouse: file, holder: attempt.holder, waitMs: lockWaitMs });
    await sleep(Math.min(LOCK_POLL_MS, lockWaitMs), undefined, signal === undefined ? {} : { signal });
  }
}

/** DuckDB's words for what is no database of its own; for a file of another engine it asks for the extension that reads it. */
const isUnreadable =
  /not a valid DuckDB database|corrupt|checksum|deserializ|version number|storage version|is an existing extension/i;

async function tryOpen(file: string, mode: Mode): Promise<Attempt> {
  try {
    const instance = await DuckDBInstance.create(file, {
      ...engineSettings,
      access_mode: mode === 'write' ? 'READ_WRITE' : 'READ_ONLY',
      threads: String(threadsFor(file)),
      temp_directory: `${file}.tmp`,
    });
    return { instance };
  } catch (error) {
    const text = textOf(error);
    const holder = /held in (.+?) \(PID (\d+)\)/.exec(text);
    if (holder !== null) return { holder: `${holder[1]} (process ${holder[2]})` };
    if (/Could not set lock/.test(text)) return { holder: 'another process' };
    if (!isUnreadable.test(text)) throw storageFailure(`The warehouse ${file} could not be opened`, error);
    throw new Failure('WAREHOUSE_FOREIGN', `The file ${file} could not be read as a DuckDB warehouse: ${text}`, {
      hint:
        statSync(file).size === 0
          ? 'The file is empty: remove it, and the next sync makes a new one.'
          : 'Point `warehouse` at another path, or restore the file from a copy.',
      cause: error,
    });
  }
}

/** Applies the migrations that are missing, in one transaction; a warehouse that may not be changed has to have them all. */
async function migrate(warehouse: Warehouse, mode: Mode): Promise<void> {
  const { path } = warehouse;
  const known = migrations();
  // To look through the tables first takes five times as long.
  const applied = await warehouse
    .rows('select version from ripen_internal.migrations order by version', [], z.object({ version: count }))
    .catch((error: unknown) => {
      if (!isUnknownToEngine(error)) throw error;
      return null;
    });
  if (applied === null && (mode === 'read' || (await holdsTables(warehouse)))) {
    throw new Failure('WAREHOUSE_FOREIGN', `The database ${path} held tables or views that are not ripen's.`, {
      hint: 'Point `warehouse` at a path of its own.',
    });
  }
  const missing = known.slice(applied?.length ?? 0);
  const versions = { found: applied?.at(-1)?.version ?? 0, known: known.length };
  if (versions.found > versions.known || (mode === 'read' && missing.length > 0)) {
    const message = `The warehouse ${path} had version ${versions.found}; this program knows ${versions.known}.`;
    throw new Failure('WAREHOUSE_NEWER', message, {
      facts: versions,
      hint:
        missing.length === 0
          ? 'Use the version of ripen that wrote it, or a newer one.'
          : 'The next `ripen sync` migrates it. Copy the file first.',
    });
  }
  if (missing.length === 0) return;
  const scripts = missing.map(({ script, version, name }) =>
    asScript([
      script,
      `insert into ripen_internal.migrations values (${version}, ${literal(name)}, now() at time zone 'UTC')`,
    ]),
  );
  await warehouse.transact(async () => warehouse.run(asScript([...(applied === null ? [SCHEMAS] : []), ...scripts])));
}

const SCHEMAS = `
create schema ripen;
create schema ripen_internal;
create table ripen_internal.migrations (version integer not null, name varchar not null, applied_at timestamp not null)`;

async function holdsTables(warehouse: Warehouse): Promise<boolean> {
  const [found] = await warehouse.rows(
    `select exists (from duckdb_tables() where not temporary)
         or exists (from duckdb_views() where not internal and not temporary) as holds`,
    [],
    z.object({ holds: z.boolean() }),
  );
  return found?.holds === true;
}

/** Opens the warehouse for as long as `use` runs. */
export async function withWarehouse<T>(
  path: string,
  request: OpenRequest,
  use: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse(path, request);
  try {
    return await use(warehouse);
  } finally {
    await warehouse.close();
  }
}
