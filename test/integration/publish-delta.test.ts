/** Delta tables on disk: what they hold, how little a night writes, older versions, what is kept and for how long. */

import { existsSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { CHECKPOINT_EVERY } from '../../src/publish/delta/commit.ts';
import { deltaRows, readDelta, readLog, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { empty, heldRows, loadDay, newDay, reload, restate } from '../support/ledger-nights.ts';
import { ask, intoLedger, openSample, outOfLedger, rowsOf, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
const DAYS = 14;
const KEEP_MS = 3 * 86_400_000;

beforeEach(async () => {
  sample = await openSample(DAYS, 5);
});

const target = (keepMs = KEEP_MS) => ({ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs }) as const;
const at = (table = 'network_daily'): string => join(sample.path('tables'), table);
const held = async (slice?: string) => sortedRows(await heldRows(sample, slice));

test('every table holds every row of the warehouse, and the catalog the same', async () => {
  await sample.warehouse.run(`create view main.network_daily_maturation as
    select metric, age_days, periods, share_median from ripen.maturation where slice = 'network_daily'`);
  await sample.warehouse.run(`create view main.network_daily_projected as
    select day, app_token, 'installs' as metric, 2.0::double as projected from network_daily where day > DATE '2026-01-10'`);
  await sample.warehouse.run(`insert into ripen.maturation by name
    select 'network_daily' as slice, 'installs' as metric, 1 as age_days, 9 as periods, 0.5 as share_q25, 0.75 as share_median, 1 as share_q75`);
  await sample.warehouse.run(`insert into ripen.projection_errors by name
    select 'network_daily' as slice, 'installs' as metric, 1 as age_days, 9 as cohorts, 0.1 as median_abs_error`);
  const [published] = await sample.publish([target()]);
  expect(published).toMatchObject({ files_written: DAYS + 15, also_written: ['version 0', 'catalog.duckdb'] });
  expect(await readDelta(at())).toEqual(await held());
  const catalog = join(target().path, 'catalog.duckdb');
  expect(sortedRows(await ask(catalog, 'select * from network_daily'))).toEqual(await held());
  for (const ending of ['_maturation', '_projected']) {
    const shown = sortedRows(await rowsOf(sample.warehouse, `select * from network_daily${ending}`));
    expect(shown.length).toBeGreaterThan(0);
    expect(await readDelta(at(`network_daily${ending}`))).toEqual(shown);
    expect(sortedRows(await ask(catalog, `select * from network_daily${ending}`))).toEqual(shown);
  }
  for (const name of ['loads', 'periods', 'restatements', 'projection_errors']) {
    const inWarehouse = sortedRows(await rowsOf(sample.warehouse, `select * from ripen.${name}`));
    const asText = `select columns(*)::varchar from`;
    const shown = sortedRows(await ask(':memory:', `${asText} ${await deltaRows(at(`ripen_${name}`))}`));
    expect(shown, name).toEqual(
      inWarehouse.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([key, value]) => [
            key,
            value === null ? null : Array.isArray(value) ? `[${value.join(', ')}]` : z.coerce.string().parse(value),
          ]),
        ),
      ),
    );
    expect(sortedRows(await ask(catalog, `select count(*)::int as n from ripen_${name}`))).toEqual([
      { n: shown.length },
    ]);
  }
});

test('a night of one restated day of 14, and one that came again unchanged, writes one data file of the slice', async () => {
  await sample.publish([target()]);
  await restate(sample.warehouse, '2026-01-07', 5);
  await reload(sample.warehouse, '2026-01-08');
  const before = readdirSync(at(), { recursive: true }).filter((name) => String(name).endsWith('.parquet'));
  const [night] = await sample.publish([target()]);
  const after = readdirSync(at(), { recursive: true }).filter((name) => String(name).endsWith('.parquet'));
  expect(after).toHaveLength(before.length + 1);
  // The slice's day; what the ledger says of loads and periods; and that both days are final now.
  expect(night?.files_written).toBe(4);
  const changed: string[] = [];
  for (const table of readdirSync(target().path).filter((name) => name !== 'catalog.duckdb')) {
    const paths = async (version: number) => (await readLog(at(table), version)).files.map(({ path }) => path).sort();
    if (JSON.stringify(await paths(0)) !== JSON.stringify(await paths(1))) changed.push(table);
  }
  expect(changed.sort()).toEqual(['network_daily', 'ripen_finality', 'ripen_loads', 'ripen_periods']);
  expect(await readDelta(at())).toEqual(await held());
  expect(await readDelta(at(), 0)).not.toEqual(await held());
  const [again] = await sample.publish([target()]);
  expect(again).toMatchObject({ files_written: 0, also_written: ['version 2', 'catalog.duckdb'] });
});

