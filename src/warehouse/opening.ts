/** Opens the warehouse. The run lock is DuckDB's own: the kernel releases it when the process dies. */

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
import { asScript, count, literal, migrations, statement } from './sql.ts';
import { isUnknownToEngine, storageFailure, type Warehouse, warehouseOn } from './warehouse.ts';

interface OpenRequest {
  readonly mode: Mode;
  readonly lockWaitMs: number;
  readonly emit: Emit;
  readonly signal?: AbortSignal;
  /** Only for `read`: statements of others then reach no other file, network or setting. */
  readonly isConfined?: boolean;
}

/** Enough for one 60 MB document. */
const MEMORY_LIMIT = '400MB';

const engineSettings = {
  memory_limit: MEMORY_LIMIT,
  // With a million rows, the engine kept 100 MB more freed memory and was no faster (measured).
  allocator_bulk_deallocation_flush_threshold: '1MB',
  // Five waiting row groups took 20 MB more and were no faster (measured).
  write_buffer_row_group_count: '1',
  // Checkpoints of the log every few windows take most of the commit time of a long backfill.
  checkpoint_threshold: '1GB',
  // For a new file. With the engine's 256 KiB, 40 slices of 12 metrics take 120 MB of memory and a file 4 times as large, and a
  // table of millions of rows is no faster or smaller (measured).
  default_block_size: '65536',
  autoinstall_known_extensions: 'false',
} as const;

const confinedSettings = {
  // Beside the open warehouse, whose limit it adds to.
  memory_limit: '256MB',
  enable_external_access: 'false',
  lock_configuration: 'true',
  temp_directory: '',
} as const;

/** Each parsing thread holds a document in memory. More than four would exceed the limit. */
const engineThreads = (): number => Math.min(4, availableParallelism());

/** Up to here, two threads take a fifth more processor time than one, and are no faster (measured). */
const SMALL = { fileBytes: 64_000_000, batchBytes: 4_000_000 } as const;

/** A thread takes half a megabyte per metric for sums, however few the rows (measured). */
const MAX_SHARED_METRICS = 200;

export async function setThreadsFor(
  warehouse: Warehouse,
  bytes: number,
  metrics: number,
): Promise<void> {
  if (metrics > MAX_SHARED_METRICS) await warehouse.useThreads(1);
  else if (bytes > SMALL.batchBytes) await warehouse.useThreads(engineThreads());
}

/** From here on, two threads are 50 % slower (measured). */
const MANY_ROWS = 20_000;
/** More than one of the engine's row groups. */
const MANY_PAGES_ROWS = 150_000;
/** The engine refuses a limit below what is in use, but first releases what it can. */
const RELEASE = `set memory_limit = '64MB'; set memory_limit = '${MEMORY_LIMIT}'`;

/** Runs `work` in one transaction, and in one thread if it inserts many rows. */
export async function transactRows<T>(
  warehouse: Warehouse,
  rows: number,
  work: () => Promise<T>,
): Promise<T> {
  if (rows < MANY_ROWS) return warehouse.transact(work);
  await warehouse.useThreads(1);
  try {
    return await warehouse.transact(work);
  } finally {
    // A database that failed accepts no setting either.
    await warehouse.useThreads(engineThreads()).catch(() => null);
    if (rows >= MANY_PAGES_ROWS) await warehouse.run(RELEASE).catch(() => null);
  }
}

const LOCK_POLL_MS = 250;

/**
 * Opens the warehouse, which `write` mode creates and migrates. Throws `WAREHOUSE_LOCKED` after the wait, `WAREHOUSE_FOREIGN`,
 * `WAREHOUSE_NEWER` for a newer version or, in `read` mode, an older one, and `STORAGE_FAILED`.
 */
export async function openWarehouse(path: string, request: OpenRequest): Promise<Warehouse> {
  const file = resolve(path);
  if (!warehouseExists(file) && request.mode === 'read') {
    throw new Failure('STORAGE_FAILED', `The warehouse ${file} does not exist.`, {
      hint: 'Run `ripen sync` first.',
    });
  }
  try {
    if (request.mode === 'write') makeDirectories(dirname(file));
  } catch (error) {
    throw storageFailure(`The directory of the warehouse ${file} could not be made`, error);
  }
  const { instance, release } = await acquire(file, request);
  try {
    const warehouse = await warehouseOn(file, instance, release);
    await migrate(warehouse, request.mode);
    return warehouse;
  } catch (error) {
    release();
    throw error;
  }
}

/** Throws `WAREHOUSE_FOREIGN` if only a write-ahead log exists at the path. */
export function warehouseExists(path: string): boolean {
  if (existsSync(path)) return true;
  // DuckDB would replay the log of another database into a new file.
  if (existsSync(`${path}.wal`)) {
    const message = `There is a write-ahead log at ${path}.wal without its database.`;
    const hint = 'Move the .wal file away, or put its database back beside it.';
    throw new Failure('WAREHOUSE_FOREIGN', message, { hint });
  }
  return false;
}

