/** `ripen drop`: a slice, or its oldest periods, leaves the warehouse and every copy, and nothing else does. */

import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import type { Config } from '../../src/config/config.ts';
import { drop, publish, readConfig, status } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { readDelta } from '../support/delta-reader.ts';
import { ask } from '../support/sample-warehouse.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { failureFrom } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';
import {
  carriedOut,
  flags,
  recordedShell,
  type RecordedShell,
} from '../unit/cli-recorded-shell.ts';

const FIRST_NIGHT = new Date('2026-04-02T06:00:00Z');
const NIGHT = new Date('2026-04-12T06:00:00Z');
const from = (first: string) => ({ first: { day: day(first) }, last: { daysAgo: 1 } });

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'cost'],
  datePeriod: from('2026-03-25'),
});
const hourly = slice({
  name: 'hourly',
  dimensions: ['hour', 'os_name'],
  metrics: ['installs'],
  datePeriod: from('2026-04-08'),
});
const monthly = slice({
  name: 'monthly',
  dimensions: ['month'],
  metrics: ['installs'],
  datePeriod: from('2026-01-01'),
});
const dateless = slice({
  name: 'dateless',
  dimensions: ['app_token'],
  metrics: ['installs'],
  datePeriod: from('2026-04-01'),
});
const slices = [daily, hourly, monthly, dateless];

let scenario: Scenario;
let directory: string;
let config: Config;
let shell: RecordedShell;

/** As it was published once; catalogs name absolute paths, so every test works at the same one. */
let published: string;

beforeAll(async () => {
  scenario = await openScenario(slices, { simulator: { world: smallWorld } });
  for (const night of [FIRST_NIGHT, NIGHT]) await scenario.night(night);
  directory = await mkdtemp(join(tmpdir(), 'ripen-drop-'));
  published = `${directory}-published`;
  await cp(scenario.config.warehouse, path('warehouse.duckdb'));
  await publish(await configured(all));
  await rename(directory, published);
});
afterAll(async () => {
  await scenario.close();
  await rm(published, { recursive: true, force: true });
});

const path = (...names: string[]): string => join(directory, ...names);

/** Writes the configuration with so many of the slices, and reads it. */
async function configured(names: readonly string[], keep = '3d'): Promise<Config> {
  const listed = slices
    .filter(({ name }) => names.includes(name))
    .map(({ name, dimensions, metrics }) => ({
      name,
      dimensions,
      metrics,
      date_period: '2026-01-01:yesterday',
    }));
  const targets = [{ duckdb: 'analytics.duckdb' }, { parquet: 'lake' }, { delta: 'tables', keep }];
  const settings = {
    service: 'simulator',
    warehouse: 'warehouse.duckdb',
    publish: targets,
    slices: listed,
  };
  await writeFile(path('ripen.yaml'), JSON.stringify(settings));
  return readConfig({ directory, environment: {} });
}

const all = slices.map(({ name }) => name);

beforeEach(async () => {
  // With the instants of the files, by which a lake tells whether they are as they were written.
  execFileSync('cp', ['-a', published, directory]);
  config = await configured(all);
  shell = recordedShell({ directory, answer: 'y' });
});
afterEach(async () => rm(directory, { recursive: true, force: true }));

function dropped(
  change: Readonly<Record<string, string | boolean | undefined>>,
  on = shell,
): Promise<number> {
  return carriedOut(on, 'drop', ...flags({ quiet: true, lockWait: '5s', ...change }));
}

const inWarehouse = (sql: string): Promise<Record<string, unknown>[]> =>
  ask(path('warehouse.duckdb'), sql);
const inSnapshot = (sql: string): Promise<Record<string, unknown>[]> =>
  ask(path('analytics.duckdb'), sql);
const inTables = (sql: string): Promise<Record<string, unknown>[]> =>
  ask(path('tables', 'catalog.duckdb'), sql);

/** Every relation of a database that is named after a slice, but not those that are named in `ripen.slice_tables`. */
async function relationsOf(name: string): Promise<unknown[]> {
  const sql = `select name from (
      select table_name as name from duckdb_tables() union all
      select view_name from duckdb_views() where not internal) where name = '${name}' or name like '${name}\\_%' escape '\\'
      or name like '%\\_${name}' escape '\\' order by name`;
  return (await inWarehouse(sql)).map((row) => row['name']);
}

/** How many rows of each table of the ledger speak of a slice. */
async function ledgerRows(name: string): Promise<Record<string, number>> {
  const tables = await inWarehouse(
    `select schema_name || '.' || table_name as name from duckdb_columns() where schema_name like 'ripen%' and column_name = 'slice'
     and table_name in (select table_name from duckdb_tables()) order by name`,
  );
  const counts = tables.map(
    ({ name: table }) =>
      `select '${String(table)}' as name, count(*)::integer as n from ${String(table)} where slice = '${name}'`,
  );
  const found = await inWarehouse(counts.join(' union all '));
  return Object.fromEntries(found.map((row) => [String(row['name']), Number(row['n'])]));
}

