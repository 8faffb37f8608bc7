/** What becomes of a batch that the engine has too little memory for (FAULTS 39). */

import { expect, test } from 'vitest';
import * as z from 'zod';

import { Failure } from '../../src/errors.ts';
import { loadBatches, type Loading, type SliceBatch } from '../../src/load/load.ts';
import type { PageRead } from '../../src/load/read-pages.ts';
import { boxesOf } from '../../src/model/window.ts';
import type { Spooled } from '../../src/extract/spool.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { openScratch } from '../support/scratch-warehouse.ts';
import { slice, windowOfDays } from '../support/slice.ts';

const daily = slice({ name: 'daily', dimensions: ['day', 'network'], metrics: ['installs'] });

function spooledOn(first: string, plainBytes: number): Spooled {
  const at = new Date('2026-06-01T02:30:00Z');
  const window = windowOfDays(daily, first);
  const pages = [
    { path: `/spool/${first}.json`, encoding: 'identity' as const, bytes: plainBytes, plainBytes },
  ];
  return {
    window,
    answers: boxesOf(window).map((box) => {
      return { box, pages, unfollowed: null, requests: 1, requestedAt: at, receivedAt: at };
    }),
    doubts: 0,
    isConfirmation: false,
    round: null,
    controlFailure: null,
  };
}

/** An engine that is out of memory whenever more than so many files are read at once. */
function engineFor(most: number): {
  readonly warehouse: Warehouse;
  readonly requested: number[];
} {
  const requested: number[] = [];
  const take = async (sql: string): Promise<number> => {
    const files = sql.match(/\/spool\/[^']*/g)?.length ?? 0;
    if (files === 0) return 0;
    requested.push(files);
    if (files <= most) return files;
    throw new Failure('ENGINE_MEMORY', 'The database ran out of memory: 1 GiB of 1 GiB used');
  };
  const warehouse: Warehouse = {
    path: '/warehouse.duckdb',
    run: take,
    alter: take,
    rows: async (sql) => take(sql).then(() => []),
    transact: async (work) => work(),
    withSession: async (work) => work(warehouse),
    reclaimAtClose: () => {},
    useThreads: async () => {},
    changes: () => requested.length,
    interruptibly: async (_, work) => work(),
    close: async () => {},
  };
  return { warehouse, requested };
}

const keys = ['day', 'network', 'installs'];

/** A page with one row. */
const readOf = (path: string): PageRead => ({
  file: path,
  bodies: 1,
  bodyNo: 0,
  body: {
    rows: 1,
    rowsDigest: '',
    members: new Map(),
    keys,
    commonKeys: keys,
    badLabel: null,
    digits: new Map(),
    because: null,
  },
  types: new Map(),
  unfit: new Map(),
  hasExtra: false,
  hasRejected: false,
  isOrdered: true,
  isDistinct: true,
});

const batch = [spooledOn('2026-05-30', 4_000_000), spooledOn('2026-05-31', 9_000_000)];
const sliceBatch: SliceBatch = {
  spooled: batch,
  target: {
    slice: daily,
    fingerprint: 'f',
    state: 'live',
    table: 'main."daily"',
    catalog: [],
    columns: { dimensions: daily.dimensions, metrics: [] },
  },
  acceptLoss: false,
  control: null,
};
const loading = (warehouse: Warehouse): Loading => ({
  warehouse,
  runId: 'r',
  fetchedAt: null,
  lost: new Map(),
  isReplay: false,
  read: { readAll: async () => {}, of: ({ path }) => readOf(path) },
});

test('a batch of 2 windows that the engine has no memory for is read window by window', async () => {
  const { warehouse, requested } = engineFor(1);
  const [loaded] = await loadBatches([sliceBatch], loading(warehouse));
  expect(requested.slice(-2)).toEqual([1, 1]);
  expect(loaded?.outcomes.map(({ kind }) => kind)).not.toContain('split');
});

test('a window of 9 MB that the engine has no memory for by itself is split as too heavy, in words that say so', async () => {
  const { warehouse } = engineFor(0);
  const [{ outcomes } = { outcomes: [] }] = await loadBatches([sliceBatch], loading(warehouse));
  const codes = outcomes.map((outcome) =>
    'failure' in outcome ? [outcome.kind, outcome.failure.code] : [outcome.kind],
  );
  expect(codes).toEqual([
    ['split', 'SOURCE_TOO_HEAVY'],
    ['split', 'SOURCE_TOO_HEAVY'],
  ]);
  const last = outcomes.at(-1);
  expect(last !== undefined && 'failure' in last ? last.failure.message : '').toContain(
    'an answer of 9 MB',
  );
});

const bytesRow = z.object({ unsaved: z.number(), spilled: z.number() });
const memorySql = `select
    sum(memory_usage_bytes) filter (tag = 'IN_MEMORY_TABLE')::double as unsaved,
    sum(temporary_storage_bytes)::double as spilled
from duckdb_memory()`;

test('rows added to 60 tables of 20 columns, 100 MB in memory, are checkpointed on the way: less than 80 MB stay, and none are spilled', async () => {
  const { warehouse, close } = await openScratch();
  const columns = Array.from({ length: 20 }, (_, column) => `c${column}`);
  for (let table = 0; table < 60; table += 1)
    await warehouse.transact(async () => {
      await warehouse.alter(`create table main.t${table} (${columns.join(' double, ')} double)`);
      const values = columns.map(() => 'random()').join(', ');
      await warehouse.run(`insert into main.t${table} select ${values} from range(4000)`);
    });
  const [memory] = await warehouse.rows(memorySql, [], bytesRow);
  await close();
  expect(memory?.unsaved).toBeLessThan(80_000_000);
  expect(memory?.spilled).toBe(0);
});
