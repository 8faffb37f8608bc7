/** An archive that is damaged, half written, foreign, or on a disk that refuses: named, and nothing else suffers. */

import files, { cp, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { readArchive } from '../../src/archive/archive.ts';
import { newestWhole } from '../../src/archive/newest.ts';
import { warehouseExists } from '../../src/warehouse/opening.ts';
import { archived, archiveOf, entriesOf, loadedState, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column, lastRun } from '../support/contents.ts';
import { hold } from '../support/holder.ts';
import { textWith } from '../support/matching.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { daysAgo: 3 }, last: { daysAgo: 1 } },
  refresh: [1, 2, 3],
});

let scenario: Scenario;

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: { ...smallWorld, apps: 1, rowsPerDay: 12 } } });
});

async function changeByte(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** Reading a file fails with the error until it is put back. */
function refusing(path: string, error: Error): () => void {
  const { readFile: original } = files;
  const replaced = async (...given: unknown[]): Promise<unknown> =>
    given[0] === path ? Promise.reject(error) : Reflect.apply(original, files, given);
  Object.assign(files, { readFile: replaced });
  syncBuiltinESMExports();
  return () => {
    Object.assign(files, { readFile: original });
    syncBuiltinESMExports();
  };
}

/** Every change below a folder fails as on a read-only file system until it is put back. */
function unwritable(folder: string): { readonly refused: () => string[]; readonly restore: () => void } {
  const refused: string[] = [];
  const changing = ['mkdir', 'rename', 'rm', 'rmdir', 'writeFile', 'unlink', 'chmod'] as const;
  const originals = Object.fromEntries(changing.map((method) => [method, files[method]]));
  const replaced = changing.map((method) => {
    const original = files[method];
    const refusing = async (...given: unknown[]): Promise<unknown> => {
      if (!String(given[0]).startsWith(folder)) return Reflect.apply(original, files, given);
      refused.push(method);
      throw Object.assign(new Error(`EROFS: read-only file system, ${method}`), { code: 'EROFS', syscall: method });
    };
    return [method, refusing];
  });
  Object.assign(files, Object.fromEntries(replaced));
  syncBuiltinESMExports();
  return {
    refused: () => refused,
    restore: () => {
      Object.assign(files, originals);
      syncBuiltinESMExports();
    },
  };
}

/** Days of the table, in order. */
const days = (): Promise<string[]> => column(scenario, 'select distinct day from daily order by day');

/** Two nights: the first asked for 29, 30 and 31 May, the second for 30 May to 1 June. */
async function archiveTwoNights(): Promise<{ readonly older: string; readonly newer: string }> {
  await scenario.night(FIRST, archived);
  await scenario.night(SECOND, archived);
  const [older = '', newer = ''] = await entriesOf(scenario, 'daily');
  expect(basename(newer)).toContain('2026-05-30_2026-06-01');
  return { older, newer };
}

/** What is done to an entry, and why it is not loaded then. */
const damages: readonly {
  readonly name: string;
  readonly damage: (entry: string) => Promise<void>;
  readonly because: string;
}[] = [
  {
    name: 'one changed bit in the middle of a body',
    damage: (entry) => changeByte(join(entry, 'part-1.json.gz'), 60),
    because: 'its part-1.json.gz did not match its checksum',
  },
  {
    name: 'a body cut to 40 bytes',
    damage: (entry) => truncate(join(entry, 'part-1.json.gz'), 40),
    because: 'its part-1.json.gz had 40 bytes, not ',
  },
  {
    name: 'a body that is gone',
    damage: (entry) => rm(join(entry, 'part-1.json.gz')),
    because: 'its part-1.json.gz was missing',
  },
  {
    name: 'a body that is a link to the one that was there',
    damage: async (entry) => {
      await rename(join(entry, 'part-1.json.gz'), join(scenario.directory, 'elsewhere'));
      await symlink(join(scenario.directory, 'elsewhere'), join(entry, 'part-1.json.gz'));
    },
    because: 'its part-1.json.gz was missing',
  },
  {
    name: 'a body of no bytes',
    damage: (entry) => truncate(join(entry, 'part-1.json.gz'), 0),
    because: 'its part-1.json.gz had 0 bytes, not ',
  },
  {
    name: 'a sidecar that is gone',
    damage: (entry) => rm(join(entry, 'window.json')),
    because: 'its window.json was missing',
  },
  {
    name: 'a sidecar of no bytes',
    damage: (entry) => truncate(join(entry, 'window.json'), 0),
    because: "its window.json was not of the archive's form",
  },
  {
    name: 'one changed bit in a sidecar',
    damage: (entry) => changeByte(join(entry, 'window.json'), 300),
    because: 'window.json',
  },
  {
    name: 'a sidecar cut in half',
    damage: (entry) => truncate(join(entry, 'window.json'), 400),
    because: 'window.json',
  },
];

describe('a replay', () => {
  test('of entries damaged in 9 ways names each with its cause, and takes the answer before it', async () => {
    const { older, newer } = await archiveTwoNights();
    const archive = archiveOf(scenario);
    const whole = join(scenario.directory, 'whole');
    await cp(archive, whole, { recursive: true });
    for (const { name, damage, because } of damages) {
      await damage(newer);
      const { windows, damages: unread } = await readArchive(scenario.config.warehouse, 'daily');
      const newest = await newestWhole(windows, daily, null);
      const found = [...unread, ...newest.damages];
      expect(found, name).toMatchObject([{ path: newer, because: textWith(because) }]);
      expect(
        newest.windows.map(({ path }) => path),
        name,
      ).toEqual([older]);
      await rm(archive, { recursive: true });
      await cp(whole, archive, { recursive: true });
    }
  });

  test('names a body with a changed bit, loads the answer before it, and exits with 65, as does the next one', async () => {
    const { newer } = await archiveTwoNights();
    await changeByte(join(newer, 'part-1.json.gz'), 60);
    await loseWarehouse(scenario);
    const summary = await replayInto(scenario);

    expect(summary).toMatchObject({ status: 'partial', slices: [{ windows: { loaded: 1 } }] });
    expect(summary.failures).toMatchObject([
      { code: 'DATA_MALFORMED', slice: 'daily', message: textWith(basename(newer)) },
    ]);
    expect(await lastRun(scenario)).toEqual({ status: 'partial', exit_code: 65 });
    expect(await days()).toEqual(['2026-05-29', '2026-05-30', '2026-05-31']);
    expect(await column(scenario, 'select distinct fetched_at from ripen.periods')).toEqual(['2026-06-01 02:30:00']);

    const held = await loadedState(scenario, ['daily']);
    expect((await replayInto(scenario)).failures).toMatchObject([{ message: textWith('did not match its checksum') }]);
    expect(await loadedState(scenario, ['daily'])).toEqual(held);
  });

  test('names a foreign file and the answer of another slice, and loads the rest', async () => {
    const { older, newer } = await archiveTwoNights();
    const folder = dirname(newer);
    await writeFile(join(folder, 'notes.txt'), 'not ours');
    await mkdir(join(archiveOf(scenario), 'other'));
    const misplaced = join(archiveOf(scenario), 'other', basename(older));
    await rename(older, misplaced);
    await loseWarehouse(scenario);
    const summary = await replayInto(scenario, { slices: [daily, slice({ ...daily, name: 'other' })] });

    expect(summary.failures.map(({ slice: name, message }) => [name, message])).toEqual([
      ['daily', textWith('notes.txt in the archive was skipped: it was no entry of the archive')],
      ['other', textWith('it was an answer for slice daily')],
    ]);
    expect(await readFile(join(folder, 'notes.txt'), 'utf8')).toBe('not ours');
    expect(await days()).toEqual(['2026-05-30', '2026-05-31', '2026-06-01']);
  });

  test('ignores an entry that never took its name, which a killed run left', async () => {
    const { newer } = await archiveTwoNights();
    await rename(newer, `${newer}.part`);
    await loseWarehouse(scenario);

    expect(await replayInto(scenario)).toMatchObject({ status: 'succeeded', failures: [] });
    expect(await days()).toEqual(['2026-05-29', '2026-05-30', '2026-05-31']);
    expect(await column(scenario, 'select code from ripen.warnings')).toEqual([]);
  });

  test('names an entry that the disk does not give, and loads the others', async () => {
    const { older, newer } = await archiveTwoNights();
    await loseWarehouse(scenario);
    const unread = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
    const restore = refusing(join(newer, 'window.json'), unread);
    const summary = await replayInto(scenario).finally(restore);

    expect(summary.failures).toMatchObject([
      {
        code: 'DATA_MALFORMED',
        slice: 'daily',
        message: `${basename(newer)} in the archive was skipped: EIO: i/o error, read.`,
      },
    ]);
    expect(await days()).toEqual(['2026-05-29', '2026-05-30', '2026-05-31']);
    expect(await entriesOf(scenario, 'daily')).toEqual([older, newer]);
    expect(await replayInto(scenario)).toMatchObject({ status: 'succeeded', failures: [] });
    expect(await days()).toContain('2026-06-01');
  });

  test('loads an archive that is read-only as any other, and names what is damaged in it each time', async () => {
    const { newer } = await archiveTwoNights();
    const before = await loadedState(scenario, ['daily']);
    await loseWarehouse(scenario);
    const readOnly = unwritable(archiveOf(scenario));
    try {
      expect((await replayInto(scenario)).failures).toEqual([]);
      expect(await loadedState(scenario, ['daily'])).toEqual(before);
      await loseWarehouse(scenario);
      await truncate(join(newer, 'part-1.json.gz'), 40);
      for (let times = 0; times < 2; times += 1) {
        const { failures } = await replayInto(scenario);
        expect(failures).toMatchObject([{ code: 'DATA_MALFORMED', slice: 'daily' }]);
        expect(failures[0]?.message).toContain('its part-1.json.gz had 40 bytes, not ');
        expect(await days()).toEqual(['2026-05-29', '2026-05-30', '2026-05-31']);
      }
      expect(readOnly.refused()).toEqual([]);
    } finally {
      readOnly.restore();
    }
  });

  test("does not follow a link in the place of a slice's folder: that slice fails alone, and nothing there is touched", async () => {
    const other = slice({ ...daily, name: 'other' });
    await scenario.night(FIRST, { ...archived, slices: [daily, other] });
    const folder = join(archiveOf(scenario), 'daily');
    const outside = join(scenario.directory, 'outside');
    await rename(folder, outside);
    await symlink(outside, folder);
    const before = await readdir(outside);
    await loseWarehouse(scenario);
    const summary = await replayInto(scenario, { slices: [daily, other] });

    expect(summary.failures).toMatchObject([
      { code: 'STORAGE_FAILED', slice: 'daily', message: textWith('was a symbolic link') },
    ]);
    expect(await column(scenario, 'select count(distinct day) from other')).toEqual(['3']);
    expect(await readdir(outside)).toEqual(before);
  });

  test('of a new warehouse without a whole catalog loads nothing and leaves the copies alone', async () => {
    await archiveTwoNights();
    const lake = join(scenario.directory, 'lake');
    await mkdir(lake);
    await changeByte(join(archiveOf(scenario), 'catalog.json'), 500);
    await loseWarehouse(scenario);
    const summary = await replayInto(scenario, { publish: [{ kind: 'parquet', path: lake, mode: 0o644 }] });

    expect(summary).toMatchObject({ status: 'failed', published: [] });
    expect(summary.failures.map(({ code }) => code)).toEqual(['DATA_MALFORMED', 'STORAGE_FAILED']);
    expect(await readdir(lake)).toEqual([]);
    expect(await readdir(archiveOf(scenario))).toEqual(['catalog.json', 'daily']);
  });

  test('without an archive is refused before anything is made', async () => {
    await expect(replayInto(scenario)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      hint: textWith('Set `archive: 30d`'),
      message: textWith('did not exist'),
    });
    expect(warehouseExists(scenario.config.warehouse)).toBe(false);
  });

  test('while another process holds the warehouse, and may be writing the archive, is refused', async () => {
    const { older, newer } = await archiveTwoNights();
    await truncate(join(newer, 'part-1.json.gz'), 40);
    const holder = await hold(scenario.config.warehouse, 'READ_WRITE');
    await expect(replayInto(scenario, {}, { lockWaitMs: 0 })).rejects.toMatchObject({ code: 'WAREHOUSE_LOCKED' });
    await holder.release();
    expect(await entriesOf(scenario, 'daily')).toEqual([older, newer]);
  });

  test('that is stopped before it begins loads nothing and says it was interrupted', async () => {
    await archiveTwoNights();
    const before = await loadedState(scenario, ['daily']);
    const summary = await replayInto(scenario, {}, {}, AbortSignal.abort());
    expect(summary).toMatchObject({ status: 'interrupted', slices: [] });
    expect(await loadedState(scenario, ['daily'])).toEqual(before);
  });
});

