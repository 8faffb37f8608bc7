/** What there is to compare a load with: DuckDB over files that lie on disk already, and the way it would be written without ripen. */

import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';

import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';

import { dimensions, metrics } from './corpus.ts';

/** What one pass took: by the clock, and of all threads' processor time, which other work on the machine moves less. */
export interface Spent {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** More than the warehouse has: bodies are parsed as a whole each, and leave the 400 MB of the warehouse. */
const MEMORY_LIMIT = '1GB';
/** As the warehouse has them. */
const types = { count: 'BIGINT', money: 'DECIMAL(18,6)', ratio: 'DOUBLE' } as const;

const textColumns = [...dimensions, ...Object.keys(metrics), 'attr_dependency'];
const typedColumns = [
  'cast(day as DATE) as day',
  ...dimensions.slice(1),
  ...Object.entries(metrics).map(([name, form]) => `cast(${name} as ${types[form]}) as ${name}`),
  'attr_dependency',
].join(', ');

/** One statement over files on disk: `read_json`, casts, insert, checkpoint. No check, no ledger. */
export async function readJsonOnly(
  files: readonly string[],
  as: 'bodies' | 'lines',
): Promise<Spent> {
  const list = files.map((file) => `'${file}'`).join(', ');
  const columns = textColumns.map((name) => `${name}: 'VARCHAR'`).join(', ');
  const fields = textColumns.map((name) => `${name} VARCHAR`).join(', ');
  const rows =
    as === 'lines'
      ? `select * from read_json([${list}], format = 'newline_delimited', auto_detect = false, columns = {${columns}})`
      : `select unnest(rows, recursive := true)
         from read_json([${list}], format = 'unstructured', records = true, auto_detect = false,
                        maximum_object_size = 64000000, columns = {rows: 'STRUCT(${fields})[]'})`;
  return inDatabase(`${files[0] ?? ''}.duckdb`, async (connection) => {
    await connection.run('set preserve_insertion_order = false');
    await connection.run(`create table loaded as select ${typedColumns} from (${rows})`);
  });
}

interface Body {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Looks no deeper: the rows are what is timed. */
function isBody(value: unknown): value is Body {
  return (
    typeof value === 'object' && value !== null && 'rows' in value && Array.isArray(value.rows)
  );
}

/** `JSON.parse` of bodies, rows handed to the appender as text, casts in SQL. */
export async function parseAndAppend(files: readonly string[]): Promise<Spent> {
  return inDatabase(`${files[0] ?? ''}.append.duckdb`, async (connection) => {
    await connection.run(
      `create temp table texts (${textColumns.map((name) => `${name} VARCHAR`).join(', ')})`,
    );
    const appender = await connection.createAppender('texts', 'main', 'temp');
    for (const file of files) {
      const body: unknown = JSON.parse(readFileSync(file, 'utf8'));
      if (!isBody(body)) throw new TypeError('A body of the corpus holds no rows.');
      for (const row of body.rows) {
        for (const name of textColumns) {
          const value = row[name];
          appender.appendVarchar(typeof value === 'string' ? value : JSON.stringify(value));
        }
        appender.endRow();
      }
    }
    appender.closeSync();
    await connection.run(`create table loaded as select ${typedColumns} from texts`);
  });
}

async function inDatabase(
  file: string,
  work: (connection: DuckDBConnection) => Promise<void>,
): Promise<Spent> {
  await rm(file, { force: true });
  const instance = await DuckDBInstance.create(file, { memory_limit: MEMORY_LIMIT });
  const connection = await instance.connect();
  try {
    return await timed(async () => {
      await work(connection);
      await connection.run('checkpoint');
    });
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(file, { force: true });
  }
}

async function timed(work: () => Promise<void>): Promise<Spent> {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { wallMs: performance.now() - startedAt, cpuMs: (user + system) / 1000 };
}
