/** `column_mapping`: Delta tables with names that engines refuse, read by the protocol. */

import { join } from 'node:path';

import { expect, test } from 'vitest';

import { readDelta, readLog, sortedRows } from '../support/delta-reader.ts';
import { heldRows, restate } from '../support/ledger-nights.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

const ODD = 'net revenue, {usd} = (all); sums';

let sample: Sample;

const target = (columnMapping: boolean) =>
  ({ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs: 86_400_000, columnMapping }) as const;
const warnings = (): number =>
  sample.events.filter((event) => event.type === 'warning' && event.code === 'NAMES_UNREADABLE').length;

test('a table whose name engines refuse is mapped from the night on that says so, with no such name in its files, and stays so', async () => {
  sample = await openSample(5, 4);
  const table = join(sample.path('tables'), 'network_daily');
  await sample.warehouse.run(`alter table main.network_daily add column "${ODD}" DECIMAL(18,6)`);
  await sample.warehouse.run(`update main.network_daily set "${ODD}" = installs % 7 + 0.25`);
  const held = async (): Promise<unknown> => sortedRows(await heldRows(sample));
  await sample.publish([target(false)]);
  expect(warnings()).toBe(1);
  const plain = { version: (await readLog(table)).version, rows: await held() };

  const [mapped] = await sample.publish([target(true)]);
  expect(warnings()).toBe(1);
  expect(mapped?.files_written).toBe(5);
  await restate(sample.warehouse, '2026-01-02', 3);
  expect((await sample.publish([target(true)]))[0]?.files_written).toBeLessThan(5);
  for (const isOn of [true, false]) {
    const found = await readLog(table);
    expect(found.configuration).toMatchObject({ 'delta.columnMapping.mode': 'name' });
    expect(found.files.map(({ stats }) => stats).join()).not.toContain(ODD);
    const paths = found.files.map(({ path }) => `'${join(table, decodeURIComponent(path))}'`).join();
    const names = await ask(':memory:', `select distinct name from parquet_schema([${paths}])`);
    expect(names.filter(({ name }) => /[ ,;{}()=]/.test(String(name)))).toEqual([]);
    expect(await readDelta(table)).toEqual(await held());
    const summed = `select sum("${ODD}")::varchar as s from main.network_daily`;
    expect(await ask(join(sample.path('tables'), 'catalog.duckdb'), summed)).toEqual(
      await rowsOf(sample.warehouse, summed),
    );
    await restate(sample.warehouse, '2026-01-03', 2);
    await sample.publish([target(!isOn)]);
  }
  expect(await readDelta(table)).toEqual(await held());
  expect(await readDelta(table, plain.version)).toEqual(plain.rows);
  expect((await readLog(join(sample.path('tables'), 'apps'))).configuration).not.toHaveProperty(
    'delta.columnMapping.mode',
  );
});
