/**
 * How a session runs statements: in as few awaited calls of the engine as there can be, as each waits for a turn of the
 * event loop, 20 ms while answers come in (measured), whatever the statement takes.
 *
 * Hides which statements stay prepared. That saves no planning: the engine plans a statement with parameters anew each
 * time it runs, and so takes it as it would be taken that moment, whatever became of its tables (measured).
 */

import {
  JsonDuckDBValueConverter,
  StatementType,
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type Json,
} from '@duckdb/node-api';

/** What can be bound to a parameter of a statement. */
export type Bindable = string | number | boolean | null;

export interface Statements {
  /** Runs one statement, or a script of several without parameters. Throws DuckDB's own errors. */
  run(sql: string, parameters: readonly Bindable[]): Promise<DuckDBMaterializedResult>;
}

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

/** The statements of a connection. It destroys those that stay prepared, each of which would hold the file, as it is closed. */
export function statementsOn(connection: DuckDBConnection): Statements {
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
