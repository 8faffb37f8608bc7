/** DuckDB files other than the warehouse (copies, targets, catalogs), and whose copy each is. The warehouse itself is never opened here. */

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import { Failure } from '../errors.ts';
import { statement } from '../warehouse/sql.ts';
import { rowsIn, statementsOn, isUnknownToEngine, type Warehouse } from '../warehouse/warehouse.ts';

/** What can be asked of a database, the warehouse or another. */
export type Database = Pick<Warehouse, 'rows' | 'run'>;

/** The warehouse is open beside it, with a limit of its own. */
const MEMORY_LIMIT = '256MB';

/** Opens a database, lends it to `work`, closes it. Throws DuckDB's own errors. */
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
  try {
    const connection = await instance.connect();
    const statements = statementsOn(connection);
    try {
      return await work({
        rows: async (sql, parameters, shape) => z.array(shape).parse(rowsIn(await statements.run(sql, parameters))),
        run: async (sql, parameters = []) => (await statements.run(sql, parameters)).rowsChanged,
      });
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}

const tableRow = z.object({ schema_name: z.string(), table_name: z.string() });

/** The tables of a database, in order of schema and name. */
export async function tablesOf(database: Database): Promise<z.infer<typeof tableRow>[]> {
  return database.rows(statement('publish/tables'), [], tableRow);
}

/** A warehouse as its copies know it: they state its id, so that none takes the place of another's. */
export interface Publisher {
  readonly path: string;
  /** Null where the warehouse is yet to be made. */
  readonly id: string | null;
}

/** The id a warehouse, or a snapshot of one, states; null where it states none. */
export async function statedIdOf(database: Database): Promise<string | null> {
  const sql = 'select id::varchar as id from ripen_internal.warehouse_identity';
  const rows = await database.rows(sql, [], z.object({ id: z.string() })).catch((error: unknown) => {
    if (isUnknownToEngine(error)) return [];
    throw error;
  });
  return rows[0]?.id ?? null;
}

/** Who an open warehouse is. */
export async function publisherOf(warehouse: Warehouse): Promise<Publisher> {
  return { path: warehouse.path, id: await statedIdOf(warehouse) };
}

/** Throws `WAREHOUSE_FOREIGN` where a copy states another id than the warehouse has. */
export function refuseOthers(copy: string, stated: string | null, { path, id }: Publisher): void {
  if (stated === null || stated === id) return;
  throw new Failure(
    'WAREHOUSE_FOREIGN',
    `The publish target ${copy} was a copy of the warehouse ${stated}, not of ${path}, which is ${id ?? 'new'}.`,
    {
      facts: { target: copy, found: stated, expected: id },
      hint: 'Publish to a path of its own. If its warehouse was lost, copy the published snapshot to its place, or move the copy away to begin anew.',
    },
  );
}
