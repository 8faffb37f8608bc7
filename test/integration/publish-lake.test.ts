import { mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { lakesDdl } from '../support/lake-ddl.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

const manifestShape = z.object({
  files: z.array(
    z.object({
      path: z.string(),
      rows: z.number(),
      sums: z.record(z.string(), z.string().nullable()),
    }),
  ),
});

const DAYS = 12;
/** So many that a week is the longest unit for a file. */
const ROWS_PER_DAY = 850;
const WEEKS = ['2025-12-29', '2026-01-05', '2026-01-12'];
const weekFile = (monday: string): string => `network_daily/${monday}.parquet`;

let sample: Sample;
let root: string;

const open = async (days: number, rowsPerDay: number): Promise<void> => {
  sample = await openSample(days, rowsPerDay);
  root = sample.path('lake');
};

beforeEach(async () => open(DAYS, ROWS_PER_DAY));

const publishLake = async (): Promise<number> => {
  const [published] = await sample.publish([{ kind: 'parquet', path: root, mode: 0o640 }]);
  return published?.files_written ?? -1;
};

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const parquetIn = (folder: string): string[] =>
  filesIn(folder).filter((path) => path.endsWith('.parquet'));

const readManifest = async (): Promise<z.infer<typeof manifestShape>> =>
  manifestShape.parse(JSON.parse(await readFile(join(root, '_manifest.json'), 'utf8')));

const inLake = (sql: string): Promise<Record<string, unknown>[]> => ask(':memory:', sql);
/** Asks the views that the statements for DuckDB make over the files. */
async function inViews(sql: string): Promise<Record<string, unknown>[]> {
  const target = { kind: 'parquet', path: root, mode: 0o640 } as const;
  const ddl = await lakesDdl('duckdb', { publish: [target] }, sample.warehouse);
  const schema = /create schema if not exists ("\w+")/.exec(ddl)?.[1] ?? '';
  const statements = ddl.split(/;$/m).filter((each) => each.trim() !== '');
  return ask(':memory:', sql, [...statements, `use ${schema}`]);
}
const everything = `select * exclude (_load_id) from network_daily order by all`;

describe('a lake', () => {
  test('of 12 days in 3 weeks gets 3 files and the dimension tables, and nothing that is unfinished', async () => {
    await publishLake();
    const files = filesIn(root);
    expect(files.filter((path) => path.startsWith('network_daily/'))).toEqual(WEEKS.map(weekFile));
    expect(files).toContain('apps/data.parquet');
    expect(files).not.toContain('catalog.duckdb');
    expect(files.filter((path) => path.includes('unfinished'))).toEqual([]);
    expect((await stat(join(root, weekFile('2026-01-05')))).mode & 0o777).toBe(0o640);
  });

  test('reads back exactly through the statements for DuckDB, every type and every comment, from another working directory', async () => {
    await publishLake();
    const before = process.cwd();
    process.chdir('/');
    try {
      expect(await inViews(everything.replace('exclude (_load_id) ', ''))).toEqual(
        await rowsOf(sample.warehouse, everything),
      );
      const typed =
        await inViews(`select string_agg(column_name || ' ' || data_type, ', ' order by column_index) as columns
        from duckdb_columns() where table_name = 'network_daily'`);
      expect(typed[0]?.['columns']).toBe(
        'day DATE, app_token VARCHAR, network VARCHAR, installs BIGINT, cost DECIMAL(18,6), revenue DECIMAL(38,10), ' +
          'ecpi DOUBLE, attr_dependency VARCHAR, _extra VARCHAR',
      );
      const [comment] = await inViews(
        `select comment from duckdb_columns() where column_name = 'cost'`,
      );
      expect(comment?.['comment']).toContain('money in USD');
      const finalCells = 'select count(installs)::integer as n from network_daily_final';
      expect(await inViews(finalCells)).toEqual(await rowsOf(sample.warehouse, finalCells));
    } finally {
      process.chdir(before);
    }
  });

  test('states rows and exact sums of 38 digits in its manifest, equal to the warehouse', async () => {
    await publishLake();
    const stated = (await readManifest()).files.filter(({ path }) =>
      path.startsWith('network_daily/'),
    );
    const expected = await rowsOf(
      sample.warehouse,
      `select 'network_daily/' || date_trunc('week', day)::date || '.parquet' as path, count(*)::integer as rows,
           {'installs': sum(installs)::varchar, 'cost': sum(cost)::varchar, 'revenue': sum(revenue)::varchar} as sums
       from network_daily group by 1 order by 1`,
    );
    expect(stated).toEqual(expected);
    const [sum] = await inLake(
      `select sum(revenue)::varchar as revenue from '${join(root, weekFile('2026-01-05'))}'`,
    );
    expect(stated[1]?.sums['revenue']).toBe(sum?.['revenue']);
  });
});

describe('the next publish', () => {
  test('reads the rows of a table that the ledger does not account for', async () => {
    await publishLake();
    await sample.warehouse.run(`delete from network_daily where day = DATE '2026-01-05'`);
    expect(await publishLake()).toBe(1);
    expect(await inViews(everything.replace('exclude (_load_id) ', ''))).toEqual(
      await rowsOf(sample.warehouse, everything),
    );
  });

  test('makes a deleted, a truncated, a replaced and a never finished file again', async () => {
    await publishLake();
    const [first = '', second = '', third = ''] = WEEKS.map((monday) =>
      join(root, weekFile(monday)),
    );
    await rm(first);
    await writeFile(second, 'PAR1');
    await writeFile(`${second}.ripen-unfinished`, 'torn');
    // What a killed publish had put in place: as many bytes, and not those the manifest speaks of.
    await writeFile(third, await readFile(third));
    expect(await publishLake()).toBe(3);
    expect(filesIn(root).filter((path) => path.includes('unfinished'))).toEqual([]);
    expect(await publishLake()).toBe(0);
  });
});

describe('the layout', () => {
  test('has every column in the files, which one pattern reads; a slice without a date is one file, empty or not', async () => {
    await sample.warehouse.alter(`create table app_hourly as
        select TIMESTAMP '2026-01-01' + to_hours(r::integer) as "hour", 'app' as app_token, r as installs, 1 as _load_id from range(50) as t(r)`);
    await storeRows(sample.warehouse, 'ripen.slice_tables', { slice: 'app_hourly' });
    await sample.warehouse.alter(
      'create table app_totals (app_token VARCHAR, installs BIGINT, _load_id BIGINT)',
    );
    await storeRows(sample.warehouse, 'ripen.slice_tables', { slice: 'app_totals' });
    await publishLake();
    expect(parquetIn(join(root, 'app_hourly'))).toEqual(['2026.parquet']);
    expect(await inLake(`from '${root}/network_daily/*.parquet' order by all`)).toEqual(
      await rowsOf(sample.warehouse, everything),
    );
    expect(parquetIn(join(root, 'app_totals'))).toEqual(['data.parquet']);
    expect(
      await inViews(`select min("hour")::varchar as first, count(*)::integer as n from app_hourly`),
    ).toEqual([{ first: '2026-01-01 00:00:00', n: 50 }]);
    expect(await inViews('select count(*)::integer as n from app_totals')).toEqual([{ n: 0 }]);
  });

  test('files of the grain a slice had before are gone when the new ones are there', async () => {
    await publishLake();
    await sample.warehouse.alter(`create or replace table network_daily as
        select date_trunc('month', day)::date as month, sum(installs)::decimal(38,0) as installs, 1 as _load_id from network_daily group by 1`);
    expect(await publishLake()).toBe(1);
    expect(parquetIn(join(root, 'network_daily'))).toEqual(['2026.parquet']);
  });
});

test('publishing refuses to follow a symbolic link out of the lake', async () => {
  await mkdir(root);
  await mkdir(sample.path('elsewhere'));
  await symlink(sample.path('elsewhere'), join(root, 'network_daily'));
  await writeFile(sample.path('elsewhere/2020-01-06.parquet'), 'of another program');
  await expect(publishLake()).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(filesIn(sample.path('elsewhere'))).toEqual(['2020-01-06.parquet']);
});
