/** Answers that were read into columns under different types of their table, loaded in one batch. */

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { ReadAnswers } from '../../src/load/read-answers.ts';
import { loadBatch } from '../../src/load/load.ts';
import { prepareTable } from '../../src/tables/slice-table.ts';
import type { Target } from '../../src/tables/target.ts';
import { day } from '../../src/model/calendar.ts';
import { fingerprintOf, type Slice } from '../../src/model/slice.ts';
import { windowOf } from '../../src/model/window.ts';
import { openColumnReader } from '../../src/spool/columns/column-reader.ts';
import type { Spooled } from '../../src/spool/spool.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';
import { slice } from '../support/slice.ts';

const given = { name: 'daily', dimensions: ['day', 'network'], metrics: ['cost'] } as const;
let directory = '';
let warehouse: Warehouse;
let reader: ReturnType<typeof openColumnReader>;

beforeEach(async () => {
  const scratch = await openScratch();
  ({ directory, warehouse } = scratch);
  reader = openColumnReader();
  return scratch.close;
});

afterEach(async () => reader.close());

/** One day's answer, with one row and one number that is written as stated, and what it states as its total. */
async function spooledOn(daily: Slice, start: string, end: string, cost: string, total = cost): Promise<Spooled> {
  const path = join(directory, `${start}.json`);
  const text = `{"rows":[{"day":"${start}","network":"a","cost":${cost},"attr_dependency":{}}],"totals":{"cost":${total}}}`;
  await writeFile(path, text);
  const days = { start: day(start), end: day(end) };
  const window = windowOf(daily, fingerprintOf(daily), [{ period: { bucket: days, asked: days }, reason: 'new' }]);
  const page = { path, encoding: 'identity', bytes: text.length, plainBytes: text.length, pagination: null } as const;
  const at = new Date('2026-06-01T02:30:00Z');
  return {
    window,
    answers: [{ partNo: 0, metrics: daily.metrics, pages: [page], unfollowed: null }],
    whole: null,
    attempt: 0,
    requests: 1,
    requestedAt: at,
    receivedAt: at,
  };
}

/** Every cost that is stored, by day. */
async function costs(): Promise<readonly string[]> {
  const row = z.object({ cost: z.string() });
  const rows = await warehouse.rows('select cost::varchar as cost from daily order by day', [], row);
  return rows.map(({ cost }) => cost);
}

test('of two answers, one read before its column was widened and one after, both are stored exactly', async () => {
  const typed = (type: string): Slice => slice({ ...given, types: { cost: type } });
  const answers = new ReadAnswers(reader, directory);
  const before = await prepareTable(warehouse, typed('DECIMAL(9,2)'), [], 'r');
  const one = await spooledOn(before.slice, '2026-05-30', '2026-05-31', '1.25');
  await answers.readAll([one], before);
  const target = await prepareTable(warehouse, typed('DECIMAL(18,4)'), [], 'r');
  const other = await spooledOn(target.slice, '2026-05-31', '2026-06-01', '0.1234');
  await answers.readAll([other], target);
  const request = { warehouse, target, runId: 'r', fetchedAt: null, acceptLoss: false, read: answers } as const;
  const { results } = await loadBatch([one, other], request);
  expect(results.map(({ kind }) => kind)).toEqual(['loaded', 'loaded']);
  expect(await costs()).toEqual(['1.2500', '0.1234']);
});

test('2 answers whose numbers no decimal holds together are loaded one by one: what fits is stored, the other refused by name', async () => {
  const target = await prepareTable(warehouse, slice({ ...given, types: { cost: 'DECIMAL(18,6)' } }), [], 'r');
  const answers = new ReadAnswers(reader, directory);
  const batch = [
    await spooledOn(target.slice, '2026-05-30', '2026-05-31', '1234567890123456789012345678.5'),
    await spooledOn(target.slice, '2026-05-31', '2026-06-01', '0.12345678901234567890'),
  ];
  const request = { warehouse, target, runId: 'r', fetchedAt: null, acceptLoss: false, read: answers } as const;
  const { results } = await loadBatch(batch, request);
  expect(results.map((each) => ('failure' in each ? each.failure.code : each.kind))).toEqual([
    'loaded',
    'DATA_REJECTED',
  ]);
  expect(await costs()).toEqual(['1234567890123456789012345678.500000']);
});

test('of 3 answers in one file, the one that does not add up is left out, and the other 2 are stored with their loads', async () => {
  const daily = slice({ ...given, types: { cost: 'DECIMAL(18,6)' } });
  const target: Target = await prepareTable(warehouse, daily, [], 'r');
  const answers = new ReadAnswers(reader, directory);
  const batch = [
    await spooledOn(daily, '2026-05-29', '2026-05-30', '1.5'),
    await spooledOn(daily, '2026-05-30', '2026-05-31', '2.5', '7'),
    await spooledOn(daily, '2026-05-31', '2026-06-01', '3.5'),
  ];
  await answers.readAll(batch, target);
  const request = { warehouse, target, runId: 'r', fetchedAt: null, acceptLoss: false, read: answers } as const;
  const { results } = await loadBatch(batch, request);
  expect(results.map(({ kind }) => kind).toSorted()).toEqual(['loaded', 'loaded', 'split']);
  const rows = await warehouse.rows(
    `select d.day::varchar as day, d.cost::double as cost, l.start_day::varchar as loaded
     from daily as d join ripen.loads as l on l.load_id = d._load_id order by 1`,
    [],
    z.object({ day: z.string(), cost: z.number(), loaded: z.string() }),
  );
  expect(rows).toEqual([
    { day: '2026-05-29', cost: 1.5, loaded: '2026-05-29' },
    { day: '2026-05-31', cost: 3.5, loaded: '2026-05-31' },
  ]);
  const [one, ...others] = batch.flatMap((spooled) => spooled.answers);
  await answers.discard(others);
  const files = async (): Promise<number> =>
    (await readdir(directory)).filter((name) => name.endsWith('.parquet')).length;
  expect(await files()).toBe(1);
  await answers.discard(one === undefined ? [] : [one]);
  expect(await files()).toBe(0);
});

test.each<[string, string, string]>([
  ['1.5', 'DECIMAL(18,6)', '1.500000'],
  ['0.12345678', 'DECIMAL(20,8)', '0.12345678'],
])(
  'of 2 small answers, one of %s and one of 10 decimals that does not add up, the column is %s: a window that fails widens nothing',
  async (cost, type, stored) => {
    const daily = slice({ ...given, types: { cost: 'DECIMAL(18,6)' } });
    const target: Target = await prepareTable(warehouse, daily, [], 'r');
    const answers = new ReadAnswers(reader, directory);
    const batch = [
      await spooledOn(daily, '2026-05-30', '2026-05-31', cost),
      await spooledOn(daily, '2026-05-31', '2026-06-01', '0.0123456789', '7'),
    ];
    const request = { warehouse, target, runId: 'r', fetchedAt: null, acceptLoss: false, read: answers } as const;
    const { results } = await loadBatch(batch, request);
    expect(results.map(({ kind }) => kind).toSorted()).toEqual(['loaded', 'split']);
    expect(await costs()).toEqual([stored]);
    const row = z.object({ type: z.string() });
    expect(await warehouse.rows('select typeof(cost) as type from daily', [], row)).toEqual([{ type }]);
  },
);
