/** Slices, dimensions and metrics of any name are published, exported and described as they are. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';

import type { Config } from '../../src/config/config.ts';
import type { RunEvent } from '../../src/events.ts';
import { describeSlice } from '../../src/load/describing.ts';
import { createTable, type Target } from '../../src/load/target.ts';
import { BIGINT, DOUBLE, MONEY } from '../../src/model/column-type.ts';
import type { Slice } from '../../src/model/slice.ts';
import { dbtSourcesYaml } from '../../src/publish/dbt.ts';
import { exportSlice } from '../../src/publish/export.ts';
import { publish } from '../../src/publish/publish.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import { identifier, literal } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { countMetric, slice } from '../support/slice.ts';

/** Names of prototypes, of our own columns and aliases, of DuckDB's, and such as break careless SQL, YAML and paths. */
const metrics = [
  'constructor __proto__ period _odd window_no fetched_at filename rows content sums s f m0 is_final slice'.split(' '),
  'metric date hash rowid _path ="x day=2020-01-01 $1 %s'.split(' '),
  ['row count', `o'brien "x" \`y\` \\z.w`, 'Upper Case', '{{ x }} {% y %} 🙂', '-- x'],
].flat();
const texts = ['_key', 'Os Name', `it's "quoted"`, 'toString'];
/** Names a load gave its own tables. */
const working = ['windows', 'typed', 'answers', 'documents', 'staged', 'before_totals', 'after_totals', 'plain_texts'];
const DAYS = 7;

const slices = [
  slice({ name: 'trouble', dimensions: ['day', ...texts], metrics }),
  slice({ name: 'by_hour', dimensions: ['hour', ...texts], metrics }),
  slice({ name: 'constructor', dimensions: ['app_token'], metrics }),
  ...working.map((name) => slice({ name, dimensions: ['day', 'app_token'], metrics: ['installs'] })),
];

let directory: string;
let warehouse: Warehouse;
let config: Pick<Config, 'publish' | 'slices'>;
const events: RunEvent[] = [];

const path = (name: string): string => join(directory, name);

/** Seven days of three rows, the last not final; and for every slice a temporary table of its name in the session. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-names-'));
  warehouse = await openWarehouse(path('warehouse.duckdb'), { mode: 'write', lockWaitMs: 0, emit: () => {} });
  const publishTo = [
    { kind: 'duckdb', path: path('analytics.duckdb'), mode: 0o644 },
    { kind: 'parquet', path: path('lake'), mode: 0o644 },
    { kind: 'delta', path: path('tables'), mode: 0o644, keepMs: 86_400_000 },
  ] as const;
  config = { publish: publishTo, slices };
  for (const each of slices) await fill(targetOf(each));
  for (const { name } of slices) await warehouse.run(`create temp table ${identifier(name)} as select 1 as "day"`);
  const { failures } = await publish(config, warehouse, (event) => events.push(event), new AbortController().signal);
  for (const failure of failures) throw failure;
});

afterAll(async () => {
  await warehouse.close();
  await rm(directory, { recursive: true, force: true });
});

const types = [BIGINT, MONEY, DOUBLE];

function targetOf(each: Slice): Target {
  const typed = each.metrics.map((id, place) => ({
    id,
    type: types[place % 3] ?? BIGINT,
    declared: types[place % 3] ?? BIGINT,
    additive: true,
    isAssumed: false,
  }));
  return {
    slice: each,
    fingerprint: 'f',
    metrics: typed.map((metric) => ({ ...countMetric(metric.id, 1), ...metric })),
    state: 'live',
    table: `main.${identifier(each.name)}`,
    columns: { dimensions: each.dimensions, metrics: typed },
    catalog: [],
  };
}

const dates = new Map([
  ['hour', "TIMESTAMP '2026-05-08 03:00' + to_days(d::integer)"],
  ['day', "DATE '2026-05-08' + d::integer"],
]);

/** What a load leaves behind: rows, ledger, view and comments. */
async function fill(target: Target): Promise<void> {
  const { slice: each, columns } = target;
  const days = each.grain === null ? 1 : DAYS;
  const cells = [
    ...each.dimensions.map((name) => dates.get(name) ?? `${literal(`${name} `)} || k`),
    ...columns.metrics.map(({ type }, place) => `${100 * place} + 10 * d + k + ${type.kind === 'BIGINT' ? 0 : 0.25}`),
  ];
  await warehouse.run(createTable(target.table, columns));
  await warehouse.run(
    `insert into ${target.table} select ${cells.join(', ')}, '{}', null, 1 from range(${days}) as a(d), range(3) as b(k)`,
  );
  await warehouse.run(
    `insert into ripen.slice_tables by name
     select $1 as slice, 'f' as fingerprint, $2 as table_name, 'live' as state, now()::timestamp as created_at`,
    [each.name, target.table],
  );
  await warehouse.run(
    `insert into ripen.loads by name
     select nextval('ripen.load_ids') as load_id, 'run' as run_id, $1 as slice, 'f' as fingerprint, [] as reasons,
         DATE '2026-05-08' as start_day, DATE '2026-05-15' as end_day, '{}' as parameters,
         from_json($2::json, '["VARCHAR"]') as metrics, 1 as requests, 1 as bytes, 1 as rows_fetched, 1 as rows_loaded,
         0 as rows_rejected, 'proven' as verdict, '{}' as proof, now()::timestamp as requested_at,
         now()::timestamp as received_at, now()::timestamp as loaded_at`,
    [each.name, JSON.stringify(each.metrics)],
  );
  await warehouse.run(
    `insert into ripen.periods by name
     select $1 as slice, 'f' as fingerprint, DATE '2026-05-08' + d::integer as start_day, start_day + 1 as end_day,
         start_day as asked_start, end_day as asked_end, currval('ripen.load_ids') as load_id,
         TIMESTAMP '2026-05-15 12:00' as fetched_at, fetched_at as sound_at, end_day::timestamp as ends_at, true as whole, 3 as rows,
         0 as rejected, 'final' as state
     from range(${days}) as a(d)`,
    [each.name],
  );
  await describeSlice(warehouse, target);
}

