/** Readers that share nothing with the writer find in every file of a lake what DuckDB does, and the log says of it what is so. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse, isLosslessNumber } from 'lossless-json';
import { expect, test } from 'vitest';
import * as z from 'zod';

import { CHECKPOINT_EVERY } from '../../src/publish/formats/delta-commit.ts';
import { readLog } from '../support/delta-reader.ts';
import { newDay, restate } from '../support/ledger-fixtures.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { differencesIn, rowsByHyparquet } from '../support/parquet-readers.ts';
import { ask, openSample, type Sample } from '../support/sample-warehouse.ts';

const HOURS = 60;

/** Days and hours, more than one file of each, every type, NULLs, and texts that are long, empty or emoji. */
async function openLake(): Promise<Sample> {
  const sample = await openSample(9, 850);
  await sample.warehouse.alter(`create table main.by_hour as
    select TIMESTAMP '2026-01-30 20:00:00' + to_hours(r::integer) as "hour",
      ['de', '', 'ü🙂', repeat('long ', 30), null][1 + r % 5] as country, case when r % 7 > 0 then r end as installs,
      (r / 7)::double as ecpi, r % 2 = 0 as paid, 1 as _load_id
    from range(${HOURS}) as t(r), range(36)`);
  await storeRows(sample.warehouse, 'ripen.slice_tables', { slice: 'by_hour' });
  return sample;
}

const parquetBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.parquet'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

const stats = z.object({
  numRecords: z.number(),
  minValues: z.record(z.string(), z.unknown()),
  maxValues: z.record(z.string(), z.unknown()),
  nullCount: z.record(z.string(), z.number()),
});

test('hyparquet and parquet-wasm read every file of plain files and Delta tables, checkpoints too, and statistics are exact', async () => {
  const sample = await openLake();
  const tables = sample.path('tables');
  const targets = [
    { kind: 'parquet', path: sample.path('lake'), mode: 0o644 },
    { kind: 'delta', path: tables, mode: 0o644, keepMs: 86_400_000 },
  ] as const;
  for (let night = 0; night <= CHECKPOINT_EVERY; night += 1) {
    await restate(sample.warehouse, '2026-01-03', night);
    if (night === 3) await newDay(sample.warehouse, '2026-02-20', '2026-01-01');
    await sample.publish(night === 0 ? targets : targets.slice(1));
  }
  const plain = parquetBelow(sample.path('lake'));
  const files = parquetBelow(tables);
  const checkpoints = files.filter((path) => path.includes('_delta_log'));
  expect(plain.length).toBeGreaterThan(5);
  expect(files.length - checkpoints.length).toBeGreaterThan(20);
  for (const path of [...plain, ...files.filter((each) => !checkpoints.includes(each))])
    expect(await differencesIn(path), path).toEqual([]);

  const days = await readLog(join(tables, 'network_daily'));
  const hours = await readLog(join(tables, 'by_hour'));
  expect(days.files.length).toBeGreaterThan(2);
  expect(hours.files.length).toBeGreaterThan(1);
  expect(hours.protocol).toMatchObject({
    minReaderVersion: 3,
    minWriterVersion: 7,
    readerFeatures: ['timestampNtz'],
    writerFeatures: ['timestampNtz'],
  });
  expect(days.protocol).toMatchObject({ minReaderVersion: 1, minWriterVersion: 2 });
  for (const [table, period, log] of [
    ['network_daily', 'day', days],
    ['by_hour', 'hour', hours],
  ] as const) {
    expect(log.partitionColumns).toEqual([]);
    for (const { path, partitionValues, size, stats: text } of log.files) {
      expect(partitionValues).toEqual({});
      const file = join(tables, table, path);
      expect(readFileSync(file)).toHaveLength(size);
      const stated = stats.parse(JSON.parse(text));
      const columns = Object.keys(stated.nullCount);
      const nulls = columns.map((name) => `count(*) filter ("${name}" is null)::int as "${name}"`);
      const [found] = await ask(':memory:', `select ${nulls.join(', ')} from '${file}'`);
      expect(stated.nullCount).toEqual(found);
      const bounds = `strftime(min("${period}"), '%Y-%m-%dT%H:%M:%S.000') as lower, strftime(max("${period}"), '%Y-%m-%dT%H:%M:%S.000') as upper`;
      const [range] = await ask(
        ':memory:',
        `select count(*)::int as rows, ${bounds} from '${file}'`,
      );
      const cut = period === 'day' ? 10 : 23;
      expect([stated.numRecords, stated.minValues[period], stated.maxValues[period]]).toEqual([
        range?.['rows'],
        String(range?.['lower']).slice(0, cut),
        String(range?.['upper']).slice(0, cut),
      ]);
      const exact = z.object({ minValues: z.looseObject({}), maxValues: z.looseObject({}) });
      const { minValues, maxValues } = exact.parse(parse(text));
      const literal = (bound: unknown): string =>
        `'${(isLosslessNumber(bound) ? bound.value : String(bound)).replaceAll("'", "''")}'`;
      for (const name of columns.filter((column) => column in minValues)) {
        const [outside] = await ask(
          ':memory:',
          `select count(*)::int as n from '${file}' where "${name}" < ${literal(minValues[name])} or "${name}" > ${literal(maxValues[name])}`,
        );
        expect(outside, name).toEqual({ n: 0 });
      }
    }
  }

  // A checkpoint says what the commits up to it add up to.
  expect(checkpoints.length).toBeGreaterThan(10);
  for (const path of checkpoints) {
    const table = join(path, '../..');
    const log = await readLog(table, CHECKPOINT_EVERY);
    const rows = await rowsByHyparquet(path);
    const added = z.object({ add: z.object({ path: z.string() }) });
    const paths = rows.flatMap((row) => {
      const parsed = added.safeParse(row);
      return parsed.success ? [parsed.data.add.path] : [];
    });
    expect(paths.sort()).toEqual(log.files.map((file) => file.path).sort());
    for (const action of ['protocol', 'metaData', 'txn'])
      expect(rows.filter((row) => row[action] !== null && row[action] !== undefined)).toHaveLength(
        1,
      );
  }
});
