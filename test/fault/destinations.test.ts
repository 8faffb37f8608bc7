/** FAULTS 27: places a run could not write to, found before the first request; and what is no obstacle. */

import { spawnSync } from 'node:child_process';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { placeFindings } from '../../src/check/places.ts';
import type { Config } from '../../src/config/config.ts';
import type { Failure } from '../../src/errors.ts';
import { dropLoss, plan, status } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { checkingAt } from '../support/checking.ts';
import { textWith } from '../support/matching.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { dailyInstalls } from '../support/slice.ts';
import { failureFrom } from '../support/scripted-server.ts';

const NOW = new Date('2026-06-01T02:30:00Z');

const daily = dailyInstalls({ first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } });

let scenario: Scenario;
const mounted: string[] = [];

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
});
afterEach(async () => {
  for (const path of mounted.splice(0)) spawnSync('umount', ['--lazy', path]);
  await scenario.close();
});

const lossOf = async (config: Config): Promise<unknown> => dropLoss(config, { slice: 'daily' });

const inside = (...names: string[]): string => join(scenario.directory, ...names);
const snapshotAt = (path: string): Config['publish'][number] => ({ kind: 'duckdb', path, mode: 0o644 });
const lakeAt = (path: string): Config['publish'][number] => ({ kind: 'parquet', path, mode: 0o644 });

/** The failure of a sync that asked for nothing and made nothing. */
async function refusal(change: Partial<Config>): Promise<Failure> {
  const before = await readdir(scenario.directory);
  const failure = await failureFrom(scenario.night(NOW, change));
  expect(scenario.simulator.asked.requests).toEqual([]);
  expect(await readdir(scenario.directory)).toEqual(before);
  return failure;
}

/** The messages of what `check` finds wrong with the same places. */
async function found(change: Partial<Config>): Promise<string[]> {
  const findings = await placeFindings({ ...scenario.config, ...change }, checkingAt(NOW));
  return findings.filter(({ code }) => code !== null).map(({ message }) => message);
}

describe('found before the first request, by a sync as by check', () => {
  test('a warehouse below a file', async () => {
    await writeFile(inside('file'), '');
    const warehouse = inside('file', 'warehouse.duckdb');
    const { code, message } = await refusal({ warehouse });
    expect([code, message]).toEqual([
      'STORAGE_FAILED',
      `The warehouse ${warehouse} could not be written: ${inside('file')} (not a directory)`,
    ]);
    expect(await found({ warehouse })).toContain(message);
  });

  test('a pipe in the place of the warehouse, or of a snapshot, which would never open', async () => {
    spawnSync('mkfifo', [inside('pipe')]);
    const warehouse = inside('pipe');
    const lying = 'a pipe, a device or a socket in the place of the file';
    for (const change of [{ warehouse }, { publish: [snapshotAt(warehouse)] }]) {
      const { code, message } = await refusal(change);
      expect([code, message]).toEqual(['STORAGE_FAILED', textWith(lying)]);
      expect(await found(change)).toContain(message);
    }
    for (const verb of [status, plan, lossOf]) {
      const failure = await failureFrom(verb({ ...scenario.config, warehouse }));
      expect(failure).toMatchObject({ code: 'STORAGE_FAILED', message: textWith('was no file, but a pipe') });
    }
  });

  test('a snapshot and a lake that cannot be, both told at once', async () => {
    await writeFile(inside('file'), '');
    await mkdir(inside('snapshot.duckdb'));
    const publish = [
      snapshotAt(inside('snapshot.duckdb')),
      lakeAt(inside('file', 'lake')),
      snapshotAt(inside('a.duckdb')),
    ];
    const { code, message } = await refusal({ publish });
    const each = [
      `The duckdb ${inside('snapshot.duckdb')} could not be written: ${scenario.directory} (a directory in the place of the file)`,
      `The parquet ${inside('file', 'lake')} could not be written: ${inside('file')} (not a directory)`,
    ];
    expect([code, message]).toEqual(['STORAGE_FAILED', each.join('; ')]);
    expect(await found({ publish })).toEqual(each);
  });

  test('a warehouse that is a symbolic link into a folder that is not there', async () => {
    await symlink(inside('unmounted', 'w.duckdb'), inside('other.duckdb'));
    await symlink(inside('other.duckdb'), inside('w.duckdb'));
    const change = { warehouse: inside('w.duckdb') };
    const { code, message } = await refusal(change);
    expect([code, message]).toEqual([
      'STORAGE_FAILED',
      expect.stringContaining(`it is a symbolic link to ${inside('unmounted', 'w.duckdb')}, whose folder is not there`),
    ]);
    expect(await found(change)).toContain(message);
    for (const verb of [status, plan, lossOf]) {
      const failure = await failureFrom(verb({ ...scenario.config, ...change }));
      expect(failure).toMatchObject({ code: 'STORAGE_FAILED', message: textWith('whose folder is not there') });
    }
  });

  test('a disk that is mounted read-only, for each of the three', async ({ skip }) => {
    await mkdir(inside('disk'));
    const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', inside('disk')], {
      encoding: 'utf8',
    });
    if (status !== 0) skip(`no read-only file system could be mounted: ${error?.message ?? stderr.trim()}`);
    mounted.push(inside('disk'));
    const warehouse = inside('disk', 'warehouse.duckdb');
    const publish = [snapshotAt(inside('disk', 'snapshot.duckdb')), lakeAt(inside('disk', 'new', 'lake'))];
    const { message } = await refusal({ warehouse, publish });
    expect(message.match(/\(EROFS\)/g)).toHaveLength(3);
  });
});

describe('no obstacle', () => {
  test('a warehouse that is a symbolic link to a file that is not there yet, in a folder that is', async () => {
    await mkdir(inside('disk'));
    await symlink(inside('disk', 'w.duckdb'), inside('w.duckdb'));
    const change = { warehouse: inside('w.duckdb') };
    expect(await found(change)).toEqual([]);
    expect((await status({ ...scenario.config, ...change })).runs).toEqual([]);
    expect(await scenario.night(NOW, change)).toMatchObject({ status: 'succeeded', failures: [] });
    expect(await readdir(inside('disk'))).toContain('w.duckdb');
  });
});

describe('a temporary folder that cannot be written', () => {
  beforeEach(() => {
    vi.stubEnv('TMPDIR', inside('no-such-folder'));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('is needed by no night and no copy, and what a killed publish left of the catalog of Delta tables goes', async () => {
    const tables = { kind: 'delta', path: inside('ta?bles'), mode: 0o644, keepMs: 0 } as const;
    const warehouse = inside('warehouse.duckdb');
    await mkdir(`${warehouse}.drafts`);
    await writeFile(`${warehouse}.drafts/catalog.duckdb`, 'half of it');
    const publish = [snapshotAt(inside('snapshot.duckdb')), tables, lakeAt(inside('lake'))];
    expect(await found({ publish })).toEqual([]);
    const { failures, published } = await scenario.night(NOW, { publish });
    expect([failures, published.length]).toEqual([[], 3]);
    expect((await readdir(tables.path)).filter((name) => name.startsWith('catalog'))).toEqual(['catalog.duckdb']);
    expect(await readdir(scenario.directory)).not.toContain('warehouse.duckdb.drafts');
  });
});
