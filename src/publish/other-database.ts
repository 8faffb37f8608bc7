/** DuckDB files other than the warehouse: copies of it, targets, catalogs. The warehouse itself is never opened here. */

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import { statement } from '../warehouse/sql.ts';
import { rowsIn, statementsOn } from '../warehouse/statements.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

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
        async rows(sql, parameters, shape) {
          return z.array(shape).parse(rowsIn(await statements.run(sql, parameters)));
        },
        async run(sql, parameters = []) {
          const result = await statements.run(sql, parameters);
          return result.rowsChanged;
        },
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