const manifest = z.object({ files: z.array(z.looseObject({ path: z.string() })) });

/** The files of a lake below a folder, as it lies there and as its manifest states them. */
async function lakeFiles(name: string): Promise<{ onDisk: string[]; stated: string[] }> {
  const { files } = manifest.parse(
    JSON.parse(await readFile(path('lake', '_manifest.json'), 'utf8')),
  );
  const onDisk = await readdir(path('lake'), { recursive: true });
  const isOf = (file: string): boolean => file.startsWith(`${name}/`);
  return {
    onDisk: onDisk.filter((file) => isOf(file) && /\.\w+$/.test(file)).sort(),
    stated: files.map((file) => file.path).filter(isOf),
  };
}

describe('a slice that is no longer configured', () => {
  beforeEach(async () => {
    config = await configured(all.filter((name) => name !== 'daily'));
  });

  test('stays in every copy, with what is final of it, and is named by status with the command that removes it', async () => {
    const { health, unconfigured } = await status(config, { asOf: NIGHT });
    expect(unconfigured).toEqual(['daily']);
    expect(health.findings).toContainEqual({
      message: 'daily is no longer configured; its data is kept.',
      hint: 'To remove it, run `ripen drop --slice daily`.',
    });
    const count = (relation: string): string =>
      `select count(*)::integer as n, count(installs)::integer as known from ${relation}`;
    const held = await lakeFiles('daily');
    const [here, final] = [
      await inWarehouse(count('main.daily')),
      await inWarehouse(count('main.daily_final')),
    ];
    await publish(config);
    expect(await lakeFiles('daily')).toEqual(held);
    expect(held.stated).toEqual(['daily/2026.parquet']);
    const cells = "select count(*)::integer as n from ripen.finality where slice = 'daily'";
    const inFiles = `select count(*)::integer as n from '${path('lake', 'ripen_finality', '*.parquet')}' where slice = 'daily'`;
    expect(await inWarehouse(inFiles)).toEqual(await inWarehouse(cells));
    expect(await inTables(count('daily'))).toEqual(here);
    expect(await inTables(count('daily_final'))).toEqual(final);
    expect(Number(final[0]?.['known'])).toBeGreaterThan(0);
    expect(await inSnapshot(count('daily_final'))).toEqual(final);
  });

  test('is gone from tables, views, ledger, snapshot, lake and tables once that is agreed to; the others are as they were', async () => {
    await writeFile(path('lake', 'daily', 'notes.txt'), 'mine');
    const others = await inWarehouse('select * from main.hourly order by all');
    const files = await lakeFiles('hourly');
    const [rows] = await inWarehouse('select count(*)::integer as n from main.daily');
    const older = await readDelta(path('tables', 'daily'), 0);
    expect(await dropped({ slice: 'daily' })).toBe(0);
    expect(shell.told.join()).toContain(
      `This deletes slice daily: 18 periods and ${Number(rows?.['n'])} rows from ${path('warehouse.duckdb')}. It is deleted from ${path('analytics.duckdb')}, too. It is deleted from ${path('lake')}, too. It is deleted from ${path('tables')}, too; older versions there answer for 3 days more.`,
    );
    expect(shell.requested).toEqual(['Delete it? [y/N] ']);
    expect(await relationsOf('daily')).toEqual([]);
    expect(Object.values(await ledgerRows('daily')).every((count) => count === 0)).toBe(true);
    expect(Object.keys(await ledgerRows('daily')).length).toBeGreaterThan(6);
    expect(
      await inSnapshot(`select table_name from duckdb_tables() where table_name = 'daily'`),
    ).toEqual([]);
    expect(await lakeFiles('daily')).toEqual({ onDisk: ['daily/notes.txt'], stated: [] });
    expect(
      await inTables(`select view_name from duckdb_views() where view_name like 'daily%'`),
    ).toEqual([]);
    expect(await readDelta(path('tables', 'daily'))).toEqual([]);
    expect(await readDelta(path('tables', 'daily'), 0)).toEqual(older);
    expect(older).toHaveLength(Number(rows?.['n']));
    expect(await inWarehouse('select * from main.hourly order by all')).toEqual(others);
    expect(await lakeFiles('hourly')).toEqual(files);
    expect(
      await inWarehouse(`select change, before from ripen.schema_changes where object = 'daily'`),
    ).toEqual([{ change: 'slice dropped', before: `18 periods, ${Number(rows?.['n'])} rows` }]);
    expect(await status(config, { asOf: NIGHT })).toMatchObject({ unconfigured: [] });
    await expect(dropped({ slice: 'daily' })).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    await publish(await configured(['hourly'], '0s'));
    expect(await readdir(path('tables'))).not.toContain('daily');
  });
});