describe('a sync', () => {
  test('whose archive cannot be written loads everything, and warns', async () => {
    await writeFile(archiveOf(scenario), 'a file where the archive should be');
    const summary = await scenario.night(FIRST, archived);

    expect(summary).toMatchObject({ status: 'succeeded', failures: [], slices: [{ windows: { loaded: 1 } }] });
    expect(await column(scenario, 'select distinct code from ripen.warnings')).toEqual(['ARCHIVE_FAILED']);
    expect(scenario.events).toContainEqual({
      type: 'warning',
      code: 'ARCHIVE_FAILED',
      slice: 'daily',
      window: '2026-05-29:2026-05-31',
      message: textWith('The answer was loaded, but not archived: The archive at '),
    });
    expect(await days()).toEqual(['2026-05-29', '2026-05-30', '2026-05-31']);
  });

  test('does not follow a link out of the archive', async () => {
    const outside = join(scenario.directory, 'outside');
    await mkdir(outside);
    await mkdir(archiveOf(scenario));
    await symlink(outside, join(archiveOf(scenario), 'daily'));
    const summary = await scenario.night(FIRST, archived);

    expect(summary.failures).toEqual([]);
    expect(await readdir(outside)).toEqual([]);
    expect(await column(scenario, 'select message from ripen.warnings')).toEqual([textWith('was a symbolic link')]);
  });

  test('removes what a killed run left, but no file that is not its own', async () => {
    const { older, newer } = await archiveTwoNights();
    const folder = dirname(newer);
    await rename(newer, `${newer}.part`);
    await writeFile(join(folder, 'notes.part'), 'not ours');
    await scenario.night(new Date(), archived, { asOf: null, slices: [] });

    expect((await readdir(folder)).sort()).toEqual([basename(older), 'notes.part']);
  });
});
