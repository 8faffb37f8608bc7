/** Opens DuckDB files other than the warehouse (copies, targets, catalogs), and tells which warehouse each is a copy of. */

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

/** A database that can be queried: the warehouse or another. */
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

/** The tables of a database, by schema and name. */
export async function tablesOf(database: Database): Promise<z.infer<typeof tableRow>[]> {
  return database.rows(statement('publish/tables'), [], tableRow);
}

/** A warehouse as its copies know it. Copies state its id, so that no warehouse replaces a copy of another. */
export interface Publisher {
  readonly path: string;
  /** Null if the warehouse does not exist yet. */
  readonly id: string | null;
}

/** Path and id of an open warehouse. */
export async function publisherOf(warehouse: Warehouse): Promise<Publisher> {
  return { path: warehouse.path, id: await statedIdOf(warehouse) };
}

/** The id that a warehouse or a snapshot states; null if none. */
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

/** Returns `WAREHOUSE_FOREIGN` if a copy states another id than the warehouse's; null if it may be replaced. */
export function foreignCopy(
  copy: string,
  stated: string | null,
  { path, id }: Publisher,
): Failure | null {
  if (stated === null || stated === id) return null;
  const message = `The publish target ${copy} was a copy of the warehouse ${stated}, not of ${path}, which is ${id ?? 'new'}.`;
  return new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { target: copy, found: stated, expected: id },
    hint: 'Publish to a path of its own. If its warehouse was lost, copy the published snapshot to its place, or move the copy away to start again.',
  });
}

/** How DuckDB's message begins if the system does not open the file, whatever its content: permissions, too many open files. */
const KEPT_OUT = 'IO Error: Cannot open file';

const sliceRow = z.object({ slice: z.string() });

/** The id that a database states, null if none, and its tables that ripen did not make. */
async function ownershipOf(database: Database) {
  const names = (await tablesOf(database)).map(
    (table) => `${table.schema_name}.${table.table_name}`,
  );
  if (!names.includes('ripen_internal.migrations')) return { owner: null, foreign: names };
  const slices = await database.rows(statement('publish/slices'), [], sliceRow);
  const made = new Set(
    [...dimensionTables, ...slices.map(({ slice }) => slice)].map((name) => `main.${name}`),
  );
  const foreign = names.filter((name) => !/^ripen(_internal)?\./.test(name) && !made.has(name));
  return { owner: await statedIdOf(database), foreign };
}

/**
 * Returns the id of the warehouse that the database at a path is a copy of; null if none. A database that another session has
 * locked is read from a temporary copy. Throws `WAREHOUSE_FOREIGN` if the file is no database, or if it is no other warehouse's
 * copy and has tables that are not ripen's, or a write-ahead log beside it, which DuckDB would replay into its replacement.
 * Throws `USAGE_INVALID` for the warehouse itself, which would lose its lock.
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
  if (foreign.length > 0)
    throw notOwn(
      path,
      `it held ${foreign.length} tables that are not ripen's, such as ${foreign[0]}`,
    );
  return owner;
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

/** The failure for a database or table that this warehouse must not replace. */
export function notOwn(target: string, because: string, cause?: unknown): Failure {
  return new Failure(
    'WAREHOUSE_FOREIGN',
    `The publish target ${target} was not replaced: ${because}.`,
    {
      facts: { target },
      hint: 'Close the session that writes to it and move the file away, or publish to a path of its own.',
      cause,
    },
  );
}
