/**
 * The steps of this process on databases and files, numbered, some of which fail as on a disk that is full.
 *
 * Hides how: DuckDB's connection and Node's file functions are replaced while steps are counted. What fails is not begun:
 * no part of a write is made, and a commit that fails has not committed.
 */

import syncFiles from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';

import { DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement } from '@duckdb/node-api';

export interface Steps {
  /** What each step so far does, in order: the first words of a statement, or the name of a function. */
  readonly kinds: readonly string[];
  /** Puts everything back; nothing is counted any more. */
  stop(): void;
}

/** Numbers steps from 1 until stopped; those for which `fails` says so throw or reject. */
export async function countSteps(fails: (step: number) => boolean = () => false): Promise<Steps> {
  const kinds: string[] = [];
  const restore: (() => void)[] = [];
  const replace = (
    target: object,
    method: string,
    instead: (call: () => unknown, given: readonly unknown[], on: unknown) => unknown,
  ): void => {
    const original: unknown = Reflect.get(target, method);
    if (typeof original !== 'function') throw new TypeError(`${method} is no function`);
    Reflect.set(target, method, function replaced(this: unknown, ...given: unknown[]): unknown {
      return instead(() => Reflect.apply(original, this, given), given, this);
    });
    restore.push(() => Reflect.set(target, method, original));
  };
  const watch = (
    target: object,
    method: string,
    failureOf: (kind: string) => Error,
    kindOf: (given: readonly unknown[], on: unknown) => string = () => method,
  ): void => {
    const isAsync = !method.endsWith('Sync');
    replace(target, method, (call, given, on) => {
      const kind = kindOf(given, on);
      kinds.push(kind);
      if (!fails(kinds.length)) return call();
      if (isAsync) return Promise.reject(failureOf(kind));
      throw failureOf(kind);
    });
  };

  const handle = await files.open(fileURLToPath(import.meta.url));
  const handles: unknown = Object.getPrototypeOf(handle);
  if (typeof handles !== 'object' || handles === null)
    throw new TypeError('file handles have no common prototype');
  await handle.close();
  watch(DuckDBInstance, 'create', databaseFull);
  watch(DuckDBConnection.prototype, 'run', databaseFull, ([sql]) => kindOfStatement(sql));
  const texts = new Map<unknown, unknown>();
  replace(DuckDBConnection.prototype, 'prepare', async (call, [sql]) => {
    const prepared = await call();
    texts.set(prepared, sql);
    return prepared;
  });
  watch(DuckDBPreparedStatement.prototype, 'run', databaseFull, (_, prepared) =>
    kindOfStatement(texts.get(prepared)),
  );
  watch(handles, 'write', fileFull);
  for (const method of ['open', 'writeFile', 'mkdir', 'chmod', 'rename', 'rm', 'rmdir'])
    watch(files, method, fileFull);
  for (const method of ['chmod', 'link', 'mkdir', 'open', 'rm', 'writeFile'])
    watch(syncFiles, `${method}Sync`, fileFull);
  replace(syncFiles, 'fsync', (call, [, done]) => {
    kinds.push('fsync');
    if (!fails(kinds.length)) return call();
    return typeof done === 'function' && Reflect.apply(done, null, [fileFull('fsync')]);
  });
  syncBuiltinESMExports();
  return {
    kinds,
    stop() {
      for (const each of restore) each();
      syncBuiltinESMExports();
    },
  };
}

/** What is done to which table, whatever the window: a statement's first words, without comments. */
function kindOfStatement(sql: unknown): string {
  const words = String(sql)
    .replaceAll(/^\s*--.*$/gm, ' ')
    .trim()
    .split(/[\s(]+/);
  return words.slice(0, words[0] === 'comment' ? 2 : 3).join(' ');
}

/** As DuckDB words it. */
function databaseFull(kind: string): Error {
  return new Error(`IO Error: Could not write file "${kind}": No space left on device`);
}

function fileFull(kind: string): Error {
  return Object.assign(new Error(`ENOSPC: no space left on device, ${kind}`), {
    code: 'ENOSPC',
    syscall: kind,
  });
}
