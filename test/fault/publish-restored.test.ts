/** FAULTS 59: copies of a state that their warehouse does not have are told and made equal; a half-deleted log begins anew. */

import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import type { PublishTarget } from '../../src/config/config.ts';
import { CHECKPOINT_EVERY } from '../../src/publish/formats/delta-commit.ts';
import { readDelta, sortedRows, versionsOf } from '../support/delta-reader.ts';
import { heldRows, restate } from '../support/ledger-fixtures.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
beforeEach(async () => {
  sample = await openSample(3, 4);
});

const snapshot = (): PublishTarget => ({
  kind: 'duckdb',
  path: sample.path('copy.duckdb'),
  mode: 0o644,
});
const tables = () =>
  ({ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs: 86_400_000 }) as const;
const lake = (): PublishTarget => ({ kind: 'parquet', path: sample.path('lake'), mode: 0o644 });

const log = (table = 'network_daily'): string => join(sample.path('tables'), table, '_delta_log');
const held = async () => sortedRows(await heldRows(sample));
const told = (): string[] =>
  sample.events.flatMap((event) =>
    event.type === 'warning' && event.code === 'COPY_LATER' ? [event.message] : [],
  );

test('copies that are 2 publishes ahead of a restored warehouse are told with both, once, and equal it again', async () => {
  const targets = [snapshot(), tables(), lake()];
  await sample.publish(targets);
  const nights = `select number::int as number, strftime(published_at, '%Y-%m-%d %H:%M UTC') as at from ripen_internal.publishes order by 1`;
  await sample.lend(async () => cpSync(sample.path('warehouse.duckdb'), sample.path('older')));
  for (let night = 0; night < 2; night += 1) {
    await restate(sample.warehouse, '2026-01-02', 7);
    await sample.publish(targets);
  }
  const [first, , third] = await rowsOf(sample.warehouse, nights);
  expect(told()).toEqual([]);
  await sample.lend(async () => cpSync(sample.path('older'), sample.path('warehouse.duckdb')));
  await restate(sample.warehouse, '2026-01-03', 1);
  await sample.publish(targets);
  expect(told()).toEqual(
    targets.map(
      ({ path }) =>
        `${path} was of a later state of this warehouse (publish 3, ${String(third?.['at'])}; the last one here is 1, ${String(first?.['at'])}) and is now equal to it.`,
    ),
  );
  const all = 'select * exclude (_load_id) from network_daily';
  expect(sortedRows(await ask(sample.path('copy.duckdb'), all))).toEqual(await held());
  expect(await readDelta(join(sample.path('tables'), 'network_daily'))).toEqual(await held());
  const files = `from '${sample.path('lake')}/network_daily/*.parquet'`;
  expect(sortedRows(await ask(':memory:', files))).toEqual(await held());
  await sample.publish(targets);
  expect(told()).toHaveLength(targets.length);
});

const newest = (folder: string, ending: string): string =>
  join(
    folder,
    readdirSync(folder)
      .filter((name) => name.endsWith(ending))
      .sort()
      .at(-1) ?? '',
  );

const checkpointCut = (): void => truncateSync(newest(log(), '.checkpoint.parquet'), 30);
const checkpointMissing = (): void =>
  writeFileSync(join(log(), '_last_checkpoint'), '{"version":77,"size":3}');

test.each([
  ['that lacks its first commit', 3, [() => rmSync(join(log(), `${'0'.repeat(20)}.json`))]],
  ['that lacks a commit between', 3, [() => rmSync(join(log(), `${'0'.repeat(19)}1.json`))]],
  ['with a commit that is cut short', 3, [() => truncateSync(newest(log(), '.json'), 30)]],
  ['with a commit that is empty', 3, [() => truncateSync(newest(log(), '.json'), 0)]],
  [
    'with a checkpoint that is cut short, or that names one which is missing,',
    CHECKPOINT_EVERY + 2,
    [checkpointCut, checkpointMissing],
  ],
  ['that is missing', 3, [() => rmSync(log(), { recursive: true })]],
])('a log %s begins anew with a checkpoint', async (_, nights, spoils) => {
  for (let night = 0; night < nights; night += 1) {
    await restate(sample.warehouse, '2026-01-02', 1);
    await sample.publish([tables()]);
  }
  const path = join(sample.path('tables'), 'network_daily');
  for (const [at, spoil] of spoils.entries()) {
    await restate(sample.warehouse, '2026-01-02', 7);
    spoil();
    await sample.publish([tables()]);
    expect(await readDelta(path)).toEqual(await held());
    const version = versionsOf(path).at(-1) ?? -1;
    expect(version).toBe(nights + 2 * at);
    const hint: unknown = JSON.parse(readFileSync(join(log(), '_last_checkpoint'), 'utf8'));
    expect(hint).toMatchObject({ version });
    expect(existsSync(newest(log(), '.checkpoint.parquet'))).toBe(true);
    await restate(sample.warehouse, '2026-01-02', 1);
    await sample.publish([tables()]);
    expect(await readDelta(path)).toEqual(await held());
  }
});

test.each(['is lost', 'is that of an earlier night'])(
  'files of a slice that is dropped go although the manifest %s, and no file that is not of this warehouse',
  async (what) => {
    await sample.publish([lake()]);
    const manifest = join(sample.path('lake'), '_manifest.json');
    const earlier = readFileSync(manifest);
    await sample.warehouse.alter(
      'create table main.app_totals as select app_token, 1::bigint as installs, 1::bigint as _load_id from main.network_daily',
    );
    await storeRows(sample.warehouse, 'ripen.slice_tables', { slice: 'app_totals' });
    await sample.publish([lake()]);
    const fileOf = (table: string): string => join(sample.path('lake'), table, 'data.parquet');
    expect(existsSync(fileOf('app_totals'))).toBe(true);
    await ask(':memory:', `copy (select 1 as n) to '${sample.path('own.parquet')}'`);
    cpSync(sample.path('own.parquet'), fileOf('other'), { recursive: true });
    await sample.warehouse.alter('drop table main.app_totals');
    await sample.warehouse.run(`delete from ripen.slice_tables where slice = 'app_totals'`);
    if (what === 'is lost') rmSync(manifest);
    else writeFileSync(manifest, earlier);
    await sample.publish([lake()]);
    expect(existsSync(fileOf('app_totals'))).toBe(false);
    expect(existsSync(fileOf('other'))).toBe(true);
  },
);

test('tables whose logs are all damaged are refused, as nothing says whose they are', async () => {
  await sample.publish([tables()]);
  const before = readdirSync(sample.path('tables'), { recursive: true }).length;
  for (const table of readdirSync(sample.path('tables')))
    if (existsSync(log(table))) truncateSync(newest(log(table), '.json'), 30);
  await expect(sample.publish([tables()])).rejects.toMatchObject({
    code: 'STORAGE_FAILED',
    hint: 'Move the folder of the tables away, so that the next publish makes them again.',
  });
  expect(readdirSync(sample.path('tables'), { recursive: true })).toHaveLength(before);
});
