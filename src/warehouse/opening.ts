/**
 * Opening the warehouse.
 *
 * Hides the lock, the wait for it, and migrations. DuckDB's lock belongs to the process and is given back by the kernel when
 * the process dies; it is the run lock.
 */

import { existsSync, lstatSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { DuckDBInstance } from '@duckdb/node-api';

import { Failure, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import { makeDirectories } from './directories.ts';
import { migrate } from './migrate.ts';
import { type Attempt, claimFile, endOf, type Mode } from './open-files.ts';
import { storageFailure, warehouseOn, type Warehouse } from './warehouse.ts';

/** How a warehouse is to be opened, and what to do while somebody else has it. */
export interface OpenRequest {
  readonly mode: Mode;
  /** How long to wait for another process to let go. */
  readonly lockWaitMs: number;
  readonly emit: Emit;
  readonly signal?: AbortSignal;
}

/** Enough for one 60 MB document; a process stays below a gigabyte with it. */
const MEMORY_LIMIT = '400MB';
/** What is freed goes back to the system early: of a million rows it kept 100 MB more, and was no faster (measured). */
const FLUSH_THRESHOLD = '1MB';
/** What is inserted is written row group by row group: five waiting took 20 MB more, and were no faster (measured). */
const WAITING_ROW_GROUPS = '1';
/** The log is worked in at the end; doing so every few windows takes most of a long backfill's commits. */
const CHECKPOINT_THRESHOLD = '1GB';
/** Every thread that parses holds a document; more would not fit the memory limit. */
const MOST_THREADS = 4;
/** How many threads the engine works with on much data. */
const engineThreads = (): number => Math.min(MOST_THREADS, availableParallelism());

/** On a smaller file, or batch, two threads take a fifth more processor time than one, and no less time (measured). */
const SMALL = { fileBytes: 64_000_000, batchBytes: 4_000_000 } as const;

/**
 * Of a new file. Each column that rows were added to holds a block in memory until the checkpoint: with the engine's 256 KiB, 40
 * slices of 12 metrics hold 120 MB, and their file is four times as large. A table of millions of rows is as fast and no larger (measured).
 */
const BLOCK_BYTES = 65_536;

/** Threads for what a file holds when it is opened. */
const threadsFor = (file: string): number =>
  existsSync(file) && statSync(file).size > SMALL.fileBytes ? engineThreads() : 1;

/** Gives the engine all its threads, until the warehouse is closed, where a batch of so many bytes is worth it. */
export async function expectBatch(warehouse: Warehouse, bytes: number): Promise<void> {
  if (bytes > SMALL.batchBytes) await warehouse.run(`set threads = ${engineThreads()}`);
}

/** What the engine may keep of tables between large batches; pages of what it wrote would fill its memory, and nobody reads them. */
const KEPT_BETWEEN_BATCHES = '64MB';

/** Makes the engine let go of what it only keeps to be quick, where it can. */
async function letPagesGo(warehouse: Warehouse): Promise<void> {
  await warehouse.run(`set memory_limit = '${KEPT_BETWEEN_BATCHES}'`).catch(() => null);
  await warehouse.run(`set memory_limit = '${MEMORY_LIMIT}'`);
}

/** What a statement that reads a whole table needs beside it. */
const ENOUGH_TO_READ_ONCE = '128MB';

/**
 * Runs a statement that reads a whole table, and keeps little of it: pages of a large one would fill the engine's memory, and
 * nobody reads them again. Where that was too little, once more with all of it.
 */
export async function runKeepingLittle(warehouse: Warehouse, sql: string): Promise<void> {
  await warehouse.run(`set memory_limit = '${ENOUGH_TO_READ_ONCE}'`).catch(() => null);
  try {
    await warehouse.run(sql);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'ENGINE_MEMORY') throw error;
    await warehouse.run(`set memory_limit = '${MEMORY_LIMIT}'`);
    await warehouse.run(sql);
  } finally {
    await warehouse.run(`set memory_limit = '${MEMORY_LIMIT}'`).catch(() => null);
  }
}

/** From so many rows on an insertion is worth a thread of its own. */
const MANY_ROWS = 20_000;
/** From so many on, more than one of the engine's row groups, its pages are worth letting go. */
const MANY_PAGES_ROWS = 150_000;

/**
 * One transaction; of many rows in one thread: of two that insert, one spins while it waits for the other, and what is left
 * of each is copied once more, which takes half as long again in all (measured). Set outside of it: an aborted one takes no
 * setting.
 */
export async function transactRows<T>(warehouse: Warehouse, rows: number, work: () => Promise<T>): Promise<T> {
  if (rows < MANY_ROWS) return warehouse.transact(work);
  await warehouse.run('set threads = 1');
  try {
    return await warehouse.transact(work);
  } finally {
    // A database that failed takes no setting either, and what it failed of is to be told.
    await warehouse.run(`set threads = ${engineThreads()}`).catch(() => null);
    if (rows >= MANY_PAGES_ROWS) await letPagesGo(warehouse).catch(() => null);
  }
}

/** How often a locked warehouse is tried again. */
const LOCK_POLL_MS = 250;

/**
 * Opens the warehouse; in `write` mode creates and migrates it. In one process those that read it share it. Throws `WAREHOUSE_LOCKED` after the wait,
 * `WAREHOUSE_FOREIGN` for a file that is not a warehouse (any DuckDB database without ripen's ledger, or a corrupt
 * one), `WAREHOUSE_NEWER` for one of a later version, in `read` mode `WAREHOUSE_OLDER` for one of an earlier version, `STORAGE_FAILED` when the path cannot be used.
 */
export async function openWarehouse(path: string, request: OpenRequest): Promise<Warehouse> {
  const file = resolve(path);
  const exists = warehouseExists(file);
  if (request.mode === 'read' && !exists) {
    throw new Failure('STORAGE_FAILED', `The warehouse ${file} did not exist.`, { hint: 'Run `ripen sync` first.' });
  }
  if (exists) refuseOtherThanFile(file);
  if (request.mode === 'write') makeDirectory(file);
  const { instance, letGo } = await acquire(file, request);
  try {
    const warehouse = await warehouseOn(file, instance, letGo);
    await migrate(warehouse, { mayChange: request.mode === 'write' });
    return warehouse;
  } catch (error) {
    letGo();
    throw error;
  }
}

/**
 * Whether a file lies at the path. Throws `WAREHOUSE_FOREIGN` where only the log of one does, and as `refuseLinkToNowhere`.
 */
export function warehouseExists(path: string): boolean {
  if (existsSync(path)) return true;
  refuseLinkToNowhere(path);
  refuseStrayLog(resolve(path));
  return false;
}

/** Throws `STORAGE_FAILED` for a link into a folder that is not there, such as that of a disk that is not mounted, or in a circle. */
export function refuseLinkToNowhere(path: string): void {
  const isLink = (at: string): boolean => lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (existsSync(path) || !isLink(path)) return;
  const end = endOf(path);
  const isCircle = isLink(end);
  if (!isCircle && existsSync(dirname(end))) return;
  const where = isCircle ? 'that leads back to itself' : `to ${end}, whose folder is not there`;
  throw new Failure('STORAGE_FAILED', `The warehouse ${path} could not be read: it is a symbolic link ${where}.`, {
    facts: { path, to: end },
    hint: 'Mount the disk or make the folder it leads to, or give `warehouse` another path.',
  });
}

/** Whoever opens a pipe waits for another end that never comes, in a thread that nothing can stop. */
function refuseOtherThanFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new Failure('STORAGE_FAILED', `The warehouse ${file} was no file, but a pipe, a device or a socket.`, {
    hint: 'Remove it, or point `warehouse` at another path.',
  });
}