/** Asks a session in which the snapshot is attached as `w`, the catalog of the Delta tables as `l`. Rows as lists of texts. */
async function answers(sql: string, preparations: readonly string[] = []): Promise<(string | null)[][]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`attach '${path('analytics.duckdb')}' as w (read_only)`);
    await connection.run(`attach '${path('tables/catalog.duckdb')}' as l (read_only)`);
    for (const each of preparations) await connection.run(each);
    return cells.parse((await connection.runAndReadAll(sql)).getRowsJson());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const cells = z.array(z.array(z.union([z.string(), z.number().transform(String)]).nullable()));

/** How many rows two relations have and in how many, copies counted, they differ. */
async function difference(one: string, other: string, preparations: readonly string[] = []): Promise<string[]> {
  const rows = await answers(
    `select
         (select count(*) from ${one}),
         (select count(*) from (from ${one} except all from ${other})),
         (select count(*) from (from ${other} except all from ${one}))`,
    preparations,
  );
  return (rows[0] ?? []).map(String);
}

const inWarehouse = (relation: string): string => `(select * exclude (_load_id) from w.main.${identifier(relation)})`;

const rowsIn = ({ name }: Slice): string => (name === 'constructor' ? '3' : '21');

test.each(slices)('the lake holds every row of $name and every final cell as the warehouse does', async (each) => {
  const { name } = each;
  expect(await difference(`l.main.${name}`, inWarehouse(name))).toEqual([rowsIn(each), '0', '0']);
  expect(await difference(`l.main.${name}_final`, inWarehouse(`${name}_final`))).toEqual([rowsIn(each), '0', '0']);
});

test('of names with blanks or marks one warning says which engines cannot read the Delta tables', () => {
  const warnings = events.filter((event) => event.type === 'warning');
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatchObject({ code: 'NAMES_UNREADABLE' });
  expect(JSON.stringify(warnings)).toMatch(
    /Spark, Databricks and Fabric cannot read .*: .*trouble \(Os Name and \d+ more\)/,
  );
});

test('18 of 21 rows of 29 metrics are final, whatever the metric is called', async () => {
  const shown = metrics.map((name) => `count(${identifier(name)})`).join(', ');
  expect(await answers(`select ${shown} from l.main.trouble_final`)).toEqual([metrics.map(() => '18')]);
});

test('the manifest states the sum of each exact metric of each file', async () => {
  const text = await readFile(path('lake/_manifest.json'), 'utf8');
  const { files } = manifest.parse(JSON.parse(text));
  const exact = metrics.filter((_, place) => place % 3 !== 2);
  const sums = exact.map((name) => `sum(${identifier(name)})::varchar`).join(', ');
  const days = await answers(`select day::varchar, ${sums} from w.main.trouble group by day order by day`);
  expect(days).toHaveLength(7);
  for (const [date, ...wanted] of days) {
    const file = files.find((each) => each.path === `trouble/day=${date ?? ''}/data.parquet`);
    expect(file?.sums).toEqual(exact.map((name, place) => [name, wanted[place]]));
  }
});

test.each(['parquet', 'csv', 'ndjson'])('an export as %s holds every row under every name', async (format) => {
  const output = path(`trouble.${format}`);
  const { rows } = await warehouse.apart(async (session) => exportSlice(session, { slice: 'trouble', output }));
  expect(rows).toBe(21);
  const read = { parquet: 'read_parquet', csv: 'read_csv', ndjson: 'read_ndjson' }[format] ?? '';
  const described = await answers(`select column_name from (describe from ${read}('${output}'))`);
  const names = ['day', ...texts, ...metrics, 'attr_dependency', '_extra'];
  expect(described.flat()).toEqual(names.map((name) => (format === 'csv' ? name.replace(/^(?=[=-])/, "'") : name)));
});

describe('in a session without such tables, as that of the command', () => {
  beforeAll(async () => {
    for (const { name } of slices) await warehouse.run(`drop table temp.main.${identifier(name)}`);
  });

  test('the sources of dbt name every column', async () => {
    const sources = sourcesFile.parse(parse(await dbtSourcesYaml(config, warehouse)));
    const table = sources.sources[0]?.tables.find(({ name }) => name === 'trouble');
    const rendered = (text: string): string => text.replaceAll('{{ "{" }}', '{');
    const names = ['day', ...texts, ...metrics, 'attr_dependency', '_extra', '_load_id'];
    expect(table?.columns.map(({ name }) => rendered(name))).toEqual(names);
    // Braces that are not rendered would be commands.
    expect(JSON.stringify(table).replaceAll('{{ \\"{\\" }}', '')).not.toMatch(/\{[{%]/);
  });
});

const manifest = z.object({
  files: z.array(z.object({ path: z.string(), sums: z.custom<object>().transform((sums) => Object.entries(sums)) })),
});
const sourcesFile = z.object({
  sources: z.array(
    z.object({
      tables: z.array(
        z.object({
          name: z.string(),
          columns: z.array(z.object({ name: z.string() })),
        }),
      ),
    }),
  ),
});