test('rows of days whose loads are known are not read again: only what a load brought is hashed', async () => {
  await sample.publish([target()]);
  // Behind the ledger's back: a stamp says the day is as it was, so the file stays.
  await sample.warehouse.run(`update network_daily set installs = 0 where day = DATE '2026-01-03'`);
  const [unseen] = await sample.publish([target()]);
  expect(unseen?.files_written).toBe(0);
  // Rows the ledger has no load of are read.
  await sample.warehouse.run(`update network_daily set installs = 1, _load_id = 999 where day = DATE '2026-01-03'`);
  const [seen] = await sample.publish([target()]);
  expect(seen?.files_written).toBe(1);
});

test('all tables bear one version each night, and every older one answers as it did', async () => {
  const nights: unknown[] = [];
  for (let night = 0; night < CHECKPOINT_EVERY + 3; night += 1) {
    if (night === 4) await sample.warehouse.run('alter table network_daily add column added BIGINT');
    if (night === 6) await empty(sample.warehouse, '2026-01-09');
    if (night === 8) await sample.warehouse.run('alter table network_daily drop column added');
    if (night === 10) await sample.warehouse.run('alter table network_daily add column added BIGINT');
    if (night === 11) await sample.warehouse.run('alter table network_daily alter column installs type DECIMAL(38,0)');
    if (night % 3 === 1) await newDay(sample.warehouse, `2026-03-${String(night + 1).padStart(2, '0')}`, '2026-01-01');
    await restate(sample.warehouse, `2026-01-${String(night + 1).padStart(2, '0')}`, night);
    if (night === 5)
      await sample.warehouse.run(`update network_daily set added = 7, _load_id = 998 where day = DATE '2026-01-06'`);
    await sample.publish([target()]);
    nights.push(await held());
  }
  const versions = nights.map((_, version) => version);
  for (const table of readdirSync(target().path).filter((name) => name !== 'catalog.duckdb')) {
    expect(versionsOf(at(table)), table).toEqual(versions);
  }
  for (const [version, rows] of nights.entries()) expect(await readDelta(at(), version), `${version}`).toEqual(rows);
  const catalog = join(target().path, 'catalog.duckdb');
  expect(sortedRows(await ask(catalog, 'select * from network_daily'))).toEqual(nights.at(-1));
});

test('an added column rewrites no file, and one that was dropped does not come back with its old values', async () => {
  await sample.publish([target()]);
  await sample.warehouse.run('alter table network_daily add column added BIGINT');
  const [added] = await sample.publish([target()]);
  expect(added?.files_written).toBe(0);
  await loadDay(sample.warehouse, '2026-01-02', 'select * replace (3::bigint as added) from held');
  await sample.publish([target()]);
  await sample.warehouse.run('alter table network_daily drop column added');
  await sample.publish([target()]);
  await sample.warehouse.run('alter table network_daily add column added BIGINT');
  await sample.publish([target()]);
  const rows = await readDelta(at());
  expect(rows).toEqual(await held());
  expect(rows.some((row) => row['added'] !== null)).toBe(false);
});

