/** A nightly reload of 7 days in tables of different sizes: its time must follow the window, not the table. */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { addDays, type DayInterval } from '../../src/model/calendar.ts';
import { grouped, median, milliseconds, rounded, times } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { scaled } from './support/scale.ts';
import { fillWarehouse, type FilledWarehouse } from './warehouse/filled-warehouse.ts';

const ROWS_PER_DAY = scaled(10_000, 500);
const DAYS = [100, 1000] as const;
const NIGHTS = scaled(10, 3);
const WINDOW_DAYS = 7;
const BARE_RELOADS = 3;
/** A small file grows by whole blocks. */
const MOST_GROWTH = scaled(1.5, 10);
const MIB = 1_048_576;

let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

interface Table {
  readonly filled: FilledWarehouse;
  readonly path: string;
  readonly bytesBefore: number;
  bytesAfter: number;
  readonly nightMs: number[];
  readonly bareMs: number[];
}

test('a reload of 7 days takes as long in ten times the rows, and ten nights of it leave the file about as large', async () => {
  const tables: Table[] = [];
  for (const days of DAYS) tables.push(await fill(days));
  for (let night = 0; night < NIGHTS; night += 1) {
    for (const { filled, nightMs } of tables) nightMs.push(await reload(filled, night));
  }
  for (const table of tables) table.bytesAfter = (await stat(table.path)).size;
  for (let round = 0; round < BARE_RELOADS; round += 1) {
    for (const { filled, bareMs } of tables) bareMs.push(await reloadBarely(filled, round));
  }
  const [small, large] = tables;
  if (small === undefined || large === undefined) throw new RangeError('A table has no result.');
  const ratio = median(large.nightMs) / median(small.nightMs);
  const growth = large.bytesAfter / large.bytesBefore;
  publishSection({
    name: 'replace',
    title: 'Replacing a week in a large table',
    paragraphs: [
      `${NIGHTS} nights, each replacing the ${WINDOW_DAYS} days of ${grouped(ROWS_PER_DAY)} rows that end with its own day, each in a warehouse opened anew, the two by turns. Timed is the whole transaction, with totals before and after, restatements and ledger; beside it the same rows by a bare DELETE and INSERT. Ten times the rows took ${times(ratio)} times as long.`,
    ],
    tables: [
      {
        caption: 'One transaction, and what the nights did to the file.',
        columns: [
          'rows',
          'replacing, best',
          'median',
          'bare, median',
          'file before',
          `after ${NIGHTS} nights`,
          'growth',
        ],
        rows: tables.map(({ filled, nightMs, bareMs, bytesBefore, bytesAfter }) => [
          grouped(filled.rows),
          milliseconds(Math.min(...nightMs)),
          milliseconds(median(nightMs)),
          milliseconds(median(bareMs)),
          `${grouped(bytesBefore / MIB)} MiB`,
          `${grouped(bytesAfter / MIB)} MiB`,
          times(bytesAfter / bytesBefore),
        ]),
      },
    ],
    figures: {
      rows: large.filled.rows,
      times_of_tenth: rounded(ratio, 2),
      times_of_bare: rounded(median(large.nightMs) / median(large.bareMs), 2),
      growth: rounded(growth, 2),
    },
  });

  expect(large.filled.rows).toBe(small.filled.rows * 10);
  expect(growth).toBeLessThan(MOST_GROWTH);
});

async function fill(days: number): Promise<Table> {
  const path = join(directory, `${days}.duckdb`);
  const filled = await fillWarehouse({ path, days, rowsPerDay: ROWS_PER_DAY });
  const bytesBefore = (await stat(path)).size;
  return { filled, path, bytesBefore, bytesAfter: bytesBefore, nightMs: [], bareMs: [] };
}

/** One night: opens the warehouse, replaces its week, closes it. */
async function reload(filled: FilledWarehouse, night: number): Promise<number> {
  return filled.open((warehouse, target) => filled.reload(warehouse, target, weekOf(filled, night), night + 1));
}

async function reloadBarely(filled: FilledWarehouse, round: number): Promise<number> {
  const last = weekOf(filled, NIGHTS - 1);
  return filled.open((warehouse, target) => filled.reloadBarely(warehouse, target, last, NIGHTS + round + 1));
}

function weekOf({ days }: FilledWarehouse, night: number): DayInterval {
  const end = addDays(days.end, night + 1 - NIGHTS);
  return { start: addDays(end, -WINDOW_DAYS), end };
}
