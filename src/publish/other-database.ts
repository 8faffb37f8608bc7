/** Opens DuckDB files other than the warehouse, and reads which warehouse each is a copy of. */

import { existsSync } from 'node:fs';
import { copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import { inTemporaryFolder } from '../warehouse/directories.ts';
import { statement } from '../warehouse/sql.ts';
import { rowsIn, statementsOn, isUnknownToEngine, type Warehouse } from '../warehouse/warehouse.ts';
import { dimensionTables } from './lake-table.ts';
import { ifThere } from './replacement.ts';

export type Database = Pick<Warehouse, 'rows' | 'run'>;

/** The warehouse is open at the same time, with its own limit. */
const MEMORY_LIMIT = '256MB';

/** Lends a database to `work`. Throws DuckDB's own errors. */
export async function withDatabase<T>(
  path: string,
  access: 'READ_ONLY' | 'READ_WRITE',
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const instance = await DuckDBInstance.create(path, {
    access_mode: access,
    memory_limit: MEMORY_LIMIT,
    autoinstall_known_extensions: 'false',
    ...(path === ':memory:' ? {} : { temp_directory: `${path}.tmp` }),
  });
  const connection = await instance.connect();
  const statements = statementsOn(connection);
  try {
    return await work({
      rows: async (sql, parameters, shape) =>
        z.array(shape).parse(rowsIn(await statements.run(sql, parameters))),
      run: async (sql, parameters = []) => (await statements.run(sql, parameters)).rowsChanged,
    });
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const tableRow = z.object({ schema_name: z.string(), table_name: z.string() });

export async function tablesOf(database: Database): Promise<z.infer<typeof tableRow>[]> {
  return database.rows(statement('publish/tables'), [], tableRow);
}

/** Copies state the id of their warehouse, so that no warehouse replaces a copy of another. */
export interface Publisher {
  readonly path: string;
  /** Null if the warehouse does not exist yet. */
  readonly id: string | null;
}

export async function publisherOf(warehouse: Warehouse): Promise<Publisher> {
  return { path: warehouse.path, id: await statedIdOf(warehouse) };
}

async function statedIdOf(database: Database): Promise<string | null> {
  const sql = 'select id::varchar as id from ripen_internal.warehouse_identity';
  const rows = await database
    .rows(sql, [], z.object({ id: z.string() }))
    .catch((error: unknown) => {
      if (isUnknownToEngine(error)) return [];
      throw error;
    });
  return rows[0]?.id ?? null;
}

/** The system does not open the file, whatever its content: permissions, too many open files. */
const KEPT_OUT = 'IO Error: Cannot open file';

const sliceRow = z.object({ slice: z.string() });

/** Reads the id that a database states and its tables that ripen did not make. */
async function ownershipOf(database: Database) {
  const tables = await tablesOf(database);
  const names = tables.map((table) => `${table.schema_name}.${table.table_name}`);
  if (!names.includes('ripen_internal.migrations')) return { owner: null, foreign: names };
  const slices = await database.rows(statement('publish/slices'), [], sliceRow);
  const own = [...dimensionTables, ...slices.map(({ slice }) => slice)];
  const made = new Set(own.map((name) => `main.${name}`));
  const foreign = names.filter((name) => !/^ripen(_internal)?\./.test(name) && !made.has(name));
  return { owner: await statedIdOf(database), foreign };
}

/**
 * Returns the id of the warehouse that a database is a copy of. One that another session has locked is read from a temporary
 * copy. Throws `WAREHOUSE_FOREIGN` if the file is not a database, or has tables that are not ripen's or a write-ahead log,
 * which DuckDB would replay into its replacement. Throws `USAGE_INVALID` for the warehouse itself, which would lose its lock.
 */
export async function readOwner(path: string, own: Publisher): Promise<string | null> {
  const [found, warehouse] = [await ifThere(stat(path)), await ifThere(stat(own.path))];
  if (found !== null && found.ino === warehouse?.ino && found.dev === warehouse.dev) {
    throw new Failure('USAGE_INVALID', `The publish target ${path} was the warehouse itself.`, {
      hint: 'Publish to a path of its own.',
    });
  }
  // Anything but a file was already refused as a place to write to.
  const isThere = found?.isFile() === true && found.size > 0;
  const { owner, foreign } = isThere ? await ownershipAt(path) : { owner: null, foreign: [] };
  if (owner !== null && owner !== own.id) return owner;
  if (existsSync(`${path}.wal`)) throw notOwn(path, `a write-ahead log lay at ${path}.wal`);
  if (foreign.length === 0) return owner;
  const reason = `it held ${foreign.length} tables that are not ripen's, such as ${foreign[0]}`;
  throw notOwn(path, reason);
}

async function ownershipAt(path: string): ReturnType<typeof ownershipOf> {
  try {
    return await withDatabase(path, 'READ_ONLY', ownershipOf).catch(async (error: unknown) => {
      if (!textOf(error).includes('Could not set lock')) throw error;
      return inTemporaryFolder(async (folder) => {
        const copy = join(folder, 'occupant.duckdb');
        await copyFile(path, copy);
        return withDatabase(copy, 'READ_ONLY', ownershipOf);
      });
    });
  } catch (error) {
    if (error instanceof Failure || textOf(error).startsWith(KEPT_OUT)) throw error;
    throw notOwn(path, textOf(error), error);
  }
}

export function notOwn(target: string, because: string, cause?: unknown): Failure {
  const message = `The publish target ${target} was not replaced: ${because}.`;
  return new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { target },
    hint: 'Close the session that writes to it and move the file away, or publish to a path of its own.',
    cause,
  });
}
