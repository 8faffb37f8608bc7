/** Everything an installation holds, as text that two installations can be compared by, whatever their folders. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import * as z from 'zod';

import { identifier } from '../../src/warehouse/sql.ts';
import type { Installation } from './installation.ts';

/** Which run brought a row, and when, is not what the row says. */
const INCIDENTAL = new Set(['_load_id', 'load_id', 'run_id', 'created_at', 'live_at']);

/** What the ledger says of the loaded state; the rest of it tells how the state came about. */
const STATE_OF_LEDGER = new Set([
  'ripen.periods',
  'ripen.restatements',
  'ripen.slice_tables',
  'ripen.slice_metrics',
]);

const relationRow = z.object({
  name: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
});
const manifestShape = z.object({
  files: z.array(
    z.object({ path: z.string(), rows: z.number(), sums: z.unknown(), content: z.string() }),
  ),
});

/** By name, every table and view of `main` and every table of the ledger that holds state, as lines in sorted order. */
export async function contentsOf(path: string): Promise<Record<string, string>> {
  return reading(path, async (connection) => {
    const found = await connection.runAndReadAll(
      `select schema_name || '.' || table_name as name,
              list({'name': column_name, 'type': data_type} order by column_index) as columns
       from duckdb_columns() where not internal and schema_name in ('main', 'ripen')
       group by all order by all`,
    );
    const contents: Record<string, string> = {};
    for (const { name, columns } of z.array(relationRow).parse(found.getRowObjectsJson())) {
      if (name.startsWith('ripen.') && !STATE_OF_LEDGER.has(name)) continue;
      const kept = columns.filter((column) => !INCIDENTAL.has(column.name));
      const relation = name
        .split('.')
        .map((part) => identifier(part))
        .join('.');
      const rows = await connection.runAndReadAll(
        `select ${kept.map((column) => identifier(column.name)).join(', ')} from ${relation}`,
      );
      const lines = rows.getRowsJson().map((row) => JSON.stringify(row));
      contents[name] = [
        kept.map((column) => `${column.name} ${column.type}`).join(', '),
        ...lines.sort(),
      ].join('\n');
    }
    return contents;
  });
}

/** Every value in every table and view of a database as text, compressed ones too: what a search of its bytes may miss. */
export async function valuesIn(path: string): Promise<string> {
  return reading(path, async (connection) => {
    const names = await connection.runAndReadAll(
      'select distinct schema_name, table_name from duckdb_columns() where not internal order by all',
    );
    const texts: string[] = [];
    for (const name of names.getRowsJson()) {
      const relation = z
        .array(z.string())
        .parse(name)
        .map((part) => identifier(part))
        .join('.');
      texts.push(
        JSON.stringify((await connection.runAndReadAll(`select * from ${relation}`)).getRowsJson()),
      );
    }
    return texts.join('\n');
  });
}

/** An open connection keeps the file locked, also after its instance was closed. */
async function reading<T>(
  path: string,
  use: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return await use(connection);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** What a lake's manifest states of its files: paths, rows, exact sums and content. */
async function manifestOf(lake: string): Promise<string> {
  const { files } = manifestShape.parse(
    JSON.parse(await readFile(join(lake, '_manifest.json'), 'utf8')),
  );
  return files.map((file) => JSON.stringify(file)).join('\n');
}

/**
 * All of an installation with `warehouse.duckdb`, `snapshot.duckdb` and `lake/` in `data/`: the rows of the
 * databases, what the lake's manifest states of its files, and which files there are.
 */
export async function everythingIn(installation: Installation): Promise<Record<string, string>> {
  const data = (name: string): string => installation.path('data', name);
  const databases = ['warehouse.duckdb', 'snapshot.duckdb'];
  const contents = await Promise.all(
    databases.map(async (name) =>
      Object.entries(await contentsOf(data(name))).map(
        ([table, text]) => [`${name} ${table}`, text] as const,
      ),
    ),
  );
  return {
    ...Object.fromEntries(contents.flat()),
    manifest: await manifestOf(data('lake')),
    files: (await installation.files()).join('\n'),
  };
}

/** What differs, a line for each thing: its name and the first lines that are not alike. Empty for equals. */
export function differences(
  expected: Record<string, string>,
  found: Record<string, string>,
): string[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort();
  return names.flatMap((name) => {
    const [wanted, got] = [(expected[name] ?? '').split('\n'), (found[name] ?? '').split('\n')];
    const at = wanted.findIndex((line, index) => line !== got[index]);
    if (at === -1 && wanted.length === got.length) return [];
    const line = at === -1 ? wanted.length : at;
    return [
      `${name}: ${wanted.length} lines, found ${got.length}; expected ${wanted[line]}, found ${got[line]}`,
    ];
  });
}
