/** Publishing two years of days: all of them at first, and then the one that changed; and a large snapshot beside a plain copy. */

import { constants } from 'node:fs';
import { copyFile, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { PublishTarget } from '../../src/config/config.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { elapsedText } from '../../src/model/measure.ts';
import { restate } from '../support/ledger-fixtures.ts';
import { ask, FIRST_DAY, openSample, type Sample } from '../support/sample-warehouse.ts';
import { grouped, median, rounded, times } from './support/figures.ts';
import { publishSection } from './support/section.ts';
import { scaled } from './support/scale.ts';

const DAYS = scaled(730, 40);
const ROWS_PER_DAY = scaled(1000, 200);
const ROUNDS = scaled(5, 2);
const LARGE_DAYS = scaled(1000, 40);
const LARGE_ROWS_PER_DAY = scaled(10_000, 500);
const LAYOUT_DAYS = scaled(400, 60);
const DENSITIES = [5, 50, 500, 5000];
/** How many days ago. */
const CHANGED_DAYS = [1, 2, 3, 4, 5, 7, 8, 9, 10, 14, 15, 32, 46];
const MIB = 1_048_576;
const FILE_MODE = 0o644;

interface Copied {
  readonly ms: number;
  readonly files: number;
}

test('a lake of two years rewrites one file when one day changed, and none when nothing did', async () => {
  const sample = await openSample(DAYS, ROWS_PER_DAY);
  const lake: PublishTarget = { kind: 'parquet', path: sample.path('lake'), mode: FILE_MODE };
  const snapshot: PublishTarget = {
    kind: 'duckdb',
    path: sample.path('analytics.duckdb'),
    mode: FILE_MODE,
  };
  const whole = await copy(sample, lake);
  const [changed, unchanged, snapshots]: [Copied[], Copied[], Copied[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    await restate(sample.warehouse, addDays(day(FIRST_DAY), round * 7), round + 1);
    changed.push(await copy(sample, lake));
    unchanged.push(await copy(sample, lake));
    snapshots.push(await copy(sample, snapshot));
  }

  const large = await copyLarge();
  const layouts: LayoutCost[] = [];
  for (const rowsPerDay of DENSITIES) layouts.push(...(await layoutCosts(rowsPerDay)));
  const medianMs = (copies: readonly Copied[]): number => median(copies.map(({ ms }) => ms));
  const line = (name: string, copies: readonly Copied[]): string[] => [
    name,
    elapsedText(Math.min(...copies.map(({ ms }) => ms))),
    elapsedText(medianMs(copies)),
    grouped(median(copies.map(({ files }) => files))),
    times(medianMs(copies) / whole.ms),
  ];
  publishSection({
    name: 'publish',
    title: 'Publishing what changed',
    paragraphs: [
      `A warehouse of ${grouped(DAYS * ROWS_PER_DAY)} rows in ${DAYS} days. The lake is a Parquet file for each week and one per dimension table; what changed is found out from the warehouse, not by reading files. The snapshot is a verified copy of the whole.`,
    ],
    tables: [
      {
        caption: `One publication; best and median of ${ROUNDS} by turns, the first one once.`,
        columns: ['publication', 'best', 'median', 'files written', 'times the first'],
        rows: [
          line('lake, all weeks for the first time', [whole]),
          line(`lake, 1 of ${DAYS} days changed`, changed),
          line('lake, nothing changed', unchanged),
          line('snapshot', snapshots),
        ],
      },
      {
        caption: `The snapshot of ${grouped(large.rows)} rows, verified and put in place, beside a plain copy of the file; both reach the disk. By turns.`,
        columns: ['copy', 'best', 'median', 'file', 'times the plain copy'],
        rows: large.ways.map(({ name, ms }) => [
          name,
          elapsedText(Math.min(...ms)),
          elapsedText(median(ms)),
          `${grouped(large.bytes / MIB)} MiB`,
          times(median(ms) / median(large.plainMs)),
        ]),
      },
      {
        caption: `The files of a table of ${grouped(LAYOUT_DAYS)} days, after a night in which ${CHANGED_DAYS.length} of them changed, as milestones have it; reading with DuckDB, best of ${ROUNDS}.`,
        columns: [
          'rows a day',
          'files',
          'how many',
          'size',
          'written a night',
          'a week',
          'all rows',
        ],
        rows: layouts.map(({ rowsPerDay, name, files, bytes, written, weekMs, allMs }) => [
          grouped(rowsPerDay),
          name,
          grouped(files),
          `${(bytes / MIB).toFixed(1)} MiB`,
          `${(written / MIB).toFixed(1)} MiB`,
          elapsedText(weekMs),
          elapsedText(allMs),
        ]),
      },
    ],
    figures: {
      days: DAYS,
      files_first: whole.files,
      files_one_day: Math.max(...changed.map(({ files }) => files)),
      files_nothing: Math.max(...unchanged.map(({ files }) => files)),
      share_of_first_one_day: rounded(medianMs(changed) / whole.ms, 3),
      snapshot_times_plain_copy: rounded(median(large.snapshotMs) / median(large.plainMs), 2),
    },
  });

  expect(whole.files).toBeGreaterThanOrEqual(DAYS / 31);
  for (const { files } of changed) expect(files).toBeLessThanOrEqual(2);
  for (const { files } of unchanged) expect(files).toBe(0);
});

interface LayoutCost {
  readonly rowsPerDay: number;
  readonly name: string;
  readonly files: number;
  readonly bytes: number;
  readonly written: number;
  readonly weekMs: number;
  readonly allMs: number;
}

/** The files that ripen chooses for a table, and one a day, as they were once and as others write them. */
async function layoutCosts(rowsPerDay: number): Promise<LayoutCost[]> {
  const sample = await openSample(LAYOUT_DAYS, rowsPerDay);
  const path = sample.path('blocks');
  const daily = sample.path('daily');
  await sample.publish([{ kind: 'parquet', path, mode: FILE_MODE }]);
  const before = await filesIn(join(path, 'network_daily'));
  const days = CHANGED_DAYS.map((ago) => addDays(day(FIRST_DAY), LAYOUT_DAYS - ago));
  for (const changed of days) await restate(sample.warehouse, changed, 1);
  await sample.publish([{ kind: 'parquet', path, mode: FILE_MODE }]);
  const after = await filesIn(join(path, 'network_daily'));
  await sample.warehouse.run(
    `copy main.network_daily to '${daily}' (format parquet, compression zstd, partition_by (day), write_partition_columns true)`,
  );
  const ofDays = await filesIn(daily);
  const isChanged = ([name]: readonly [string, unknown]): boolean =>
    days.some((changed) => name.includes(changed));
  const sizeOf = (files: Iterable<readonly [string, { readonly bytes: number }]>): number =>
    [...files].reduce((sum, [, { bytes }]) => sum + bytes, 0);
  const rewritten = [...after].filter(
    ([name, { changedAt }]) => before.get(name)?.changedAt !== changedAt,
  );
  const costs = [
    {
      rowsPerDay,
      name: 'of ripen',
      files: after.size,
      bytes: sizeOf(after),
      written: sizeOf(rewritten),
      ...(await readingMs(join(path, 'network_daily', '*.parquet'))),
    },
    {
      rowsPerDay,
      name: 'one a day',
      files: ofDays.size,
      bytes: sizeOf(ofDays),
      written: sizeOf([...ofDays].filter(isChanged)),
      ...(await readingMs(join(daily, '*', '*.parquet'))),
    },
  ];
  await sample.close();
  return costs;
}

async function filesIn(folder: string) {
  const files = new Map<string, { readonly bytes: number; readonly changedAt: number }>();
  for (const name of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, name));
    if (found.isFile()) files.set(name, { bytes: found.size, changedAt: found.mtimeMs });
  }
  return files;
}

