/** Every fixed statement against a freshly migrated warehouse, and the comments analysts read beside the numbers. */

import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { Failure } from '../../src/errors.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { refreshJoins } from '../../src/account/joins.ts';
import { storeCatalog } from '../../src/account/stored-catalog.ts';
import { prepareTables } from '../../src/warehouse/tables/slice-table.ts';
import { measureTables } from '../../src/insight/insight.ts';
import { totalTables } from '../../src/load/table-sql.ts';
import type { CatalogItem } from '../../src/model/catalog-item.ts';
import { asScript, identifier, literal, migrations, statement } from '../../src/warehouse/sql.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `load/record_load` and the like, without the migrations. */
const names = readdirSync(join(root, 'sql'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.sql') && !/^(migrations|engines)\//.test(path))
  .map((path) => path.replace(/\.sql$/, ''))
  .sort();

const code = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(join(root, 'src', path), 'utf8'))
  .join('\n');

/** The temporary tables a statement says it reads, as the load makes them. */
const temporaryTables: Record<string, string> = {
  'catalog/record_changes': statement('catalog/keep_items'),
  'load/stored_counts': asScript(totalTables),
  'load/record_restatements': asScript(totalTables),
};

const item = (filter: string, id: string): CatalogItem => ({
  filter,
  id,
  name: `Name of ${id}`,
  shortName: '',
  section: 'Conversion',
  formatting: 'integer',
  description: '',
});

let directory = '';
let instance: DuckDBInstance;
let connection: DuckDBConnection;

/** A warehouse as after the first night: migrated, with a catalog and the tables of the demo's slices. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-statements-'));
  const path = join(directory, 'warehouse.duckdb');
  const warehouse = await openWarehouse(path, { mode: 'write', lockWaitMs: 0, emit: () => {} });
  const catalog = [
    item('overview_metrics', 'installs'),
    item('dimensions', 'day'),
    item('apps', 'a1b2c3d4e5f6'),
  ];
  const run = { warehouse, runId: 'run', config: { slices: [] }, emit: () => {} };
  await storeCatalog(catalog, new Date('2026-02-14T02:30:00Z'), run);
  const config = await readConfig({
    file: join(root, 'config/demo.yaml'),
    directory: root,
    environment: {},
  });
  const prepared = await prepareTables(warehouse, config.slices, catalog, 'run');
  await measureTables(
    warehouse,
    [...prepared.values()].flatMap((target) => (target instanceof Failure ? [] : [target])),
  );
  await refreshJoins(warehouse);
  await warehouse.close();
  instance = await DuckDBInstance.create(path);
  connection = await instance.connect();
});

afterAll(async () => {
  connection.closeSync();
  instance.closeSync();
  await rm(directory, { recursive: true });
});

async function rowsOf<T>(sql: string, shape: z.ZodType<T>): Promise<T[]> {
  const reader = await connection.runAndReadAll(sql);
  return z.array(shape).parse(reader.getRowObjectsJson());
}

/** The lines of the leading comment, and what follows it. */
function partsOf(name: string): { readonly header: string; readonly body: string } {
  const text = statement(name);
  const header = /^(?:--.*\n)*/.exec(text)?.[0] ?? '';
  return { header, body: text.slice(header.length) };
}

const parametersIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/\$\d+/g)].map(([parameter]) => parameter)),
];

