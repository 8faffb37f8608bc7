/** What a database holds, in a form that two databases can be compared by. */

import * as z from 'zod';

import { identifier, literal, statement } from '../warehouse/sql.ts';
import type { Database } from './other-database.ts';

const structureRow = z.object({ kind: z.string(), name: z.string(), said: z.string().nullable() });
const tableRow = z.object({ schema_name: z.string(), table_name: z.string(), comment: z.string().nullable() });
const countRow = z.object({ name: z.string(), rows: z.string() });
const newestRow = z.object({ newest: z.string().nullable() });

export type Table = z.infer<typeof tableRow>;

/** The tables of a database, in order of schema and name. */
export async function tablesOf(database: Database): Promise<Table[]> {
  return database.rows(statement('publish/tables'), [], tableRow);
}

/** A warehouse's contents as lines: its newest load, every declaration with its comments, the rows of every table. */
export async function contentsOf(database: Database): Promise<string[]> {
  const structure = await database.rows(statement('publish/structure'), [], structureRow);
  const tables = await tablesOf(database);
  const counts = await database.rows(
    tables
      .map(({ schema_name: schema, table_name: table }) => {
        const name = literal(`${schema}.${table}`);
        return `select ${name} as name, count(*)::varchar as rows from ${identifier(schema)}.${identifier(table)}`;
      })
      .join('\nunion all\n'),
    [],
    countRow,
  );
  const [load] = await database.rows('select max(load_id)::varchar as newest from ripen.loads', [], newestRow);
  return [
    `newest load ${load?.newest ?? 'none'}`,
    ...structure.map(({ kind, name, said }) => `${kind} ${name}: ${said ?? ''}`),
    ...counts.map(({ name, rows }) => `${rows} rows in ${name}`).sort(),
  ];
}

/** The first line in which two contents differ, as expected and found; null when they are equal. */
export function firstDifference(
  expected: readonly string[],
  found: readonly string[],
): { readonly expected: string; readonly found: string } | null {
  const length = Math.max(expected.length, found.length);
  for (let line = 0; line < length; line += 1) {
    const [wanted, got] = [expected[line] ?? 'nothing more', found[line] ?? 'nothing more'];
    if (wanted !== got) return { expected: wanted, found: got };
  }
  return null;
}