/** How long an analyst waits for the sums of a week in the middle, and of all days. */
async function readingMs(pattern: string): Promise<{ weekMs: number; allMs: number }> {
  const from = addDays(day(FIRST_DAY), Math.floor(LAYOUT_DAYS / 2));
  const sums = `select network, sum(installs), sum(cost) from read_parquet('${pattern}', hive_partitioning = false)`;
  const timed = async (where: string): Promise<number> => {
    const startedAt = performance.now();
    await ask(':memory:', `${sums} ${where} group by network`);
    return performance.now() - startedAt;
  };
  const [weeks, alls]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    weeks.push(await timed(`where day between '${from}' and '${addDays(from, 6)}'`));
    alls.push(await timed(''));
  }
  return { weekMs: Math.min(...weeks), allMs: Math.min(...alls) };
}

async function copy(sample: Sample, target: PublishTarget): Promise<Copied> {
  const startedAt = performance.now();
  const [published] = await sample.publish([target]);
  return { ms: performance.now() - startedAt, files: published?.files_written ?? 0 };
}

interface LargeCopies {
  readonly rows: number;
  readonly bytes: number;
  readonly snapshotMs: readonly number[];
  readonly plainMs: readonly number[];
  readonly ways: readonly { readonly name: string; readonly ms: readonly number[] }[];
}

/** A snapshot of a large warehouse and a plain copy of its file, by turns. */
async function copyLarge(): Promise<LargeCopies> {
  const sample = await openSample(LARGE_DAYS, LARGE_ROWS_PER_DAY);
  const path = sample.path('warehouse.duckdb');
  const [snapshotMs, plainMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sample.lend(
      async () => void plainMs.push(await copyPlainly(path, sample.path('plain.duckdb'))),
    );
    const target: PublishTarget = {
      kind: 'duckdb',
      path: sample.path('large-copy.duckdb'),
      mode: FILE_MODE,
    };
    snapshotMs.push((await copy(sample, target)).ms);
  }
  const ways = [
    { name: 'plain copy of the file', ms: plainMs },
    { name: 'snapshot', ms: snapshotMs },
  ];
  return {
    rows: LARGE_DAYS * LARGE_ROWS_PER_DAY,
    bytes: (await stat(path)).size,
    snapshotMs,
    plainMs,
    ways,
  };
}

async function copyPlainly(from: string, to: string): Promise<number> {
  await rm(to, { force: true });
  const startedAt = performance.now();
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  const file = await open(to, 'r+');
  await file.sync();
  await file.close();
  return performance.now() - startedAt;
}
