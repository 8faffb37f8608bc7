/** An archive that is damaged, half written, foreign, or on a disk that refuses: named, and nothing else suffers. */

import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import {
  archived,
  archiveOf,
  DAY_MS,
  entriesOf,
  loadedState,
  loseWarehouse,
  replayInto,
} from '../support/archive-scene.ts';
import { column, lastRun } from '../support/contents.ts';
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
  scenario = await openScenario([daily], {
    simulator: { world: { ...smallWorld, apps: 1, rowsPerDay: 12 } },
  });
});

async function changeByte(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** Days of the table, in order. */
const days = (): Promise<string[]> =>
  column(scenario, 'select distinct day from daily order by day');

/** Two nights: the first asked for 29, 30 and 31 May, the second for 30 May to 1 June. */
async function archiveTwoNights(): Promise<{ readonly older: string; readonly newer: string }> {
  await scenario.night(FIRST, archived);
  await scenario.night(SECOND, archived);
  const [older = '', newer = ''] = await entriesOf(scenario, 'daily');
  expect(basename(newer)).toContain('2026-05-30_2026-06-01');
  return { older, newer };
}

describe('a replay', () => {
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
    expect(await column(scenario, 'select distinct fetched_at from ripen.periods')).toEqual([
      '2026-06-01 02:30:00',
    ]);

    const held = await loadedState(scenario, ['daily']);
    expect((await replayInto(scenario)).failures).toMatchObject([
      { message: textWith('did not match its checksum') },
    ]);
    expect(await loadedState(scenario, ['daily'])).toEqual(held);
  });

  test('names an answer that was recorded as fetched in the future, and loads the one before it', async () => {
    await archiveTwoNights();
    await loseWarehouse(scenario);
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(FIRST.getTime() + DAY_MS / 2) });
    onTestFinished(() => void vi.useRealTimers());
    const summary = await replayInto(scenario);

    const message = textWith('recorded as fetched later than this machine');
    expect(summary.failures).toMatchObject([{ code: 'DATA_MALFORMED', slice: 'daily', message }]);
    expect(await days()).toEqual(['2026-05-29', '2026-05-30', '2026-05-31']);
  });

  test('names a foreign file and the answer of another slice, and loads the rest', async () => {
    const { older, newer } = await archiveTwoNights();
    const folder = dirname(newer);
    await writeFile(join(folder, 'notes.txt'), 'not ours');
    await mkdir(join(archiveOf(scenario), 'other'));
    const misplaced = join(archiveOf(scenario), 'other', basename(older));
    await rename(older, misplaced);
    await loseWarehouse(scenario);
    const summary = await replayInto(scenario, {
      slices: [daily, slice({ ...daily, name: 'other' })],
    });

    expect(summary.failures.map(({ slice: name, message }) => [name, message])).toEqual([
      [
        'daily',
        textWith('notes.txt in the archive was skipped: it is not an entry of the archive'),
      ],
      ['other', textWith('it was an answer for slice daily')],
    ]);
    expect(await readFile(join(folder, 'notes.txt'), 'utf8')).toBe('not ours');
    expect(await days()).toEqual(['2026-05-30', '2026-05-31', '2026-06-01']);
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
      { code: 'STORAGE_FAILED', slice: 'daily', message: textWith('is a symbolic link') },
    ]);
    expect(await column(scenario, 'select count(distinct day) from other')).toEqual(['3']);
    expect(await readdir(outside)).toEqual(before);
  });
});

describe('a sync', () => {
  test('whose archive cannot be written loads everything, and warns', async () => {
    await writeFile(archiveOf(scenario), 'a file where the archive should be');
    const summary = await scenario.night(FIRST, archived);

    expect(summary).toMatchObject({
      status: 'succeeded',
      failures: [],
      slices: [{ windows: { loaded: 1 } }],
    });
    expect(await column(scenario, 'select distinct code from ripen.warnings')).toEqual([
      'ARCHIVE_FAILED',
    ]);
    expect(scenario.events).toContainEqual({
      type: 'warning',
      code: 'ARCHIVE_FAILED',
      slice: 'daily',
      window: '2026-05-29:2026-05-31',
      message: textWith('The answer was loaded, but not archived: The archive at '),
    });
    expect(await days()).toEqual(['2026-05-29', '2026-05-30', '2026-05-31']);
  });

  test('removes what a killed run left and what was requested 31 days ago, not 29 days ago, and no file that is not its own', async () => {
    const { older, newer } = await archiveTwoNights();
    await scenario.night(SECOND, archived, {
      command: 'backfill',
      forced: { start: day('2026-05-31'), end: day('2026-06-01') },
    });
    const [, , killed = ''] = await entriesOf(scenario, 'daily');
    const folder = dirname(killed);
    await rm(join(killed, 'window.json'));
    await writeFile(join(folder, 'notes.txt'), 'not ours');
    const renamed = async (entry: string, daysAgo: number): Promise<string> => {
      const stamp = new Date(Date.now() - daysAgo * DAY_MS).toISOString().replaceAll(/[-:.]/g, '');
      const name = `${stamp}${basename(entry).slice(stamp.length)}`;
      await rename(entry, join(folder, name));
      return name;
    };
    const gone = [await renamed(older, 31), basename(killed)];
    const kept = await renamed(newer, 29);
    await scenario.night(new Date(), archived, { asOf: null });

    const left = await readdir(folder);
    expect([...gone, kept, 'notes.txt'].filter((name) => left.includes(name))).toEqual([
      kept,
      'notes.txt',
    ]);
  });
});
