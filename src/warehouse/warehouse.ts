/**
 * An open warehouse: what can be asked of ripen's own DuckDB file.
 *
 * Hides the connection. Nobody in this process opens, reads or copies the file in any other way while it is open: closing
 * any second handle would drop the lock.
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

/** As the engine has it. */
const MOST_VACUUM_TASKS = 100;

/** Work on one file, over one session: statements run one after the other. */
export interface Warehouse {
  readonly path: string;
  /**
   * Rows as JSON values in the given shape: BIGINT, DECIMAL, DATE and TIMESTAMP arrive as text. For small results of
   * statements that change nothing, or inside of a transaction that `run` has begun say what they changed.
   */
  rows<T>(sql: string, parameters: readonly Bindable[], shape: z.ZodType<T>): Promise<T[]>;
  /** Runs one statement, or a script of several without parameters; returns how many rows the last one changed. */
  run(sql: string, parameters?: readonly Bindable[]): Promise<number>;
  /** Commits what `work` did, or rolls back and rethrows. Not nestable. */
  transact<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Lends a second session, in which nothing of this one's is temporary: a temporary table stands before the table it is
   * named after, also within views and under `main.` (measured). Sees what is committed.
   */
  apart<T>(work: (session: Warehouse) => Promise<T>): Promise<T>;
  /**
   * Says that many rows were removed, whose room is to be reclaimed at close. To do so always takes as long again as to write the file, and
   * leaves it half as large again (measured).
   */
  reclaimAtClose(): void;
  /** How many threads the engine works with from now on, outside of a transaction: an aborted one takes no setting. */
  useThreads(threads: number): Promise<void>;
  /** Another number as soon as something was changed, or a change taken back, over any session: anything, or tables and views. */
  changes(of: 'anything' | 'relations'): number;
  /** Lets the statement that is running fail, where one is. */
  interrupt(): void;
  close(): Promise<void>;
}

/** Enough for one 60 MB document; a process stays below a gigabyte with it. */
export const MEMORY_LIMIT = '400MB';
/** After so many commits the engine gives up the pages it only keeps to be quick: nobody reads them again, and they would fill its memory. */
const COMMITS_PER_RELEASE = 8;
/** A limit below what is in use is refused, after whatever can go is gone. */
const RELEASE = `set memory_limit = '64MB'; set memory_limit = '${MEMORY_LIMIT}'`;

/** The warehouse in an instance that holds its file; `letGo` closes the instance. All its sessions count their changes together. */
export async function warehouseOn(
  file: string,
  instance: DuckDBInstance,
  letGo: () => void,
  counted = { anything: 0, relations: 0 },
): Promise<Warehouse> {
  const connection = await instance.connect();
  const statements = statementsOn(connection);
  let isReclaimed = false;
  let commits = 0;
  let threadsInUse: number | null = null;
  const transaction: { isOpen: boolean; begun: Promise<unknown> | null } = { isOpen: false, begun: null };
  const run = async (sql: string, parameters: readonly Bindable[] = []): Promise<number> => {
    const count = (): void => {
      counted.anything += 1;
      if (declares.test(sql)) counted.relations += 1;
    };
    count();
    try {
      let text = sql;
      if (transaction.isOpen && transaction.begun === null && parameters.length === 0) {
        transaction.begun = Promise.resolve();
        text = `begin transaction;\n${sql}`;
      } else if (transaction.isOpen) {
        transaction.begun ??= asStorage(connection.run('begin transaction'));
        await transaction.begun;
      }
      const result = await asStorage(statements.run(text, parameters));
      return result.rowsChanged;
    } finally {
      count();
    }
  };
  return {
    path: file,
    async rows(sql, parameters, shape) {
      return z.array(shape).parse(rowsIn(await asStorage(statements.run(sql, parameters))));
    },
    run,
    async transact(work) {
      // Begun with the first change: most nights change nothing of what is looked at in one.
      transaction.isOpen = true;
      try {
        const result = await work();
        if (transaction.begun !== null) {
          await asStorage(connection.run('commit'));
          commits += 1;
          if (commits % COMMITS_PER_RELEASE === 0) await connection.run(RELEASE).catch(() => null);
        }
        return result;
      } catch (error) {
        // The commit itself may have failed, and with it ended the transaction.
        await connection.run('rollback').catch(() => null);
        counted.anything += 1;
        counted.relations += 1;
        throw error;
      } finally {
        transaction.isOpen = false;
        transaction.begun = null;
      }
    },
    async apart(work) {
      const session = await warehouseOn(file, instance, () => {}, counted);
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
    interrupt: () => connection.interrupt(),
    async close() {
      // The setting is the instance's: the session that holds it closes last. A database that failed is let go as it is.
      const tasks = isReclaimed ? MOST_VACUUM_TASKS : 0;
      await connection.run(`set max_vacuum_tasks = ${tasks}`).catch(() => null);
      connection.closeSync();
      letGo();
    },
  };
}

/** A statement, or the first of a script, that makes, alters, comments or removes a lasting table or view, always named with its schema. */
const declares =
  /^(?:\s|--.*\n)*(?:create(?!\s+(?:or\s+replace\s+)?temp\b)|drop(?!\s+(?:table|view)\s+(?:if\s+exists\s+)?"[^"]*"\s*$)|alter|comment)\b/i;

/** DuckDB's errors about disk and files as `STORAGE_FAILED`; others are bugs or the caller's to judge, and pass. */
async function asStorage<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const text = textOf(error);
    if (text.startsWith('Out of Memory Error')) throw outOfMemory(error);
    if (isOfStorage(error)) throw storageFailure('The database failed', error);
    throw error;
  }
}