test('while an audit holds, a drop leaves the copies as they are; the next good publish clears them', async () => {
  const held = await lakeFiles('daily');
  const audits = [{ name: 'asked', sql: 'from hourly limit 1', onFail: 'hold' as const }];
  const { dropped: loss, ...done } = await drop(
    { ...config, audits },
    { slice: 'daily', agree: true },
  );
  expect(loss).toMatchObject({ slice: 'daily', periods: 18 });
  expect(done).toMatchObject({ published: [], failures: [{ code: 'AUDIT_HELD' }] });
  expect(await relationsOf('daily')).toEqual([]);
  expect(await lakeFiles('daily')).toEqual(held);
  expect(await readdir(directory)).not.toContain('warehouse.duckdb.audit');
  await publish(config);
  expect(await lakeFiles('daily')).toEqual({ onDisk: [], stated: [] });
});

describe('nothing is deleted', () => {
  const before = async (): Promise<unknown> => [
    await readdir(path('lake'), { recursive: true }),
    await ledgerRows('daily'),
  ];

  test('when the answer is "n", none, or "yess"', async () => {
    const was = await before();
    for (const answer of ['n', '', 'yess'])
      expect(await dropped({ slice: 'daily' }, recordedShell({ directory, answer }))).toBe(0);
    expect(await before()).toEqual(was);
  });

  test('without a terminal to ask at and without --yes; the refusal says what it would have been', async () => {
    const was = await before();
    const failure = await failureFrom(dropped({ slice: 'daily' }, recordedShell({ directory })));
    expect(failure).toMatchObject({
      code: 'USAGE_INVALID',
      hint: 'Use --yes to delete without confirmation.',
    });
    expect(failure.message).toContain('slice daily: 18 periods');
    expect(await before()).toEqual(was);
  });

  test('of what is no slice, nor of days that it does not have', async () => {
    const was = await before();
    const requests = [
      { slice: 'dail' },
      { slice: '../lake/daily' },
      { slice: 'apps' },
      { slice: 'ripen_finality' },
      { slice: 'ripen_loads' },
      { slice: 'daily_links' },
      { slice: 'daily', before: '2026-03-25' },
      { slice: 'dateless', before: '2026-12-31' },
      { slice: 'daily', before: 'yesterday' },
    ];
    for (const requested of requests)
      await expect(
        dropped({ ...requested, yes: true }),
        JSON.stringify(requested),
      ).rejects.toMatchObject({ code: 'USAGE_INVALID' });
    expect(await before()).toEqual(was);
  });
});

describe('with --before', () => {
  const daysIn = async (
    question: (sql: string) => Promise<Record<string, unknown>[]>,
    name: string,
    grain: string,
  ) =>
    (
      await question(`select distinct "${grain}"::date::varchar as d from main.${name} order by d`)
    ).map((row) => row['d']);

  test.each([
    ['daily', 'day', '2026-04-10', 16, ['2026-04-10', '2026-04-11']],
    ['hourly', 'hour', '2026-04-10', 2, ['2026-04-10', '2026-04-11']],
    ['monthly', 'month', '2026-03-31', 2, ['2026-03-01', '2026-04-01']],
  ])('%s loses its %ss before %s: %i periods; %j stay', async (name, grain, day, periods, stay) => {
    expect(await dropped({ slice: name, before: day, yes: true, json: true })).toBe(0);
    const done = z.looseObject({ dropped: z.looseObject({ periods: z.number() }) });
    expect(done.parse(JSON.parse(shell.printed[0] ?? '')).dropped).toMatchObject({ periods });
    for (const question of [inWarehouse, inSnapshot, inTables])
      expect(await daysIn(question, name, grain)).toEqual(stay);
    const held = await inWarehouse(
      `select start_day::varchar as d from ripen.periods where slice = '${name}' order by d`,
    );
    expect(held.map((row) => row['d'])).toEqual(stay);
    const orphans = `select count(*)::integer as n from main.${name} where _load_id not in (select load_id from ripen.loads)`;
    expect(await inWarehouse(orphans)).toEqual([{ n: 0 }]);
    expect(
      await inWarehouse(
        `select period from ripen.restatements where slice = '${name}' and period < '${stay[0]}'`,
      ),
    ).toEqual([]);
    const { onDisk, stated } = await lakeFiles(name);
    expect(onDisk).toEqual(stated);
    const inFiles = `select distinct "${grain}"::date::varchar as d from '${path('lake', name, '*.parquet')}' order by d`;
    expect(await ask(':memory:', inFiles)).toEqual(stay.map((d) => ({ d })));
    expect(
      await inTables(
        `select distinct period::varchar as d from ripen_finality where slice = '${name}' order by d`,
      ),
    ).toEqual(stay.map((d) => ({ d })));
  });
});
