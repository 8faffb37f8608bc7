/** `ripen publish --ddl` and `--dbt`: what they print holds for the published copies. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';

import { publish } from '../../src/commands/publish.ts';
import { recordedShell, type RecordedShell } from '../unit/cli-recorded-shell.ts';
import { textWith } from '../support/matching.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

const SLICES = `
slices:
  - { name: network_daily, dimensions: [day, app_token, network], metrics: [installs, cost], date_period: "2026-01-01:yesterday" }
`;
const SNAPSHOT = '  - duckdb: analytics.duckdb\n';
const LAKE = '  - parquet: lake\n';
const TABLES = '  - delta: tables\n';

let sample: Sample;
let shell: RecordedShell;

beforeEach(async () => {
  sample = await openSample(12, 20);
  shell = recordedShell({ directory: sample.directory });
});
afterEach(async () => sample.close());

interface Asked {
  readonly ddl?: 'clickhouse' | 'trino' | 'spark' | 'athena' | 'duckdb';
  readonly dbt?: string;
  readonly json?: boolean;
}

/** Runs the command over a configuration with these targets, and returns what it printed. */
async function printed(targets: string, asked: Asked): Promise<string> {
  await writeFile(
    join(sample.directory, 'ripen.yaml'),
    `service: simulator\nwarehouse: warehouse.duckdb\npublish:\n${targets}${SLICES}`,
  );
  shell.printed.length = 0;
  const args = { config: undefined, asOf: undefined, log: 'text', quiet: true, lockWait: '5s' } as const;
  await sample.lend(async () => {
    await publish({ ...args, json: false, ddl: undefined, dbt: undefined, ...asked }, shell);
  });
  return shell.printed.join('\n');
}

describe('--ddl', () => {
  test('of DuckDB runs as it is printed, and its views hold the rows, the comments and the final cells', async () => {
    await printed(LAKE, {});
    const text = await printed(LAKE, { ddl: 'duckdb' });
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const rows = async (sql: string): Promise<unknown[]> => (await connection.runAndReadAll(sql)).getRowObjectsJson();
    try {
      for (const sql of text.split(/;$/m)) if (sql.trim() !== '') await connection.run(sql);
      expect(await rows('select * from lake.network_daily order by all')).toEqual(
        await rowsOf(sample.warehouse, 'select * exclude (_load_id) from network_daily order by all'),
      );
      expect(await rows('select count(installs)::integer as n from lake.network_daily_final')).toEqual([{ n: 40 }]);
      expect(
        await rows(`select comment from duckdb_columns() where table_name = 'network_daily' and column_name = 'cost'`),
      ).toEqual(
        await rowsOf(
          sample.warehouse,
          `select comment from duckdb_columns() where table_name = 'network_daily' and comment like 'Cost:%'`,
        ),
      );
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  });

  test('writes nothing, and describes one lake after the other, each in a schema of its own', async () => {
    const text = await printed(`${LAKE}  - parquet: s3://example-bucket/lake\n`, { ddl: 'trino' });
    expect([...text.matchAll(/create schema if not exists hive\.("\w+")/g)].map(([, name]) => name)).toEqual([
      '"lake"',
      '"lake_2"',
    ]);
    await expect(readFile(sample.path('lake/_manifest.json'))).rejects.toThrow('ENOENT');
  });

  test('of Athena refuses a lake on a disk, which it cannot read', async () => {
    await expect(printed(LAKE, { ddl: 'athena' })).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      hint: 'Publish to where athena reads, or name an engine that reads what there is: clickhouse, trino, spark, duckdb.',
    });
    await expect(printed('  - duckdb: copy.duckdb\n', { ddl: 'athena' })).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      hint: 'Add a delta or a parquet target to publish.',
    });
    expect(await printed(`${LAKE}  - parquet: s3://example-bucket/a\n`, { ddl: 'athena' })).not.toContain(
      sample.directory,
    );
  });
});

