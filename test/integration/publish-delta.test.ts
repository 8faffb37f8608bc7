/** Delta tables on disk: what they hold, how little a night writes, older versions, what is kept and for how long. */

import {
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import { CHECKPOINT_EVERY } from '../../src/publish/formats/delta-commit.ts';
import { checkpointPath } from '../../src/publish/formats/delta-log.ts';
import { deltaRows, readDelta, readLog, sortedRows, versionsOf } from '../support/delta-reader.ts';
import {
  changeRows,
  empty,
  heldRows,
  newDay,
  reload,
  restate,
} from '../support/ledger-fixtures.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
const DAYS = 14;
const KEEP_MS = 3 * 86_400_000;

beforeEach(async () => {
  sample = await openSample(DAYS, 5);
});

const target = (keepMs = KEEP_MS) =>
  ({ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs }) as const;
const at = (table = 'network_daily'): string => join(sample.path('tables'), table);
const held = async (slice?: string) => sortedRows(await heldRows(sample, slice));

test('every table holds every row of the warehouse, and the catalog the same', async () => {
  await sample.warehouse.alter(`create view main.network_daily_maturation as
    select metric, age_days, periods, share_median from ripen_internal.maturation where slice = 'network_daily'`);
  await sample.warehouse.alter(`create view main.network_daily_projected as
    select day, app_token, 'installs' as metric, 2.0::double as projected from network_daily where day > DATE '2026-01-10'`);
  await sample.warehouse.run(`insert into ripen_internal.maturation by name
    select 'network_daily' as slice, 'installs' as metric, 1 as age_days, 9 as periods, 0.5 as share_q25, 0.75 as share_median, 1 as share_q75`);
  await sample.warehouse.run(`insert into ripen.projection_errors by name
    select 'network_daily' as slice, 'installs' as metric, 1 as age_days, 9 as cohorts, 0.1 as median_abs_error, 'ladder' as basis`);
  const [published] = await sample.publish([target()]);
  expect(published).toMatchObject({
    files_written: 23,
    also_written: ['version 0', 'catalog.duckdb'],
  });
  expect(await readDelta(at())).toEqual(await held());
  const catalog = join(target().path, 'catalog.duckdb');
  expect(sortedRows(await ask(catalog, 'select * from network_daily'))).toEqual(await held());
  for (const ending of ['_maturation', '_projected']) {
    const shown = sortedRows(
      await rowsOf(sample.warehouse, `select * from network_daily${ending}`),
    );
    expect(shown.length).toBeGreaterThan(0);
    expect(await readDelta(at(`network_daily${ending}`))).toEqual(shown);
    expect(sortedRows(await ask(catalog, `select * from network_daily${ending}`))).toEqual(shown);
  }
  for (const name of ['loads', 'periods', 'restatements', 'projection_errors', 'news']) {
    const asText = 'select columns(*)::varchar from';
    const shown = sortedRows(
      await ask(':memory:', `${asText} ${await deltaRows(at(`ripen_${name}`))}`),
    );
    expect(shown, name).toEqual(
      sortedRows(await rowsOf(sample.warehouse, `${asText} ripen.${name}`)),
    );
    expect(sortedRows(await ask(catalog, `select count(*)::int as n from ripen_${name}`))).toEqual([
      { n: shown.length },
    ]);
  }
});

test('a night of one restated day of 14, and one that came again unchanged, writes one file of the slice', async () => {
  await sample.publish([target()]);
  await restate(sample.warehouse, '2026-01-07', 5);
  await reload(sample.warehouse, '2026-01-08');
  const before = readdirSync(at(), { recursive: true }).filter((name) =>
    String(name).endsWith('.parquet'),
  );
  const [night] = await sample.publish([target()]);
  const after = readdirSync(at(), { recursive: true }).filter((name) =>
    String(name).endsWith('.parquet'),
  );
  expect(after).toHaveLength(before.length + 1);
  // The slice's day; what the ledger says of loads and periods; and that both days are final now.
  expect(night?.files_written).toBe(4);
  const changed: string[] = [];
  for (const table of readdirSync(target().path).filter((name) => name !== 'catalog.duckdb')) {
    const paths = async (version: number) =>
      (await readLog(at(table), version)).files.map(({ path }) => path).sort();
    if (JSON.stringify(await paths(0)) !== JSON.stringify(await paths(1))) changed.push(table);
  }
  expect(changed.sort()).toEqual([
    'network_daily',
    'ripen_finality',
    'ripen_loads',
    'ripen_periods',
  ]);
  expect(await readDelta(at())).toEqual(await held());
  expect(await readDelta(at(), 0)).not.toEqual(await held());
  const [again] = await sample.publish([target()]);
  expect(again).toMatchObject({ files_written: 0, also_written: [] });
  expect(versionsOf(at('ripen_finality'))).toEqual([0, 1]);
});

test('all tables bear one version each night, and every older one answers as it did', async () => {
  const nights: unknown[] = [];
  for (let night = 0; night < CHECKPOINT_EVERY + 3; night += 1) {
    if (night === 4)
      await sample.warehouse.alter('alter table network_daily add column added BIGINT');
    if (night === 6) await empty(sample.warehouse, '2026-01-09');
    if (night === 8) await sample.warehouse.alter('alter table network_daily drop column added');
    if (night === 10)
      await sample.warehouse.alter('alter table network_daily add column added BIGINT');
    if (night === 11)
      await sample.warehouse.alter(
        'alter table network_daily alter column installs type DECIMAL(38,0)',
      );
    if (night % 3 === 1)
      await newDay(sample.warehouse, `2026-03-${String(night + 1).padStart(2, '0')}`, '2026-01-01');
    await restate(sample.warehouse, `2026-01-${String(night + 1).padStart(2, '0')}`, night);
    if (night === 5) await changeRows(sample.warehouse, 'added = 7', `day = DATE '2026-01-06'`);
    await sample.publish([target()]);
    nights.push(await held());
  }
  const versions = nights.map((_, version) => version);
  for (const table of readdirSync(target().path).filter((name) => name !== 'catalog.duckdb')) {
    expect(versionsOf(at(table)), table).toEqual(versions);
  }
  for (const [version, rows] of nights.entries())
    expect(await readDelta(at(), version), `${version}`).toEqual(rows);
  const catalog = join(target().path, 'catalog.duckdb');
  expect(sortedRows(await ask(catalog, 'select * from network_daily'))).toEqual(nights.at(-1));
  // The second time as another engine writes a checkpoint, without ripen's text in the footer.
  for (const isForeign of [false, true]) {
    const checkpoint = join(at(), checkpointPath(CHECKPOINT_EVERY));
    if (isForeign) {
      await ask(
        ':memory:',
        `copy (from '${checkpoint}') to '${checkpoint}.other' (format parquet)`,
      );
      renameSync(`${checkpoint}.other`, checkpoint);
    }
    const [again] = await sample.publish([target()]);
    expect(again).toMatchObject({ files_written: 0, also_written: [] });
  }
});

test('a file that is gone, cut or unknown to the log is made again', async () => {
  await sample.close();
  // Three weeks, a file each.
  sample = await openSample(DAYS, 850);
  await sample.publish([target()]);
  const { files } = await readLog(at());
  expect(files).toHaveLength(3);
  rmSync(join(at(), files[0]?.path ?? ''));
  truncateSync(join(at(), files[1]?.path ?? ''), 10);
  const [repaired] = await sample.publish([target()]);
  expect(repaired?.files_written).toBe(2);
  expect(await readDelta(at())).toEqual(await held());
});

test('a folder that was moved is read as it is, and its catalog is right again after one publish, which writes no data file', async () => {
  await sample.publish([target()]);
  const moved = { ...target(), path: sample.path('moved') };
  renameSync(target().path, moved.path);
  expect(await readDelta(join(moved.path, 'network_daily'))).toEqual(await held());
  const [published] = await sample.publish([moved]);
  expect(published).toMatchObject({
    files_written: 0,
    also_written: ['catalog.duckdb'],
  });
  const rows = await ask(join(moved.path, 'catalog.duckdb'), 'select * from network_daily');
  expect(sortedRows(rows)).toEqual(await held());
});

/** A name that engines refuse. */
const ODD = 'net revenue, {usd} = (all); sums';

test('a table whose name engines refuse is mapped from the night on that says so, with no such name in its files, and stays so', async () => {
  const mapping = (columnMapping: boolean) => ({ ...target(), columnMapping });
  const warnings = (): number =>
    sample.events.filter((event) => event.type === 'warning' && event.code === 'NAMES_UNREADABLE')
      .length;
  await sample.warehouse.alter(`alter table main.network_daily add column "${ODD}" DECIMAL(18,6)`);
  await sample.warehouse.run(`update main.network_daily set "${ODD}" = installs % 7 + 0.25`);
  await sample.publish([mapping(false)]);
  expect(warnings()).toBe(1);
  const plain = { version: (await readLog(at())).version, rows: await held() };

  const [mapped] = await sample.publish([mapping(true)]);
  expect(warnings()).toBe(1);
  expect(mapped?.files_written).toBe(1);
  await restate(sample.warehouse, '2026-01-02', 3);
  await sample.publish([mapping(true)]);
  for (const isOn of [true, false]) {
    const found = await readLog(at());
    expect(found.configuration).toMatchObject({ 'delta.columnMapping.mode': 'name' });
    expect(found.files.map(({ stats }) => stats).join()).not.toContain(ODD);
    const paths = found.files.map(({ path }) => `'${join(at(), decodeURIComponent(path))}'`).join();
    const names = await ask(':memory:', `select distinct name from parquet_schema([${paths}])`);
    expect(names.filter(({ name }) => /[ ,;{}()=]/.test(String(name)))).toEqual([]);
    expect(await readDelta(at())).toEqual(await held());
    const summed = `select sum("${ODD}")::varchar as s from main.network_daily`;
    expect(await ask(join(target().path, 'catalog.duckdb'), summed)).toEqual(
      await rowsOf(sample.warehouse, summed),
    );
    await restate(sample.warehouse, '2026-01-03', 2);
    await sample.publish([mapping(!isOn)]);
  }
  expect(await readDelta(at())).toEqual(await held());
  expect(await readDelta(at(), plain.version)).toEqual(plain.rows);
  expect((await readLog(at('apps'))).configuration).not.toHaveProperty('delta.columnMapping.mode');
});

test('what a dropped slice left without its log is removed, in Delta tables and plain files; copies that somebody made beside stay', async () => {
  const lake = { kind: 'parquet', path: sample.path('lake'), mode: 0o644 } as const;
  await sample.warehouse.alter(
    'create table main.app_totals as select app_token, count(*)::bigint as installs, -1::bigint as _load_id from main.network_daily group by 1',
  );
  await storeRows(sample.warehouse, 'ripen.slice_tables', { slice: 'app_totals' });
  await sample.publish([target(), lake]);
  rmSync(join(at('app_totals'), '_delta_log'), { recursive: true });
  rmSync(join(lake.path, '_manifest.json'));
  const copies = [target().path, lake.path].map((path) => join(path, 'network_daily_before'));
  for (const copied of copies)
    cpSync(copied.replace('_before', ''), copied, { recursive: true, preserveTimestamps: true });
  const filesOf = (path: string): string[] => readdirSync(path, { recursive: true }).map(String);
  const before = copies.map(filesOf);
  await sample.warehouse.alter('drop table main.app_totals');
  await sample.warehouse.run("delete from ripen.slice_tables where slice = 'app_totals'");
  const published = await sample.publish([target(), lake]);
  expect(published.map(({ files_removed }) => files_removed)).toEqual([1, 1]);
  for (const path of [target().path, lake.path])
    expect(readdirSync(path)).not.toContain('app_totals');
  expect(copies.map(filesOf)).toEqual(before);
});

test('a snapshot where the catalog belongs is refused before any table is committed, and stays', async () => {
  await sample.publish([target()]);
  const catalog = join(target().path, 'catalog.duckdb');
  const [snapshot] = await sample.publish([
    { kind: 'duckdb', path: sample.path('analytics.duckdb'), mode: 0o644 },
  ]);
  renameSync(snapshot?.path ?? '', catalog);
  const bytes = readFileSync(catalog);
  await restate(sample.warehouse, '2026-01-02', 1);
  await expect(sample.publish([target()])).rejects.toMatchObject({ code: 'WAREHOUSE_FOREIGN' });
  expect(readFileSync(catalog).equals(bytes)).toBe(true);
  expect(versionsOf(at())).toEqual([0]);
});

test('a log that names an older checkpoint, as after a restored folder, names its newest one again', async () => {
  const hint = join(at(), '_delta_log/_last_checkpoint');
  const names = (version: number): void => writeFileSync(hint, `{"version":${version},"size":3}`);
  await sample.publish([target()]);
  for (const version of [77, 77, 1]) {
    names(version);
    await sample.publish([target()]);
  }
  expect(JSON.parse(readFileSync(hint, 'utf8'))).toMatchObject({ version: 3 });
  expect(versionsOf(at())).toEqual([0, 1, 2, 3]);
});
