/** What the engine may hold while a statement reads a whole table, and after it. */

import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { runKeepingLittle } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';

let warehouse: Warehouse;

beforeAll(async () => {
  const scratch = await openScratch();
  ({ warehouse } = scratch);
  return scratch.close;
});
async function limit(): Promise<string | undefined> {
  const [found] = await warehouse.rows(
    "select current_setting('memory_limit') as held",
    [],
    z.object({ held: z.string() }),
  );
  return found?.held;
}

/** The limit that a statement ran under, which writes it down. */
async function limitWithin(): Promise<string | undefined> {
  await runKeepingLittle(
    warehouse,
    "create or replace temp table seen as select current_setting('memory_limit') as held",
  );
  const [found] = await warehouse.rows('from seen', [], z.object({ held: z.string() }));
  return found?.held;
}

test('a statement that reads a whole table has 128 MB, and the next one 400 MB again', async () => {
  expect(await limitWithin()).toBe('122.0 MiB');
  expect(await limit()).toBe('381.4 MiB');
});

test('a statement that 128 MB do not hold is run again with 400 MB', async () => {
  // One text of 63 MB, put together by two threads in pieces that double.
  await warehouse.run('set threads = 2');
  const long = "create temp table long as select string_agg(i::varchar, ',') as text from range(8000000) as t (i)";
  await warehouse.run("set memory_limit = '128MB'");
  await expect(warehouse.run(long)).rejects.toMatchObject({ code: 'ENGINE_MEMORY' });
  await runKeepingLittle(warehouse, long);
  expect(await warehouse.rows('select count(*)::integer as n from long', [], z.object({ n: z.number() }))).toEqual([
    { n: 1 },
  ]);
  expect(await limit()).toBe('381.4 MiB');
});

test('a statement that fails of something else fails once, and the next one has 400 MB again', async () => {
  await expect(runKeepingLittle(warehouse, 'select nothing')).rejects.toThrow('nothing');
  expect(await limit()).toBe('381.4 MiB');
});
