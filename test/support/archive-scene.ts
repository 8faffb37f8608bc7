/** An installation that archives, its archive as files, and replays of it. */

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import type { Config } from '../../src/config/config.ts';
import type { RunEvent } from '../../src/events.ts';
import { fromArchive } from '../../src/run/archive-source.ts';
import type { RunOptions } from '../../src/run/run.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { sync } from '../../src/sync.ts';
import { query } from './contents.ts';
import type { Scenario } from './scenario.ts';

export const DAY_MS = 86_400_000;
export const archived = { archiveMs: 30 * DAY_MS } as const;

/** A replay of everything, as of now. */
export const replayRequest: RunOptions = { command: 'replay', lockWaitMs: 0 };

/** Replays into the scenario's warehouse; the clock decides unless told otherwise. */
export async function replayInto(
  scenario: Scenario,
  change: Partial<Config> = {},
  request: Partial<RunOptions> = {},
  signal: AbortSignal = AbortSignal.timeout(60_000),
  told: (event: RunEvent) => void = () => {},
): Promise<SyncSummary> {
  const config = { ...scenario.config, ...change };
  const emit = (event: RunEvent): void => {
    scenario.events.push(event);
    told(event);
  };
  return sync(config, { ...replayRequest, ...request }, fromArchive(config), { emit, signal });
}

/** Loses the warehouse; its archive stays. */
export async function loseWarehouse({ config }: Scenario): Promise<void> {
  await rm(config.warehouse);
  await rm(`${config.warehouse}.wal`, { force: true });
}

export const archiveOf = ({ config }: Scenario): string => `${config.warehouse}.archive`;

/** The directories of a slice's folder, oldest first. */
export async function entriesOf(scenario: Scenario, slice: string): Promise<string[]> {
  const folder = join(archiveOf(scenario), slice);
  return (await readdir(folder)).sort().map((name) => join(folder, name));
}

/** Every file of the archive: its path, its permissions, its text uncompressed. */
export async function archiveFiles(
  scenario: Scenario,
): Promise<readonly { readonly path: string; readonly mode: string; readonly text: string }[]> {
  const found = await readdir(archiveOf(scenario), { recursive: true, withFileTypes: true });
  const paths = found
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));
  return Promise.all(
    paths.map(async (path) => {
      const bytes = await readFile(path);
      const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
      return { path, mode: ((await stat(path)).mode & 0o777).toString(8), text };
    }),
  );
}

/** What a slice's table and the ledger say, but for the numbers of the loads: sorted, comparable text. */
export async function loadedState(
  scenario: Scenario,
  slices: readonly string[],
): Promise<readonly string[][]> {
  const selections = [
    ...slices.map((slice) => `select * exclude ("_load_id") from main.${slice}`),
    ...slices.map((slice) => `select * exclude ("_load_id") from main.${slice}_final`),
    ...slices.map((slice) => `describe main.${slice}`),
    'select * exclude (load_id) from ripen.periods',
    'select * from ripen.slice_metrics',
    'select * from main.metrics',
    'select * from ripen.catalog',
    'select * from main.partners',
  ];
  const contents: string[][] = [];
  for (const sql of selections)
    contents.push((await query(scenario, sql)).map((row) => JSON.stringify(row)).sort());
  return contents;
}
