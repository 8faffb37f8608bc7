/** Opens other DuckDB files than the warehouse, and reads which publish of which warehouse each is of. */

import { existsSync, statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import { Failure, textOf } from '../../errors.ts';
import { inTemporaryFolder } from '../../warehouse/directories.ts';
import { jsonOf, statement } from '../../warehouse/sql.ts';
import {
  isUnknownToEngine,
  rowsIn,
  statementsOn,
  type Warehouse,
} from '../../warehouse/warehouse.ts';
import { dimensionTables, slicesIn } from '../tables.ts';
import type { CopyOrigin, Publisher } from '../copy.ts';
import { ifThere } from './replacement.ts';

export type Database = Pick<Warehouse, 'rows' | 'run'>;

/** The warehouse is open at the same time, with its own limit. */
const MEMORY_LIMIT = '256MB';

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
  const execute = statementsOn(connection);
  try {
    return await work({
      rows: async (sql, parameters, shape) =>
        z.array(shape).parse(rowsIn(await execute(sql, parameters))),
      run: async (sql, parameters = []) => (await execute(sql, parameters)).rowsChanged,
    });
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const tableRow = z.object({ schema_name: z.string(), table_name: z.string() });
const publisherRow = z.object({
  id: z.string(),
  publishes: jsonOf(z.array(z.object({ number: z.number(), atMs: z.number() }))),
});

export const tablesOf = async (database: Database): Promise<z.infer<typeof tableRow>[]> =>
  database.rows(statement('publish/tables'), [], tableRow);

export async function publisherOf(database: Database, path: string): Promise<Publisher> {
  const reading = database.rows(statement('publish/publisher'), [], publisherRow);
  const [publisher = { id: null, publishes: [] }] = await reading.catch((error: unknown) => {
    if (isUnknownToEngine(error)) return [];
    throw error;
  });
  return { path, ...publisher };
}

/** The system does not open the file, whatever its content: permissions, too many open files. */
const KEPT_OUT = 'IO Error: Cannot open file';

/**
 * Returns which publish a database is a copy of. Throws `WAREHOUSE_FOREIGN` if the file is not a database, or has tables that
 * are not ripen's or a write-ahead log, which DuckDB would replay into its replacement, and `USAGE_INVALID` for the warehouse
 * itself, which would lose its lock.
 */
export async function readOrigin(path: string, publisher: Publisher): Promise<CopyOrigin | null> {
  const file = ifThere(() => statSync(path));
  const warehouse = ifThere(() => statSync(publisher.path));
  if (file !== null && file.ino === warehouse?.ino && file.dev === warehouse.dev) {
    throw new Failure('USAGE_INVALID', `The publish target ${path} is the warehouse itself.`, {
      hint: 'Publish to a path of its own.',
    });
  }
  let ownership: Awaited<ReturnType<typeof ownershipOf>> = { origin: null, foreign: [] };
  // Anything but a file was already refused as a place to write to.
  if (file?.isFile() === true && file.size > 0) {
    try {
      ownership = await withDatabase(path, 'READ_ONLY', ownershipOf).catch(
        async (error: unknown) => {
          if (!textOf(error).includes('Could not set lock')) throw error;
          return inTemporaryFolder(async (folder) => {
            const copy = join(folder, 'stored.duckdb');
            await copyFile(path, copy);
            return withDatabase(copy, 'READ_ONLY', ownershipOf);
          });
        },
      );
    } catch (error) {
      if (error instanceof Failure || textOf(error).startsWith(KEPT_OUT)) throw error;
      throw notOwn(path, textOf(error), error);
    }
  }
  const { origin, foreign } = ownership;
  if (origin !== null && origin.warehouse !== publisher.id) return origin;
  if (existsSync(`${path}.wal`)) throw notOwn(path, `a write-ahead log lay at ${path}.wal`);
  const [first] = foreign;
  if (first === undefined) return origin;
  throw notOwn(path, `it held ${foreign.length} tables that are not ripen's, such as ${first}`);
}

async function ownershipOf(database: Database) {
  const tables = await tablesOf(database);
  const names = tables.map((table) => `${table.schema_name}.${table.table_name}`);
  if (!names.includes('ripen_internal.migrations')) return { origin: null, foreign: names };
  const inMain = [...dimensionTables, ...(await slicesIn(database)).keys()];
  const ripenTables = new Set(inMain.map((name) => `main.${name}`));
  const foreign = names.filter(
    (name) => !/^ripen(_internal)?\./.test(name) && !ripenTables.has(name),
  );
  const { id, publishes } = await publisherOf(database, '');
  const origin = id === null ? null : { warehouse: id, publish: publishes.at(-1) ?? null };
  return { origin, foreign };
}

export function notOwn(target: string, reason: string, cause?: unknown): Failure {
  const message = `The publish target ${target} was not replaced: ${reason}.`;
  return new Failure('WAREHOUSE_FOREIGN', message, {
    facts: { target },
    hint: 'Close the session that writes to it and move the file away, or publish to a path of its own.',
    cause,
  });
}