function makeDirectory(file: string): void {
  try {
    makeDirectories(dirname(file));
  } catch (error) {
    throw storageFailure(`The directory of the warehouse ${file} could not be made`, error);
  }
}

/** A log without its database is somebody else's: DuckDB would replay it into the new file. */
function refuseStrayLog(file: string): void {
  if (!existsSync(`${file}.wal`)) return;
  throw new Failure('WAREHOUSE_FOREIGN', `A write-ahead log lay at ${file}.wal without its database.`, {
    hint: 'Move the .wal file away, or put its database back beside it.',
  });
}

async function acquire(file: string, request: OpenRequest): Promise<{ instance: DuckDBInstance; letGo: () => void }> {
  const giveUpAt = Date.now() + request.lockWaitMs;
  for (let told = false; ; told = true) {
    const attempt = await claimFile(file, request.mode, async () => tryOpen(file, request.mode));
    if (!('holder' in attempt)) return attempt;
    if (Date.now() >= giveUpAt) {
      throw new Failure('WAREHOUSE_LOCKED', `The warehouse ${file} was held by ${attempt.holder}.`, {
        facts: { warehouse: file, holder: attempt.holder, waited_ms: request.lockWaitMs },
        hint: 'Wait for the other run, or close the session that has the file open; analysts should open a published copy.',
      });
    }
    if (!told)
      request.emit({ type: 'lock_waiting', warehouse: file, holder: attempt.holder, waitMs: request.lockWaitMs });
    await sleep(
      Math.min(LOCK_POLL_MS, request.lockWaitMs),
      undefined,
      request.signal ? { signal: request.signal } : {},
    );
  }
}

async function tryOpen(file: string, mode: Mode): Promise<Attempt> {
  try {
    const instance = await DuckDBInstance.create(file, {
      access_mode: mode === 'write' ? 'READ_WRITE' : 'READ_ONLY',
      memory_limit: MEMORY_LIMIT,
      allocator_bulk_deallocation_flush_threshold: FLUSH_THRESHOLD,
      checkpoint_threshold: CHECKPOINT_THRESHOLD,
      default_block_size: String(BLOCK_BYTES),
      write_buffer_row_group_count: WAITING_ROW_GROUPS,
      threads: String(threadsFor(file)),
      temp_directory: `${file}.tmp`,
      autoinstall_known_extensions: 'false',
    });
    return { instance };
  } catch (error) {
    const text = textOf(error);
    const holder = /held in (.+?) \(PID (\d+)\)/.exec(text);
    if (holder !== null) return { holder: `${holder[1]} (process ${holder[2]})` };
    if (/Could not set lock/.test(text)) return { holder: 'another process' };
    // For a file of another engine DuckDB asks for the extension that reads it.
    if (
      /not a valid DuckDB database|corrupt|checksum|deserializ|version number|storage version|is an existing extension/i.test(
        text,
      )
    ) {
      throw new Failure('WAREHOUSE_FOREIGN', `The file ${file} could not be read as a DuckDB warehouse: ${text}`, {
        hint:
          statSync(file).size === 0
            ? 'The file is empty: remove it, and the next sync makes a new one.'
            : 'Point `warehouse` at another path, or restore the file from a copy.',
        cause: error,
      });
    }
    throw storageFailure(`The warehouse ${file} could not be opened`, error);
  }
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