async function acquire(
  file: string,
  { mode, lockWaitMs, emit, signal, isConfined = false }: OpenRequest,
): Promise<{ instance: DuckDBInstance; release: () => void }> {
  const giveUpAt = Date.now() + lockWaitMs;
  for (let isReported = false; ; isReported = true) {
    // A confined instance is shared with nobody.
    const claimed = isConfined ? 'write' : mode;
    const attempt = await claimFile(file, claimed, async () => tryOpen(file, mode, isConfined));
    if (!('holder' in attempt)) return attempt;
    const { holder } = attempt;
    if (Date.now() >= giveUpAt) {
      const message = `The warehouse ${file} is in use by ${holder}.`;
      throw new Failure('WAREHOUSE_LOCKED', message, {
        facts: { warehouse: file, holder, waited_ms: lockWaitMs },
        hint: 'Wait for the other run, or close the session that has the file open. Analysts should open a published copy.',
      });
    }
    if (!isReported) emit({ type: 'lock_waiting', warehouse: file, holder, waitMs: lockWaitMs });
    const waitMs = Math.min(LOCK_POLL_MS, lockWaitMs);
    await sleep(waitMs, undefined, signal === undefined ? {} : { signal });
  }
}

/** DuckDB's errors for a file that is not its own. For another engine's, it names the extension that reads it. */
const isUnreadable =
  /not a valid DuckDB database|corrupt|checksum|deserializ|version number|storage version|is an existing extension/i;

async function tryOpen(file: string, mode: Mode, isConfined: boolean): Promise<Attempt> {
  try {
    const isLarge = existsSync(file) && statSync(file).size > SMALL.fileBytes;
    const instance = await DuckDBInstance.create(file, {
      ...engineSettings,
      access_mode: mode === 'write' ? 'READ_WRITE' : 'READ_ONLY',
      threads: String(isLarge ? engineThreads() : 1),
      temp_directory: `${file}.tmp`,
      ...(isConfined ? confinedSettings : {}),
    });
    return { instance };
  } catch (error) {
    const text = textOf(error);
    const holder = /held in (.+?) \(PID (\d+)\)/.exec(text);
    if (holder !== null) return { holder: `${holder[1]} (process ${holder[2]})` };
    if (/Could not set lock/.test(text)) return { holder: 'another process' };
    if (!isUnreadable.test(text))
      throw storageFailure(`The warehouse ${file} could not be opened`, error);
    const message = `The file ${file} could not be read as a DuckDB warehouse: ${text}`;
    const hint =
      statSync(file).size === 0
        ? 'The file is empty: remove it, and the next sync creates a new one.'
        : 'Point `warehouse` at another path, or restore the file from a copy.';
    throw new Failure('WAREHOUSE_FOREIGN', message, { hint, cause: error });
  }
}

/** Applies the missing migrations in one transaction. In `read` mode, none may be missing. */
async function migrate(warehouse: Warehouse, mode: Mode): Promise<void> {
  const { path } = warehouse;
  const supported = migrations();
  // Looking through the tables first would take five times as long.
  const sql = 'select version from ripen_internal.migrations order by version';
  const reading = warehouse.rows(sql, [], z.object({ version: count }));
  const applied = await reading.catch((error: unknown) => {
    if (!isUnknownToEngine(error)) throw error;
    return null;
  });
  if (applied === null) {
    const relations = await warehouse.rows(statement('ledger/relations'), [], z.unknown());
    if (mode === 'read' || relations.length > 0) {
      const message = `The database ${path} has tables or views that are not ripen's.`;
      const hint = 'Set `warehouse` to a path that nothing else uses.';
      throw new Failure('WAREHOUSE_FOREIGN', message, { hint });
    }
  }
  const missing = supported.slice(applied?.length ?? 0);
  const versions = { found: applied?.at(-1)?.version ?? 0, known: supported.length };
  if (versions.found > versions.known || (mode === 'read' && missing.length > 0)) {
    const message = `The warehouse ${path} has version ${versions.found}; this program supports ${versions.known}.`;
    throw new Failure('WAREHOUSE_NEWER', message, {
      facts: versions,
      hint:
        missing.length === 0
          ? 'Use the version of ripen that wrote it, or a newer one.'
          : 'The next `ripen sync` migrates it. Copy the file first.',
    });
  }
  if (missing.length === 0) return;
  const scripts = missing.flatMap(({ script, version, name }) => [
    script,
    `insert into ripen_internal.migrations values (${version}, ${literal(name)}, now() at time zone 'UTC')`,
  ]);
  if (applied === null) {
    scripts.unshift(
      'create schema ripen',
      'create schema ripen_internal',
      'create table ripen_internal.migrations (version integer not null, name varchar not null, applied_at timestamp not null)',
    );
  }
  await warehouse.transact(async () => warehouse.alter(asScript(scripts)));
}

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
