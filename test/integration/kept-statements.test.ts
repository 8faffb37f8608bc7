/** Statements with parameters that run again in one session: what a statement that stays prepared must not remember. */

import { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import * as z from 'zod';

import type { Bindable, Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

let warehouse: Warehouse;

beforeEach(async () => {
  const scratch = await openScratch();
  ({ warehouse } = scratch);
  return scratch.close;
});
afterEach(() => vi.restoreAllMocks());

const rows = (sql: string, ...parameters: Bindable[]): Promise<Record<string, unknown>[]> =>
  warehouse.rows(sql, parameters, z.record(z.string(), z.unknown()));

const all = 'select * from temp.t where $1 is not null';

test('a temporary table that is replaced, dropped, made again and altered is read as it is', async () => {
  await warehouse.run('create temp table t as select 1::integer as a');
  expect(await rows(all, 1)).toEqual([{ a: 1 }]);
  await warehouse.run("create or replace temp table t as select 'x' as b, 2::bigint as a");
  expect(await rows(all, 1)).toEqual([{ b: 'x', a: '2' }]);
  await warehouse.run('drop table temp.t');
  await expect(rows(all, 1)).rejects.toThrow('Catalog Error');
  await warehouse.run('create temp table t as select 3.50::decimal(18,2) as a');
  expect(await rows(all, 1)).toEqual([{ a: '3.50' }]);
  await warehouse.run('alter table temp.t alter column a type decimal(38,4)');
  expect(await rows(all, 1)).toEqual([{ a: '3.5000' }]);
  await warehouse.run('alter table temp.t add column c varchar');
  expect(await rows(all, 1)).toEqual([{ a: '3.5000', c: null }]);
});

test('a column that another session widens takes the wider value the next time', async () => {
  await warehouse.run('create table main.t (a integer)');
  const insert = 'insert into main.t values ($1)';
  await warehouse.run(insert, ['1']);
  await expect(warehouse.run(insert, ['9007199254740993'])).rejects.toThrow('Conversion Error');
  await warehouse.apart((session) => session.run('alter table main.t alter column a type bigint'));
  expect(await warehouse.run(insert, ['9007199254740993'])).toBe(1);
  expect(await rows('select a from main.t order by a')).toEqual([{ a: '1' }, { a: '9007199254740993' }]);
});

test('a statement that failed within a transaction runs again after it, and in the next one', async () => {
  await warehouse.run('create table main.t (a integer)');
  const insert = 'insert into main.t values ($1)';
  await expect(
    warehouse.transact(async () => {
      await warehouse.run(insert, ['1']);
      await warehouse.run(insert, ['none']);
    }),
  ).rejects.toThrow('Conversion Error');
  await warehouse.run(insert, ['2']);
  await warehouse.transact(() => warehouse.run(insert, ['3']));
  expect(await rows('select a from main.t order by a')).toEqual([{ a: 2 }, { a: 3 }]);
});

test('of 300 texts at most 30 stay prepared, and none that had a parameter of 100 kB', async () => {
  const prepare = vi.spyOn(DuckDBConnection.prototype, 'prepare');
  const destroyed = vi.spyOn(DuckDBPreparedStatement.prototype, 'destroySync');
  const living = (): number => prepare.mock.calls.length - destroyed.mock.calls.length;
  await warehouse.apart(async (session) => {
    const long = 'x'.repeat(100_000);
    for (let index = 0; index < 10; index += 1) await session.run(`select length($1), ${index}`, [long]);
    expect(living()).toBe(0);
    for (let index = 0; index < 300; index += 1) await session.run(`select $1, ${index}`, ['x']);
    expect(living()).toBe(30);
  });
});
