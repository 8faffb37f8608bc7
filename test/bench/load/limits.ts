/** What there is to compare a load with: parts of it alone, and the way it would be written without ripen. */

import { rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { gunzipSync } from 'node:zlib';

import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { addDays } from '../../../src/model/calendar.ts';
import { dimensions, FIRST_DAY, metrics, WINDOW_DAYS, type Corpus } from './corpus.ts';

/** What one pass took: by the clock, and of all threads' processor time, which other work on the machine moves less. */
export interface Spent {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** As the warehouse has it. */
const MEMORY_LIMIT = '640MB';
const types = { count: 'BIGINT', money: 'DECIMAL(38,12)', ratio: 'DOUBLE' } as const;

const textColumns = [...dimensions, ...Object.keys(metrics), 'attr_dependency'];
const typedColumns = [
  'cast(day as DATE) as day',
  ...dimensions.slice(1),
  // Text to a wide decimal is two hundred times slower than by way of a narrow one.
  ...Object.entries(metrics).map(([name, form]) =>
    form === 'money'
      ? `cast(cast(${name} as DECIMAL(18,6)) as ${types[form]}) as ${name}`
      : `cast(${name} as ${types[form]}) as ${name}`,
  ),
  'attr_dependency',
].join(', ');

/** Every compressed body over HTTP, 50 at once, thrown away. */
export async function downloadOnly(origin: string, corpus: Corpus): Promise<Spent> {
  return timed(async () => {
    const windows = Array.from({ length: corpus.windows }, (_, window) => window);
    const fetchNext = async (): Promise<void> => {
      for (let window = windows.shift(); window !== undefined; window = windows.shift()) {
        const start = addDays(FIRST_DAY, window * WINDOW_DAYS);
        await drain(`${origin}/reports-service/report?date_period=${start}:${addDays(start, WINDOW_DAYS - 1)}`);
      }
    };
    await Promise.all(Array.from({ length: 50 }, () => fetchNext()));
  });
}

function drain(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      response.on('error', reject).on('end', resolve).resume();
    }).on('error', reject);
  });
}

/** One statement over the files already on disk: `read_json`, casts, insert, checkpoint. No check, no ledger. */
export async function readJsonOnly(corpus: Corpus): Promise<Spent> {
  return inDatabase(corpus, 'read-json', async (connection) => {
    const fields = textColumns.map((name) => `${name} VARCHAR`).join(', ');
    const files = corpus.files.map((file) => `'${file}'`).join(', ');
    await connection.run(
      `create table loaded as
       select ${typedColumns}
       from (
           select unnest(rows, recursive := true)
           from read_json([${files}], format = 'unstructured', records = true, auto_detect = false,
                          maximum_object_size = 64000000, columns = {rows: 'STRUCT(${fields})[]'})
       )`,
    );
  });
}

interface Body {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Looks no deeper: the rows are what is timed. */
function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && 'rows' in value && Array.isArray(value.rows);
}

/** `JSON.parse` of the first so many files, rows handed to the appender as text, casts in SQL. */
export async function parseAndAppend(corpus: Corpus, files: number): Promise<Spent> {
  return inDatabase(corpus, 'append', async (connection) => {
    await connection.run(`create temp table texts (${textColumns.map((name) => `${name} VARCHAR`).join(', ')})`);
    const appender = await connection.createAppender('texts', 'main', 'temp');
    for (const file of corpus.files.slice(0, files)) {
      const body: unknown = JSON.parse(gunzipSync(readFileSync(file)).toString('utf8'));
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
  { directory }: Corpus,
  name: string,
  work: (connection: DuckDBConnection) => Promise<void>,
): Promise<Spent> {
  const file = `${directory}/${name}.duckdb`;
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