const testNode = z.union([
  z.string(),
  z.record(z.string(), z.looseObject({ arguments: z.record(z.string(), z.unknown()) })),
]);
const sourcesFile = z.object({
  sources: z.array(
    z.object({
      name: z.string(),
      database: z.string(),
      schema: z.string(),
      quoting: z.record(z.string(), z.literal(true)),
      tables: z.array(
        z.object({
          name: z.string(),
          description: z.string().optional(),
          config: z.object({ loaded_at_query: z.string() }).optional(),
          data_tests: z.array(testNode).default([]),
          columns: z.array(
            z.object({
              name: z.string(),
              description: z.string().optional(),
              quote: z.literal(true).optional(),
              data_tests: z.array(testNode).default([]),
            }),
          ),
        }),
      ),
    }),
  ),
});
type SourcesFile = z.infer<typeof sourcesFile>;

const quoted = (name: string): string => `"${name}"`;
const inCopy = ({ database, schema }: SourcesFile['sources'][number], table: string): string =>
  [database, schema, table].map(quoted).join('.');

/** A query that counts the rows that break a test, as dbt's own macro would. */
function breaking(node: z.infer<typeof testNode>, relation: string, column: string | null, all: SourcesFile): string {
  const [kind = '', given] = typeof node === 'string' ? [node] : (Object.entries(node)[0] ?? []);
  const options = given?.arguments ?? {};
  const value = column ?? String(options['column_name']);
  const count = 'select count(*)::integer as broken from';
  if (kind === 'not_null') return `${count} ${relation} where ${value} is null`;
  if (kind === 'unique') {
    return `${count} (select ${value} from ${relation} where ${value} is not null group by ${value} having count(*) > 1)`;
  }
  if (kind === 'accepted_values') {
    const values = z.array(z.string()).parse(options['values']);
    return `${count} ${relation} where ${value} not in (${values.map((each) => `'${each}'`).join(', ')})`;
  }
  const [, source = '', table = ''] = /^source\('(\w+)', '(\w+)'\)$/.exec(String(options['to'])) ?? [];
  const found = all.sources.find(({ name }) => name === source);
  if (kind !== 'relationships' || found === undefined) throw new Error(`no such test: ${kind} of ${source}`);
  const field = String(options['field']);
  return `${count} ${relation} where ${value} is not null and ${value} not in (select ${field} from ${inCopy(found, table)})`;
}

const brokenRow = z.array(z.object({ broken: z.number() }));

/** Every test of a sources file with what its query finds in the copies. */
async function verdicts(file: SourcesFile, copy: string): Promise<string[]> {
  const found: string[] = [];
  const [first] = file.sources;
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`attach '${copy}' as ${quoted(first?.database ?? '')} (read_only)`);
    for (const source of file.sources) {
      for (const { name, data_tests: ofTable, columns } of source.tables) {
        const relation = inCopy(source, name);
        const tests = [
          ...ofTable.map((node) => ({ node, column: null })),
          ...columns.flatMap((column) =>
            column.data_tests.map((node) => ({
              node,
              column: column.quote === true ? quoted(column.name) : column.name,
            })),
          ),
        ];
        for (const { node, column } of tests) {
          const sql = breaking(node, relation, column, file);
          const [row] = brokenRow.parse((await connection.runAndReadAll(sql)).getRowObjectsJson());
          found.push(`${source.name}.${name} ${column ?? 'row'}: ${row?.broken} broken`);
        }
      }
    }
    return found;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