test('a slice that joins at version 3 begins there; one that leaves stays as it was', async () => {
  for (let night = 0; night < 3; night += 1) await sample.publish([target()]);
  await sample.warehouse.run(
    'create table main.app_totals as select app_token, sum(installs)::bigint as installs, 1 as _load_id from network_daily group by 1',
  );
  await sample.warehouse.run(intoLedger('app_totals'));
  await sample.publish([target()]);
  expect(versionsOf(at('app_totals'))).toEqual([3]);
  const totals = await held('app_totals');
  expect(await readDelta(at('app_totals'))).toEqual(totals);
  await sample.publish([target()]);
  expect(await readDelta(at('app_totals'), 3)).toEqual(totals);
  await sample.warehouse.run(outOfLedger('app_totals'));
  await sample.publish([target()]);
  await sample.publish([target()]);
  expect(versionsOf(at('app_totals'))).toEqual([3, 4]);
  await sample.warehouse.run(intoLedger('app_totals'));
  await sample.publish([target()]);
  // Version 7 begins anew; the nights it was away are not there.
  expect(versionsOf(at('app_totals'))).toEqual([3, 4, 7]);
  expect(await readDelta(at('app_totals'))).toEqual(totals);
  expect(await readDelta(at('app_totals'), 4)).toEqual(totals);
});

test('a query of one day opens one of 14 files', async () => {
  await sample.publish([target()]);
  const { files } = await readLog(at());
  for (const { path, partitionValues } of files) {
    if (partitionValues['day'] !== '2026-01-05') truncateSync(join(at(), path), 0);
  }
  const catalog = join(target().path, 'catalog.duckdb');
  const query = `select count(*)::int as n from network_daily where day = DATE '2026-01-05'`;
  expect(await ask(catalog, query)).toEqual([{ n: 5 }]);
  await expect(ask(catalog, 'select sum(installs) from network_daily')).rejects.toThrow(/too small|No magic bytes/);
});

test('a file that is gone, cut or unknown to the log is made again', async () => {
  await sample.publish([target()]);
  const { files } = await readLog(at());
  rmSync(join(at(), files[3]?.path ?? ''));
  truncateSync(join(at(), files[4]?.path ?? ''), 10);
  const [repaired] = await sample.publish([target()]);
  expect(repaired?.files_written).toBe(2);
  expect(await readDelta(at())).toEqual(await held());
});

test('nothing is removed before it was gone for as long as keep says, and then everything is', async () => {
  await sample.publish([target()]);
  writeFileSync(join(at(), 'ripen-0-0.parquet'), 'left by a killed run');
  writeFileSync(join(at(), 'somebody.parquet'), 'not ours');
  const first = (await readLog(at())).files.map(({ path }) => path);
  await restate(sample.warehouse, '2026-01-07', 5);
  await sample.publish([target()]);
  for (const path of first) expect(existsSync(join(at(), path)), path).toBe(true);
  expect(existsSync(join(at(), 'ripen-0-0.parquet'))).toBe(true);
  for (let night = 0; night < CHECKPOINT_EVERY - 1; night += 1) await sample.publish([target()]);
  await sleep(50);
  await sample.publish([target(0)]);
  await sample.publish([target(0)]);
  const now = await readLog(at());
  const active = new Set(now.files.map(({ path }) => path));
  const lying = readdirSync(at(), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.parquet') && !name.startsWith('_delta_log'));
  expect(new Set(lying)).toEqual(new Set([...active, 'somebody.parquet']));
  expect(versionsOf(at())).toEqual([10, 11, 12]);
  expect(now.configuration).toMatchObject({ 'delta.logRetentionDuration': 'interval 0 seconds' });
  expect(await readDelta(at())).toEqual(await held());
});

test('a folder that was moved is read as it is, and its catalog is right again after one publish, which writes no data file', async () => {
  await sample.publish([target()]);
  const moved = { ...target(), path: sample.path('moved') };
  renameSync(target().path, moved.path);
  expect(await readDelta(join(moved.path, 'network_daily'))).toEqual(await held());
  const [published] = await sample.publish([moved]);
  expect(published).toMatchObject({ files_written: 0, also_written: ['version 1', 'catalog.duckdb'] });
  const rows = await ask(join(moved.path, 'catalog.duckdb'), 'select * from network_daily');
  expect(sortedRows(rows)).toEqual(await held());
});

test('a table that another warehouse, or another program, made is not committed to', async () => {
  await sample.publish([target()]);
  const other = await openSample(2, 2);
  try {
    await expect(other.publish([target()])).rejects.toThrow(/was a copy of the warehouse/);
    expect(versionsOf(at())).toEqual([0]);
  } finally {
    await other.close();
  }
});
