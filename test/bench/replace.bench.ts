/** A nightly reload of 7 days in tables of different sizes: its time must follow the window, not the table. */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { addDays, type DayInterval } from '../../src/model/calendar.ts';
import { grouped, median, milliseconds, rounded, times } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { isLarge, scaled } from './support/scale.ts';
import type { FoundTable } from './support/section.ts';
import { fillWarehouse, type FilledWarehouse } from './warehouse/filled-warehouse.ts';

const ROWS_PER_DAY = scaled(10_000, 500);
const DAYS = [100, 1000];
const LARGE_DAYS = [...DAYS, 5000];
const NIGHTS = scaled(10, 3);
const LARGE_NIGHTS = 60;
/** A busy machine needs a quarter of an hour for them. */
const LARGE_TIMEOUT_MS = 2_700_000;
const WINDOW_DAYS = 7;
const BARE_RELOADS = 3;
/** A small file grows by whole blocks. */
const MOST_GROWTH = scaled(1.5, 10);
const MIB = 1_048_576;

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
});

afterEach(async () => {
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

const medianMs = ({ nightMs }: Table): number => median(nightMs);
const growth = ({ bytesBefore, bytesAfter }: Table): number => bytesAfter / bytesBefore;
const described = (nights: number): string =>
  `${nights} nights, each replacing the ${WINDOW_DAYS} days of ${grouped(ROWS_PER_DAY)} rows that end with its own day, each in a warehouse opened anew, the tables by turns. Timed is the whole transaction, with totals before and after, restatements and ledger; beside it the same rows by a bare DELETE and INSERT.`;

test('a reload of 7 days takes as long in ten times the rows, and ten nights of it leave the file about as large', async () => {
  const tables = await passNights(DAYS, NIGHTS);
  const [small, large] = tables;
  if (small === undefined || large === undefined) throw new RangeError('A table has no result.');
  const ratio = medianMs(large) / medianMs(small);
  publishSection({
    name: 'replace',
    title: 'Replacing a week in a large table',
    paragraphs: [`${described(NIGHTS)} Ten times the rows took ${times(ratio)} times as long.`],
    tables: [foundTable(tables, NIGHTS)],
    figures: {
      rows: large.filled.rows,
      times_of_tenth: rounded(ratio, 2),
      times_of_bare: rounded(medianMs(large) / median(large.bareMs), 2),
      growth: rounded(growth(large), 2),
    },
  });

  expect(large.filled.rows).toBe(small.filled.rows * 10);
  expect(growth(large)).toBeLessThan(MOST_GROWTH);
});

test.skipIf(!isLarge)(
  'a reload of 7 days takes as long in fifty times the rows, for 60 nights',
  async () => {
    const tables = await passNights(LARGE_DAYS, LARGE_NIGHTS);
    const [small, , large] = tables;
    if (small === undefined || large === undefined) throw new RangeError('A table has no result.');
    const ratio = medianMs(large) / medianMs(small);
    publishSection({
      name: 'large',
      title: 'Replacing a week in 50 million rows',
      paragraphs: [
        `${described(LARGE_NIGHTS)} Fifty times the rows took ${times(ratio)} times as long. This takes minutes, and is measured with \`BENCH=large\` only.`,
      ],
      tables: [foundTable(tables, LARGE_NIGHTS)],
      figures: {
        rows: large.filled.rows,
        times_of_fiftieth: rounded(ratio, 2),
        growth_1m: rounded(growth(small), 2),
        growth_50m: rounded(growth(large), 2),
      },
    });

    expect(large.filled.rows).toBe(small.filled.rows * 50);
    expect(growth(large)).toBeLessThan(MOST_GROWTH);
  },
  LARGE_TIMEOUT_MS,
);

async function passNights(sizes: readonly number[], nights: number): Promise<Table[]> {
  const tables: Table[] = [];
  for (const days of sizes) tables.push(await fill(days));
  for (let night = 0; night < nights; night += 1) {
    for (const { filled, nightMs } of tables) {
      const week = weekEnding(filled, night + 1 - nights);
      nightMs.push(await filled.open((warehouse, target) => filled.reload(warehouse, target, week, night + 1)));
    }
  }
  for (const table of tables) table.bytesAfter = (await stat(table.path)).size;
  for (let round = 0; round < BARE_RELOADS; round += 1) {
    for (const { filled, bareMs } of tables) {
      const [week, salt] = [weekEnding(filled, 0), nights + round + 1];
      bareMs.push(await filled.open((warehouse, target) => filled.reloadBarely(warehouse, target, week, salt)));
    }
  }
  return tables;
}

async function fill(days: number): Promise<Table> {
  const path = join(directory, `${days}.duckdb`);
  const filled = await fillWarehouse({ path, days, rowsPerDay: ROWS_PER_DAY });
  const bytesBefore = (await stat(path)).size;
  return { filled, path, bytesBefore, bytesAfter: bytesBefore, nightMs: [], bareMs: [] };
}

/** The week that ends so many days after the last day there is. */
function weekEnding({ days }: FilledWarehouse, after: number): DayInterval {
  const end = addDays(days.end, after);
  return { start: addDays(end, -WINDOW_DAYS), end };
}

function foundTable(tables: readonly Table[], nights: number): FoundTable {
  return {
    caption: 'One transaction, and what the nights did to the file.',
    columns: ['rows', 'replacing, best', 'median', 'bare, median', 'file before', `after ${nights} nights`, 'growth'],
    rows: tables.map((table) => [
      grouped(table.filled.rows),
      milliseconds(Math.min(...table.nightMs)),
      milliseconds(medianMs(table)),
      milliseconds(median(table.bareMs)),
      `${grouped(table.bytesBefore / MIB)} MiB`,
      `${grouped(table.bytesAfter / MIB)} MiB`,
      times(growth(table)),
    ]),
  };
}
