/** What becomes of a batch that the engine has too little memory for, or that is none. */

import { expect, test } from 'vitest';

import { Failure } from '../../src/errors.ts';
import type { Spooled } from '../../src/spool/spool.ts';
import { loadBatch } from '../../src/load/load.ts';
import type { SavedBody } from '../../src/service/service.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { slice, windowOfDays } from '../support/slice.ts';

const daily = slice({ name: 'daily', dimensions: ['day', 'network'], metrics: ['installs'] });

function spooledOn(first: string, plainBytes: number, days = 1): Spooled {
  const at = new Date('2026-06-01T02:30:00Z');
  const page: SavedBody = {
    path: `/spool/${first}.json`,
    encoding: 'identity',
    bytes: plainBytes,
    plainBytes,
  };
  return {
    window: windowOfDays(daily, first, days),
    answers: [{ partNo: 0, metrics: daily.metrics, pages: [page], unfollowed: null }],
    whole: null,
    attempt: 0,
    isDoubted: false,
    requests: 1,
    requestedAt: at,
    receivedAt: at,
  };
}

/** An engine that is out of memory whenever more than so many files are read at once. */
function engineFor(most: number): { readonly warehouse: Warehouse; readonly requested: number[] } {
  const requested: number[] = [];
  const take = (sql: string): Promise<number> => {
    const files = sql.match(/\/spool\/[^']*/g)?.length ?? 0;
    if (files === 0) return Promise.resolve(0);
    requested.push(files);
    return files > most
      ? Promise.reject(
          new Failure('ENGINE_MEMORY', 'The database ran out of memory: 1 GiB of 1 GiB used'),
        )
      : Promise.resolve(files);
  };
  const warehouse: Warehouse = {
    path: '/warehouse.duckdb',
    run: take,
    rows: async (sql) => take(sql).then(() => []),
    transact: async (work) => work(),
    withSession: async (work) => work(warehouse),
    reclaimAtClose: () => {},
    useThreads: async () => {},
    changes: () => requested.length,
    interrupt: () => {},
    close: () => Promise.resolve(),
  };
  return { warehouse, requested };
}

const keys = ['day', 'network', 'installs'];
const page = { rows: 1, members: new Map(), keys, commonKeys: keys, badLabel: null, because: null };

const batch = [spooledOn('2026-05-30', 4_000_000), spooledOn('2026-05-31', 9_000_000)];
const target = {
  slice: daily,
  fingerprint: 'f',
  state: 'live',
  table: 'main."daily"',
  catalog: [],
  columns: { dimensions: daily.dimensions, metrics: [] },
} as const;
const request = (warehouse: Warehouse): Parameters<typeof loadBatch>[1] => ({
  warehouse,
  target,
  runId: 'r',
  fetchedAt: null,
  acceptLoss: false,
  read: {
    readAll: async () => {},
    of: ({ answers }) =>
      answers.map(({ pages }) => ({
        file: pages[0]?.path ?? '',
        firstBody: 0,
        bodies: 1,
        types: [],
        rows: 1,
        unfit: new Map(),
        digits: new Map(),
        hasExtra: false,
        hasRejected: false,
        weekStartsOn: null,
        isOrdered: true,
        isDistinct: true,
        pages: [page],
      })),
  },
});

test('a batch of 2 windows that the engine has no memory for is read window by window', async () => {
  const { warehouse, requested } = engineFor(1);
  const { results } = await loadBatch(batch, request(warehouse));
  expect(requested.slice(-2)).toEqual([1, 1]);
  expect(results.map(({ kind }) => kind)).not.toContain('split');
});

test('a window of 9 MB that the engine has no memory for by itself is split as too heavy, in words that say so', async () => {
  const { warehouse } = engineFor(0);
  const { results } = await loadBatch(batch, request(warehouse));
  const told = results.map((result) =>
    'failure' in result ? [result.kind, result.failure.code] : [result.kind],
  );
  expect(told).toEqual([
    ['split', 'SOURCE_TOO_HEAVY'],
    ['split', 'SOURCE_TOO_HEAVY'],
  ]);
  const [, last] = results;
  expect(last !== undefined && 'failure' in last ? last.failure.message : '').toContain(
    'an answer of 9 MB',
  );
});
