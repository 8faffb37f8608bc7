/** A lake answers with what is in its files, wherever it lies: no folder above it and no character of its path counts. */

import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { lakesDdl } from '../../src/publish/ddl.ts';
import { ask, openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;

beforeEach(async () => {
  sample = await openSample(3, 5);
});

const places = ['what?/with blanks/la*ke', `quo'te"s/bra[c]kets/{a,b}/lake`, 'ha#sh/per%20cent/100%/día/🙂'];

describe.each(places)('a lake at %s', (place) => {
  const lake = (): string => sample.path(place);
  const inWarehouse = (sql: string): Promise<Record<string, unknown>[]> => rowsOf(sample.warehouse, sql);
  const target = () => ({ kind: 'parquet', path: lake(), mode: 0o644 }) as const;
  const tables = () => ({ kind: 'delta', path: lake(), mode: 0o644, keepMs: 86_400_000 }) as const;
  const rows = 'select * exclude (_load_id) from network_daily order by all';
  const final = 'select count(installs) as shown, sum(installs)::varchar as sum from network_daily_final';

  test('is published as Delta tables, and again after a change, and the catalog shows the rows and the final cells', async () => {
    await sample.publish([tables()]);
    await sample.warehouse.run(
      `update network_daily set installs = installs + 1, _load_id = 99 where day = DATE '2026-01-02'`,
    );
    expect((await sample.publish([tables()]))[0]).toMatchObject({ files_written: 1, files_removed: 0 });
    const catalog = join(lake(), 'catalog.duckdb');
    expect(await ask(catalog, rows.replace(' exclude (_load_id)', ''))).toEqual(await inWarehouse(rows));
    expect(await ask(catalog, final)).toEqual(await inWarehouse(final));
    expect(await filesRead(catalog, `select sum(installs) from network_daily where day = DATE '2026-01-02'`)).toBe(1);
    expect(await filesRead(catalog, `select sum(installs) from network_daily where day >= DATE '2026-01-02'`)).toBe(2);
  });

  test('is read through the statements of DuckDB alike, and no file of another day is opened for a day', async () => {
    await sample.publish([target()]);
    const ddl = await lakesDdl('duckdb', { publish: [target()] }, sample.warehouse);
    const statements = ddl.split(/;$/m).filter((sql) => sql.trim() !== '');
    const schema = /create schema if not exists ("\w+")/.exec(ddl)?.[1] ?? '';
    const there = (sql: string): string =>
      sql.replace(' exclude (_load_id)', '').replace('network', `${schema}.network`);
    expect(await ask(':memory:', there(rows), statements)).toEqual(await inWarehouse(rows));
    expect(await ask(':memory:', there(final), statements)).toEqual(await inWarehouse(final));
    const ofOneDay = there(`select sum(installs) from network_daily where day = DATE '2026-01-02'`);
    expect(await filesRead(':memory:', ofOneDay, statements)).toBe(1);
  });
});

/** How many files DuckDB opened for a query. */
async function filesRead(database: string, sql: string, preparations: readonly string[] = []): Promise<number> {
  const profile = JSON.stringify(await ask(database, `explain analyze ${sql}`, preparations));
  return Number(/Total Files Read: (\d+)/.exec(profile)?.[1]);
}
