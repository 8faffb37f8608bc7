/** Opens the warehouse. The run lock is DuckDB's own: the kernel releases it when the process dies. */

import { existsSync, realpathSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import { makeDirectories } from './directories.ts';
import { asScript, count, literal, migrations, statement } from './sql.ts';
import {
  isUnknownToEngine,
  MEMORY_LIMIT,
  storageFailure,
  type Warehouse,
  warehouseOn,
} from './warehouse.ts';

type Mode = 'write' | 'read';

interface OpenRequest {
  readonly mode: Mode;
  readonly lockWaitMs: number;
  readonly emit: Emit;
  readonly signal?: AbortSignal;
  /** Only for `read`: statements of others then reach no other file, network or setting. */
  readonly isConfined?: boolean;
}

const engineSettings = {
  memory_limit: MEMORY_LIMIT,
  // With a million rows, the engine kept 100 MB more freed memory and was no faster (measured).
  allocator_bulk_deallocation_flush_threshold: '1MB',
  // Five waiting row groups took 20 MB more and were no faster (measured).
  write_buffer_row_group_count: '1',
  // Checkpoints of the log every few windows take most of the commit time of a long backfill.
  checkpoint_threshold: '1GB',
  // For a new file. With the engine's 256 KiB, 40 slices of 12 metrics take 120 MB of memory and a file 4 times as large (measured).
  default_block_size: '65536',
  // An asof join of few rows, as the engine guesses, compares each with all: 2 s where 0.1 s are enough (measured).
  asof_loop_join_threshold: '0',
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
const engineThreads = () => Math.min(4, availableParallelism());

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
export async function openWarehouse(
  path: string,
  { mode, lockWaitMs, emit, signal, isConfined = false }: OpenRequest,
): Promise<Warehouse> {
  const file = resolve(path);
  if (!warehouseExists(file) && mode === 'read') {
    throw new Failure('STORAGE_FAILED', `The warehouse ${file} does not exist.`, {
      hint: 'Run `ripen sync` first.',
    });
  }
  try {
    if (mode === 'write') makeDirectories(dirname(file));
  } catch (error) {
    throw storageFailure(`The directory of the warehouse ${file} could not be made`, error);
  }
  const giveUpAt = Date.now() + lockWaitMs;
  for (let isReported = false; ; isReported = true) {
    // A confined instance is shared with nobody.
    const claimed = isConfined ? 'write' : mode;
    const claim = await claimFile(file, claimed, async () => tryOpen(file, mode, isConfined));
    if ('instance' in claim) {
      try {
        const warehouse = await warehouseOn(file, claim.instance, claim.release);
        await migrate(warehouse, mode);
        return warehouse;
      } catch (error) {
        claim.release();
        throw error;
      }
    }
    const { holder } = claim;
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
    let hint = 'Point `warehouse` at another path, or restore the file from a copy.';
    if (statSync(file).size === 0)
      hint = 'The file is empty: remove it, and the next sync creates a new one.';
    throw new Failure('WAREHOUSE_FOREIGN', message, { hint, cause: error });
  }
}

async function migrate(warehouse: Warehouse, mode: Mode) {
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
    let hint = 'The next `ripen sync` migrates it. Copy the file first.';
    if (missing.length === 0) hint = 'Use the version of ripen that wrote it, or a newer one.';
    throw new Failure('WAREHOUSE_NEWER', message, { facts: versions, hint });
  }
  if (missing.length === 0) return;
  const scripts: string[] = [];
  if (applied === null) {
    scripts.push(
      'create schema ripen',
      'create schema ripen_internal',
      'create table ripen_internal.migrations (version integer not null, name varchar not null, applied_at timestamp not null)',
    );
  }
  for (const { script, version, name } of missing) {
    const applies = `${version}, ${literal(name)}, now() at time zone 'UTC'`;
    scripts.push(script, `insert into ripen_internal.migrations values (${applies})`);
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

/** `holder` keeps the file from being opened. */
type Attempt = { readonly instance: DuckDBInstance } | { readonly holder: string };

interface OpenFile {
  readonly end: string;
  readonly mode: Mode;
  /** Null until the file exists. */
  identity: string | null;
  readonly attempt: Promise<Attempt>;
  users: number;
}

/**
 * The files that this process has open, each in one instance: DuckDB does not refuse a second, and loses what one committed
 * when the other closes. A file is known by device and inode, and by its resolved path, as it may not exist yet.
 */
const openFiles = new Set<OpenFile>();

/**
 * If this process has the file open, readers share the instance, and other callers get the holder. Claims it before the first
 * await: two callers cannot both find it free.
 */
async function claimFile(path: string, mode: Mode, open: () => Promise<Attempt>) {
  const [end, identity] = [endOf(path), identityOf(path)];
  const others = [...openFiles].filter(
    (other) => other.end === end || isSame(other.identity, identity),
  );
  if (others.some((other) => other.mode === 'write' || mode === 'write'))
    return { holder: 'this process' };
  // A newly published copy has the path of the one before it, which others may still read.
  const shared = others.find((other) => isSame(other.identity, identity));
  const file = shared ?? { end, mode, identity, attempt: open(), users: 0 };
  openFiles.add(file);
  file.users += 1;
  let instance: DuckDBInstance | null = null;
  let isReleased = false;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    file.users -= 1;
    if (file.users > 0) return;
    openFiles.delete(file);
    instance?.closeSync();
  };
  try {
    const attempt = await file.attempt;
    file.identity ??= identityOf(path);
    if ('instance' in attempt) {
      ({ instance } = attempt);
      return { instance, release };
    }
    release();
    return attempt;
  } catch (error) {
    release();
    throw error;
  }
}

const isSame = (one: string | null, other: string | null) => one !== null && one === other;

function identityOf(path: string) {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
}

/** Follows every link, even if no file exists there yet. */
function endOf(path: string) {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : resolve(path);
}