describe('--dbt', () => {
  test('states every table and column of the snapshot with its comment, and quotes a name of trouble', async () => {
    await printed(SNAPSHOT, {});
    const file = sourcesFile.parse(parse(await printed(SNAPSHOT, { dbt: '-' })));
    const stated = file.sources.flatMap(({ schema, tables }) =>
      tables.flatMap(({ name, columns }) =>
        columns.map((column) => ({ schema, name, column: column.name, comment: column.description ?? null })),
      ),
    );
    const declared = await ask(
      sample.path('analytics.duckdb'),
      `select schema_name as schema, table_name as name, column_name as column, comment from duckdb_columns()
       where database_name = 'analytics' and not internal`,
    );
    expect(stated.length).toBeGreaterThan(50);
    for (const column of stated) expect(declared).toContainEqual(column);
    const daily = file.sources[0]?.tables.find(({ name }) => name === 'network_daily');
    expect(daily?.columns.filter(({ quote }) => quote === true).map(({ name }) => name)).toEqual(['day', 'cost']);
  });

  test('has tests that hold for the snapshot, and one fails for a row that comes twice', async () => {
    await printed(SNAPSHOT, {});
    const file = sourcesFile.parse(parse(await printed(SNAPSHOT, { dbt: '-' })));
    const found = await verdicts(file, sample.path('analytics.duckdb'));
    expect(found.length).toBeGreaterThanOrEqual(8);
    expect(found.filter((line) => !line.endsWith(' 0 broken'))).toEqual([]);
    await sample.warehouse.run('insert into network_daily from network_daily where installs = 9007199254741073');
    await printed(SNAPSHOT, {});
    expect(await verdicts(file, sample.path('analytics.duckdb'))).toContain('ripen.network_daily row: 1 broken');
  });

  test('of a folder writes the sources into it each time, and of nothing or - prints them', async () => {
    await printed(SNAPSHOT, {});
    const file = sample.path('models/ripen_sources.yml');
    expect(await printed(SNAPSHOT, { dbt: 'models' })).toBe(`${file} written`);
    await writeFile(file, 'old');
    expect(JSON.parse(await printed(SNAPSHOT, { dbt: 'models/', json: true }))).toStrictEqual({
      described: [{ path: file, written: true }],
    });
    const sources = await printed(SNAPSHOT, { dbt: '-' });
    expect(await readFile(file, 'utf8')).toBe(`${sources}\n`);
    expect(JSON.parse(await printed(SNAPSHOT, { dbt: '', json: true }))).toMatchObject({
      described: [{ path: null, text: textWith('version: 2') }],
    });
  });

  test('where no file can be is STORAGE_FAILED, not a bug', async () => {
    await printed(SNAPSHOT, {});
    await writeFile(sample.path('file'), '');
    for (const dbt of ['file/sources.yml', 'file/models']) {
      await expect(printed(SNAPSHOT, { dbt })).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    }
  });

  test('states a freshness whose query finds the instant of the last load', async () => {
    await printed(SNAPSHOT, {});
    const file = sourcesFile.parse(parse(await printed(SNAPSHOT, { dbt: '-' })));
    const query = file.sources[0]?.tables.find(({ name }) => name === 'network_daily')?.config?.loaded_at_query ?? '';
    const loaded = await rowsOf(sample.warehouse, 'select max(loaded_at) as at from ripen.loads');
    expect(await ask(sample.path('analytics.duckdb'), `select (${query}) as at`)).toEqual(loaded);
  });

  test('without a snapshot describes the catalog of Delta tables, whose tests hold and whose freshness is its newest day', async () => {
    await printed(TABLES, {});
    const file = sourcesFile.parse(parse(await printed(TABLES, { dbt: '' })));
    const catalog = sample.path('tables/catalog.duckdb');
    const found = await verdicts(file, catalog);
    expect(found).toContain('ripen.network_daily row: 0 broken');
    expect(found.filter((line) => !line.endsWith(' 0 broken'))).toEqual([]);
    const query = file.sources[0]?.tables.find(({ name }) => name === 'network_daily')?.config?.loaded_at_query ?? '';
    expect(await ask(catalog, `select (${query})::varchar as at`)).toEqual([{ at: '2026-01-12 00:00:00' }]);
  });

  test('with a file writes it there, and refuses when nothing dbt could read is published', async () => {
    expect(await printed(SNAPSHOT, { dbt: 'sources.yml' })).toBe(`${sample.path('sources.yml')} written`);
    expect(await readFile(sample.path('sources.yml'), 'utf8')).toBe(`${await printed(SNAPSHOT, { dbt: '-' })}\n`);
    await expect(printed('  - parquet: s3://example-bucket/a\n', { dbt: '-' })).rejects.toMatchObject({
      code: 'USAGE_INVALID',
    });
  });
});