/** Whether a statement named a table, view or function that is not there. */
export function isUnknownToEngine(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Catalog Error');
}

/** Too much was asked of the engine at once; the disk has nothing to do with it. */
function outOfMemory(error: unknown): Failure {
  const text = textOf(error).split('\n')[0] ?? '';
  return new Failure('ENGINE_MEMORY', `The database ran out of its memory: ${text}`, {
    hint: 'Give the slice fewer dimensions or metrics, or filter it, so that one period is smaller.',
    cause: error,
  });
}

/** An error of the disk or of DuckDB about it, told as one. */
export function storageFailure(what: string, error: unknown): Failure {
  return storageFailed(what, error, {
    hint: 'Check free space and permissions of the directory; what was committed is kept.',
  });
}

/** What can be bound to a parameter of a statement. */
export type Bindable = string | number | boolean | null;

/** The texts that a night runs more than once are fewer, and each holds memory. */
const MOST_KEPT = 30;

/** In characters: a prepared statement keeps in memory what it was last run with. */
const LONGEST_KEPT = 65_536;

/** Others may run once only: a table that is created as a query has no columns the second time (measured). */
const repeatable: ReadonlySet<StatementType> = new Set([
  StatementType.SELECT,
  StatementType.INSERT,
  StatementType.UPDATE,
  StatementType.DELETE,
]);

/**
 * The statements of a connection, in as few awaited calls of the engine as can be: each waits for a turn of the event loop, 20 ms while
 * answers come in (measured). Those that stay prepared are destroyed at close, as they would hold the file.
 */
export function statementsOn(connection: DuckDBConnection): {
  /** Runs one statement, or a script of several without parameters. Throws DuckDB's own errors. */
  run(sql: string, parameters: readonly Bindable[]): Promise<DuckDBMaterializedResult>;
} {
  /** Those that do not run just now, the one that ran last at the end. */
  const kept = new Map<string, DuckDBPreparedStatement>();
  const forget = (sql: string): void => {
    kept.get(sql)?.destroySync();
    kept.delete(sql);
  };
  const keep = (sql: string, prepared: DuckDBPreparedStatement): void => {
    prepared.clearBindings();
    forget(sql);
    kept.set(sql, prepared);
    const [oldest = sql] = kept.keys();
    if (kept.size > MOST_KEPT) forget(oldest);
  };
  return {
    async run(sql, parameters) {
      if (parameters.length === 0) return connection.run(sql);
      const known = kept.get(sql);
      kept.delete(sql);
      const prepared = known ?? (await connection.prepare(sql));
      let isKept = false;
      try {
        prepared.bind([...parameters]);
        const result = await prepared.run();
        isKept = repeatable.has(prepared.statementType) && parameters.every(isShort);
        return result;
      } finally {
        if (isKept) keep(sql, prepared);
        else prepared.destroySync();
      }
    },
  };
}

const isShort = (value: Bindable): boolean => typeof value !== 'string' || value.length <= LONGEST_KEPT;

/** All rows of a result as JSON values, by the names of its columns. Nothing is awaited: the engine has them all. */
export function rowsIn(result: DuckDBMaterializedResult): Record<string, Json>[] {
  const names = result.deduplicatedColumnNames();
  return Array.from({ length: result.chunkCount }, (_, index) =>
    result.getChunk(index).convertRows(JsonDuckDBValueConverter),
  )
    .flat()
    .map((values) => Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])));
}
