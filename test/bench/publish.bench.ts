/** Publishing two years of days: all of them at first, and then the one that changed. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { PublishTarget } from '../../src/config/config.ts';
import { addDays } from '../../src/model/calendar.ts';
import { publish } from '../../src/publish/publish.ts';
import { grouped, median, milliseconds, rounded, times } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { scaled } from './support/scale.ts';
import { fillWarehouse, type FilledWarehouse } from './warehouse/filled-warehouse.ts';

const DAYS = scaled(730, 40);
const ROWS_PER_DAY = scaled(1000, 200);
const ROUNDS = scaled(5, 2);
const FILE_MODE = 0o644;

let directory = '';
let filled: FilledWarehouse;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
  filled = await fillWarehouse({ path: join(directory, 'warehouse.duckdb'), days: DAYS, rowsPerDay: ROWS_PER_DAY });
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

interface Copied {
  readonly ms: number;
  readonly files: number;
}

test('a lake of two years rewrites one file when one day changed, and none when nothing did', async () => {
  const lake: PublishTarget = { kind: 'parquet', path: join(directory, 'lake'), mode: FILE_MODE };
  const snapshot: PublishTarget = { kind: 'duckdb', path: join(directory, 'analytics.duckdb'), mode: FILE_MODE };

  const changing = Array.from({ length: ROUNDS }, (_, round) => {
    const day = addDays(filled.days.start, round * 7);
    return { start: day, end: addDays(day, 1) };
  });
  // The ledger knows the days that are going to change, so that their finality does not change with them.
  for (const days of changing) await filled.open((warehouse, target) => filled.reload(warehouse, target, days, 0));

  const whole = await copy(lake);
  const changed: Copied[] = [];
  const unchanged: Copied[] = [];
  const snapshots: Copied[] = [];
  for (const [round, days] of changing.entries()) {
    await filled.open((warehouse, target) => filled.reload(warehouse, target, days, round + 1));
    changed.push(await copy(lake));
    unchanged.push(await copy(lake));
    snapshots.push(await copy(snapshot));
  }

  const medianMs = (copies: readonly Copied[]): number => median(copies.map(({ ms }) => ms));
  const line = (name: string, copies: readonly Copied[]): string[] => [
    name,
    milliseconds(Math.min(...copies.map(({ ms }) => ms))),
    milliseconds(medianMs(copies)),
    grouped(median(copies.map(({ files }) => files))),
    times(medianMs(copies) / whole.ms),
  ];
  publishSection({
    name: 'publish',
    title: 'Publishing what changed',
    paragraphs: [
      `A warehouse of ${grouped(filled.rows)} rows in ${DAYS} days. The lake is one Parquet file a day and one per dimension table; what changed is found out from the warehouse, not by reading files. The snapshot is a verified copy of the whole.`,
    ],
    tables: [
      {
        caption: `One publication; best and median of ${ROUNDS} by turns, the first one once.`,
        columns: ['publication', 'best', 'median', 'files written', 'times the first'],
        rows: [
          line('lake, all days for the first time', [whole]),
          line(`lake, 1 of ${DAYS} days changed`, changed),
          line('lake, nothing changed', unchanged),
          line('snapshot', snapshots),
        ],
      },
    ],
    figures: {
      days: DAYS,
      files_first: whole.files,
      files_one_day: Math.max(...changed.map(({ files }) => files)),
      files_nothing: Math.max(...unchanged.map(({ files }) => files)),
      share_of_first_one_day: rounded(medianMs(changed) / whole.ms, 3),
    },
  });

  expect(whole.files).toBeGreaterThanOrEqual(DAYS);
  for (const { files } of changed) expect(files).toBe(1);
  for (const { files } of unchanged) expect(files).toBe(0);
});

async function copy(target: PublishTarget): Promise<Copied> {
  return filled.open(async (warehouse) => {
    const startedAt = performance.now();
    const { published, failures } = await publish(
      { publish: [target], slices: [filled.slice] },
      warehouse,
      () => {},
      new AbortController().signal,
    );
    const ms = performance.now() - startedAt;
    expect(failures).toEqual([]);
    return { ms, files: published[0]?.files_written ?? 0 };
  });
}