describe('the fixed statements', () => {
  test('are found in the folders that say when they run', () => {
    expect([...new Set(names.map((name) => name.split('/')[0]))]).toEqual(
      expect.arrayContaining(['ledger', 'load', 'status']),
    );
    expect(names.length).toBeGreaterThanOrEqual(10);
  });

  test.each(names)(
    '%s prepares against a freshly migrated warehouse, and is one statement',
    async (name) => {
      const temporary = temporaryTables[name];
      if (temporary !== undefined) await connection.run(temporary);
      const extracted = await connection.extractStatements(statement(name));
      expect(extracted.count).toBe(1);
      const prepared = await connection.prepare(statement(name));
      expect(prepared.parameterCount).toBe(parametersIn(partsOf(name).body).length);
      prepared.destroySync();
    },
  );

  test.each(names)(
    '%s is headed by its reason and names exactly the parameters it binds',
    (name) => {
      const { header, body } = partsOf(name);
      expect(header).toMatch(/^-- [A-Z](?:.|\n)+[.?]/);
      expect(parametersIn(header).sort()).toEqual(parametersIn(body).sort());
    },
  );

  test.each(names)(
    '%s is written in lower case, four spaces deep, without tabs or a semicolon',
    (name) => {
      const { body } = partsOf(name);
      const code = body.replaceAll(/'[^']*'|"[^"]*"/g, '');
      expect(code).not.toMatch(
        /\b(SELECT|FROM|WHERE|JOIN|INSERT|DELETE|GROUP BY|ORDER BY|CREATE|UPDATE)\b/,
      );
      expect(body).not.toMatch(/\t|;/);
      expect(
        body.split('\n').filter((line) => (/^ */.exec(line)?.[0].length ?? 0) % 4 !== 0),
      ).toEqual([]);
    },
  );

  test.each(names.filter((name) => /^(examples|status)\//.test(name)))(
    '%s returns columns it names, never *',
    (name) => {
      expect(partsOf(name).body).not.toMatch(/select\s+(distinct\s+)?(\w+\.)?\*/);
    },
  );

  test('are all used: a file nobody reads is no statement', () => {
    const unused = names.filter(
      (name) => !name.startsWith('examples/') && !code.includes(`'${name}'`),
    );
    expect(unused).toEqual([]);
  });

  test('hold every text that changes rows of the warehouse and depends on nothing', () => {
    const changes =
      /(['"`])\s*(?:insert into|update|delete from) (?:main|ripen|ripen_internal)\.(?:(?!\1)[^$]|\$\d)*\1/g;
    expect([...code.matchAll(changes)].map(([text]) => text)).toEqual([]);
  });

  test('what is measured has another state once a period is loaded, or is due again without a load', async () => {
    const state = async () => (await rowsOf(statement('insight/state'), z.unknown()))[0];
    const states = [await state()];
    await connection.run(`insert into ripen.periods by name
      select 's' as slice, 'f' as fingerprint, date '2026-01-01' as start_day, date '2026-01-02' as end_day,
        start_day as requested_start, end_day as requested_end, 1 as load_id, now() as fetched_at, now() as ends_at,
        true as whole, 1 as rows, 0 as rejected, 'final' as state, now() as trusted_at`);
    states.push(await state());
    await connection.run(
      `update ripen.periods set trusted_at = null, state = 'maturing' where slice = 's'`,
    );
    states.push(await state());
    await connection.run(`delete from ripen.periods where slice = 's'`);
    expect(new Set(states).size).toBe(3);
    expect(await state()).toEqual(states[0]);
  });

  test('a name without a file is an error that names it', () => {
    expect(() => statement('load/no_such_statement')).toThrow(/no_such_statement/);
  });
});

describe('the migrations', () => {
  test('leave nothing in the schema ripen but what is for people', async () => {
    const rows = await rowsOf(
      "select distinct table_name as name from duckdb_columns() where schema_name = 'ripen' order by name",
      z.object({ name: z.string() }),
    );
    const forPeople =
      'catalog control_readings control_totals finality link_crawls loads news periods projection_errors rejected_rows restatements runs ' +
      'schema_changes slice_metrics slice_tables spend warnings';
    expect(rows.map(({ name }) => name)).toEqual(forPeople.split(' '));
  });

  test('are numbered from 1 without a gap', () => {
    const versions = migrations().map(({ version }) => version);
    expect(versions).toEqual(versions.map((_, index) => index + 1));
  });
});

const commented = z.object({ object: z.string(), comment: z.string().nullable() });

/** The comment statement that is missing, ready to be written. */
const missing = (rows: readonly z.infer<typeof commented>[], kind: string): string[] =>
  rows
    .filter(({ comment }) => (comment ?? '').trim() === '')
    .map(({ object }) => `comment on ${kind} ${object} is …`);

describe('the comments', () => {
  test('every table and view carries one', async () => {
    const rows = await rowsOf(
      `select schema_name || '.' || table_name as object, comment from duckdb_tables()
       where not temporary
       union all
       select schema_name || '.' || view_name, comment from duckdb_views()
       where not internal
       order by object`,
      commented,
    );
    expect(rows.length).toBeGreaterThan(15);
    expect(missing(rows, 'table')).toEqual([]);
  });

  test.each(['main', 'ripen', 'ripen_internal'])(
    'every column of schema %s carries one',
    async (schema) => {
      const rows = await rowsOf(
        `select schema_name || '.' || table_name || '.' || column_name as object, comment
       from duckdb_columns()
       where schema_name = '${schema}' and not internal
           and table_name not in (select table_name from duckdb_tables() where temporary)
       order by object`,
        commented,
      );
      expect(rows.length).toBeGreaterThan(15);
      expect(missing(rows, 'column')).toEqual([]);
    },
  );
});

describe('quoting', () => {
  const hostile = [
    'plain',
    'two words',
    `it's`,
    `say "hi"`,
    `"`,
    `'`,
    `''; drop table runs; --`,
    'back\\slash',
    'select',
    'hour',
    'ünïcødé 統計',
    'a\nb',
    '$1',
    '',
  ];

  test.each(hostile)('the text %j reads back as it was', async (text) => {
    const [row] = await rowsOf(`select ${literal(text)} as text`, z.object({ text: z.string() }));
    expect(row).toEqual({ text });
  });

  test.each(hostile.filter((text) => text !== ''))('the name %j names one column', async (name) => {
    const rows = await rowsOf(`select 1 as ${identifier(name)}`, z.record(z.string(), z.number()));
    expect(rows).toEqual([{ [name]: 1 }]);
  });
});
