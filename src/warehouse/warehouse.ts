/**
 * The operations on ripen's own DuckDB file. While it is open, this process must not open, read or copy it otherwise: closing a
 * second handle drops the lock.
 */

import {
  JsonDuckDBValueConverter,
  StatementType,
  type DuckDBConnection,
  type DuckDBInstance,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type Json,
} from '@duckdb/node-api';
import * as z from 'zod';

import { Failure, isOfStorage, storageFailed, textOf } from '../errors.ts';

export interface Warehouse {
  readonly path: string;
  /**
   * Returns rows as JSON values: BIGINT, DECIMAL, DATE and TIMESTAMP arrive as text. For statements that change nothing or,
   * inside a transaction begun by `run`, return what they changed. The result must be small.
   */
  rows<T>(sql: string, parameters: readonly Bindable[], shape: z.ZodType<T>): Promise<T[]>;
  /** Runs one statement, or a script without parameters. Returns how many rows the last statement changed. */
  run(sql: string, parameters?: readonly Bindable[]): Promise<number>;
  /** As `run`, for statements that change lasting tables or views. */
  alter(sql: string, parameters?: readonly Bindable[]): Promise<number>;
  /** Commits what `work` does, or rolls back and rethrows. Within another one it joins that, which fails as a whole. */
  transact<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs `work` on a second connection, where a temporary table shadows a permanent one, even in views (measured). If it is
   * `apart`, `changes` does not count its changes.
   */
  withSession<T>(work: (session: Warehouse) => Promise<T>, how?: 'apart'): Promise<T>;
  /** Makes `close` reclaim the space of removed rows. Each time, it would take twice as long and enlarge the file (measured). */
  reclaimAtClose(): void;
  /** Must be called outside a transaction: an aborted one accepts no setting. */
  useThreads(threads: number): Promise<void>;
  /** A number that differs after any session changed something (relations: by `alter`) or rolled back. */
  changes(of: 'anything' | 'relations'): number;
  /** Fails the running statement of `work` once the signal aborts. */
  interruptibly<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Enough for one 60 MB document. */
export const MEMORY_LIMIT = '400MB';

/**
 * A column with added rows keeps a block in memory until a checkpoint. In a night of 120 slices, more meant 500 MB to temporary
 * files and back, against 30 MB of checkpoints (measured).
 */
const MAX_UNSAVED_BYTES = 64_000_000;
const UNSAVED_SQL = `select memory_usage_bytes::double as bytes from duckdb_memory() where tag = 'IN_MEMORY_TABLE'`;

/** `release` closes the instance. It is null for a session beside another. */
export async function warehouseOn(
  file: string,
  instance: DuckDBInstance,
  release: (() => void) | null,
  counted = { anything: 0, relations: 0 },
): Promise<Warehouse> {
  const connection = await instance.connect();
  const execute = statementsOn(connection);
  let isReclaimed = false;
  let threadsInUse: number | null = null;
  const none = { isOpen: false, begun: null, failure: null };
  let transaction: { isOpen: boolean; begun: Promise<unknown> | null; failure: unknown } = none;
  const run = async (sql: string, parameters: readonly Bindable[] = []) => {
    let isChange = true;
    try {
      let text = sql;
      if (transaction.isOpen && transaction.begun === null && parameters.length === 0) {
        transaction.begun = Promise.resolve();
        text = `begin transaction;\n${sql}`;
      } else if (transaction.isOpen) {
        transaction.begun ??= asStorage(connection.run('begin transaction'));
        await transaction.begun;
      }
      const { rowsChanged } = await asStorage(execute(text, parameters));
      // A script states only how many rows its last statement changed.
      isChange = rowsChanged > 0 || parameters.length === 0;
      return rowsChanged;
    } finally {
      // After the change, from which on reads may be cached again.
      if (isChange) counted.anything += 1;
    }
  };
  /** The engine refuses while another session changes rows. A later commit does it then. */
  const saveRows = async () => {
    const [unsaved] = rowsIn(await connection.run(UNSAVED_SQL));
    if (Number(unsaved?.['bytes']) <= MAX_UNSAVED_BYTES) return;
    await connection.run('checkpoint');
    // Makes the engine return freed memory: 50 MB in a night of 300 slices (measured).
    await connection.run(`set memory_limit = '${MEMORY_LIMIT}'`);
  };
  return {
    path: file,
    async rows(sql, parameters, shape) {
      return z.array(shape).parse(rowsIn(await asStorage(execute(sql, parameters))));
    },
    run,
    async alter(sql, parameters) {
      counted.relations += 1;
      try {
        return await run(sql, parameters);
      } finally {
        counted.relations += 1;
      }
    },
    async transact(work) {
      if (transaction.isOpen) {
        return work().catch((error: unknown) => {
          transaction.failure = error;
          throw error;
        });
      }
      // The transaction begins with the first change: most nights, there is none.
      transaction = { ...none, isOpen: true };
      try {
        const result = await work();
        if (transaction.failure !== null) throw transaction.failure;
        if (transaction.begun !== null) {
          await asStorage(connection.run('commit'));
          await saveRows().catch(() => null);
        }
        return result;
      } catch (error) {
        // The commit itself may have failed, which also ends the transaction.
        await connection.run('rollback').catch(() => null);
        counted.anything += 1;
        counted.relations += 1;
        throw error;
      } finally {
        transaction = none;
      }
    },
    async withSession(work, how) {
      const counts = how === 'apart' ? { ...counted } : counted;
      const session = await warehouseOn(file, instance, null, counts);
      try {
        return await work(session);
      } finally {
        await session.close();
      }
    },
    reclaimAtClose() {
      isReclaimed = true;
    },
    async useThreads(threads) {
      if (threads === threadsInUse) return;
      await asStorage(connection.run(`set threads = ${threads}`));
      threadsInUse = threads;
    },
    changes: (of) => counted[of],
    async interruptibly(signal, work) {
      const stop = () => connection.interrupt();
      signal.addEventListener('abort', stop);
      try {
        return await work();
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    async close() {
      // Of the whole instance: set earlier, checkpoints would write a third more (measured). 100 is the engine's default.
      // A database that failed is closed as it is.
      const setting = `set max_vacuum_tasks = ${isReclaimed ? 100 : 0}`;
      if (release !== null) await connection.run(setting).catch(() => null);
      connection.closeSync();
      release?.();
    },
  };
}

/** Throws `ENGINE_MEMORY` and `STORAGE_FAILED` in place of DuckDB's errors. */
async function asStorage<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const text = textOf(error);
    if (text.startsWith('Out of Memory Error')) {
      const message = `The database ran out of memory: ${text.split('\n')[0] ?? ''}`;
      throw new Failure('ENGINE_MEMORY', message, {
        hint: 'Give the slice fewer dimensions or metrics, or filter it, so that one period is smaller.',
        cause: error,
      });
    }
    if (isOfStorage(error)) throw storageFailure('The database failed', error);
    throw error;
  }
}

export function isUnknownToEngine(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Catalog Error');
}

export function storageFailure(what: string, error: unknown): Failure {
  return storageFailed(what, error, {
    hint: 'Check free space and permissions of the directory; committed data is kept.',
  });
}

export type Bindable = string | number | boolean | null;

/** A night repeats fewer, and each prepared statement takes memory. */
const MAX_STATEMENTS = 30;

/** In characters: a prepared statement keeps its last parameters in memory. */
const MAX_VALUE_CHARACTERS = 65_536;

/** A table created from a query has no columns the second time (measured). */
const repeatable: ReadonlySet<StatementType> = new Set([
  StatementType.SELECT,
  StatementType.INSERT,
  StatementType.UPDATE,
  StatementType.DELETE,
]);

/**
 * Returns a function that runs a statement, or a script without parameters, and throws DuckDB's own errors. It awaits few engine
 * calls: each waits for a turn of the event loop, 20 ms while responses arrive (measured).
 */
export function statementsOn(
  connection: DuckDBConnection,
): (sql: string, parameters: readonly Bindable[]) => Promise<DuckDBMaterializedResult> {
  const kept = new Map<string, DuckDBPreparedStatement>();
  const release = (sql: string) => {
    kept.get(sql)?.destroySync();
    kept.delete(sql);
  };
  return async (sql, parameters) => {
    if (parameters.length === 0) return connection.run(sql);
    const cached = kept.get(sql);
    kept.delete(sql);
    const prepared = cached ?? (await connection.prepare(sql));
    let isKept = false;
    try {
      prepared.bind([...parameters]);
      const result = await prepared.run();
      const isShort = parameters.every(
        (value) => typeof value !== 'string' || value.length <= MAX_VALUE_CHARACTERS,
      );
      isKept = isShort && repeatable.has(prepared.statementType);
      return result;
    } finally {
      if (!isKept) prepared.destroySync();
      else {
        prepared.clearBindings();
        // The same statement may have run at the same time.
        release(sql);
        kept.set(sql, prepared);
        const [oldest = sql] = kept.keys();
        if (kept.size > MAX_STATEMENTS) release(oldest);
      }
    }
  };
}

export function rowsIn(result: DuckDBMaterializedResult): Record<string, Json>[] {
  const names = result.deduplicatedColumnNames();
  const rows: Record<string, Json>[] = [];
  for (let chunk = 0; chunk < result.chunkCount; chunk += 1)
    for (const values of result.getChunk(chunk).convertRows(JsonDuckDBValueConverter))
      rows.push(Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])));
  return rows;
}
