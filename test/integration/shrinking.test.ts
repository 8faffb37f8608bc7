/** When an answer with fewer rows is not believed: what a settled window held, and what it would keep. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { isShrinking } from '../../src/load/shrinking.ts';
import type { Target } from '../../src/load/target.ts';
import { addDays, day, parseUtcOffset, UTC, type UtcOffset } from '../../src/model/calendar.ts';
import { windowOf, type Window } from '../../src/model/window.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { slice } from '../support/slice.ts';

let directory = '';
let warehouse: Warehouse;

/** 10 rows on each day from the 9th to the 12th; 1 000 under another meaning, and of another slice. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-shrinking-'));
  warehouse = await openWarehouse(join(directory, 'w.duckdb'), { mode: 'write', lockWaitMs: 0, emit: () => {} });
  await warehouse.run(`insert into ripen.periods
    select p.slice, p.fingerprint, d::date, d::date + 1, d::date, d::date + 1, 1, now(), now(), true, p.rows, 0, 'final', null
    from (values ('daily', 'f', 10), ('daily', 'other', 1000), ('another', 'f', 1000)) as p (slice, fingerprint, rows),
         range(date '2026-01-09', date '2026-01-13', interval 1 day) as days (d)`);
});
afterAll(async () => {
  await warehouse.close();
  await rm(directory, { recursive: true });
});

function target(utcOffset: UtcOffset): Target {
  const declared = slice({ name: 'daily', dimensions: ['day'], metrics: ['installs'], utcOffset });
  const columns = { dimensions: ['day'], metrics: [], extra: [] };
  return { slice: declared, fingerprint: 'f', metrics: [], state: 'live', table: 'main.daily', columns, catalog: [] };
}

/** The 10th and 11th, of which 20 rows are held. */
function windowFor({ slice: declared }: Target, first = '2026-01-10'): Window {
  const periods = [0, 1].map((offset) => {
    const start = addDays(day(first), offset);
    const bucket = { start, end: addDays(start, 1) };
    return { period: { bucket, asked: bucket }, reason: 'maturing' as const };
  });
  return windowOf(declared, 'f', periods);
}

async function refused(rows: number, fetched: string, offset = UTC, first?: string): Promise<boolean> {
  const chosen = target(offset);
  return (await isShrinking(warehouse, chosen, windowFor(chosen, first), rows, new Date(fetched))) !== null;
}

const SETTLED = '2026-01-20T00:00:00Z';

test.each([
  [0, true],
  [9, true],
  [10, false],
  [20, false],
  [30, false],
])('%i rows where 20 were held are refused: %j', async (rows, isRefused) => {
  expect(await refused(rows, SETTLED)).toBe(isRefused);
});

test('a window that ended 7 days ago to the millisecond may still lose its rows, one a millisecond older may not', async () => {
  expect(await refused(0, '2026-01-19T00:00:00.000Z')).toBe(false);
  expect(await refused(0, '2026-01-19T00:00:00.001Z')).toBe(true);
});

test('the end of a window is that of the offset its days are in', async () => {
  const offset = parseUtcOffset('-03:30') ?? UTC;
  expect(await refused(0, '2026-01-19T03:30:00.000Z', offset)).toBe(false);
  expect(await refused(0, '2026-01-19T03:30:00.001Z', offset)).toBe(true);
});

test('a window of which nothing was held, not even of other days, may be empty', async () => {
  expect(await refused(0, '2026-03-01T00:00:00Z', UTC, '2026-01-13')).toBe(false);
  expect(await refused(0, '2026-03-01T00:00:00Z', UTC, '2026-01-07')).toBe(false);
});

test('the refusal names both counts, and the backfill that accepts the loss of those days', async () => {
  const chosen = target(UTC);
  const failure = await isShrinking(warehouse, chosen, windowFor(chosen), 3, new Date(SETTLED));
  expect(failure).toMatchObject({
    code: 'DATA_SHRUNK',
    message: 'slice daily, 2026-01-10:2026-01-11: the service answered 3 rows where 20 were loaded before.',
    facts: { rows: 3, before: 20 },
    hint: 'If that is right, run `ripen backfill --slice daily --from 2026-01-10 --to 2026-01-11 --accept-loss`.',
  });
});
