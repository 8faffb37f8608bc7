/** What `ripen drop` takes out of the archive: no replay brings it back, and what stays is replayed as it was. */

import { readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { drop as dropCommand } from '../../src/commands/drop.ts';
import { drop, type Loss } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { archived, archiveOf, entriesOf, loadedState, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column } from '../support/contents.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { recordedShell } from '../unit/cli-recorded-shell.ts';

const NIGHT = new Date('2026-06-01T02:30:00Z');
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-18') }, last: { day: day('2026-05-31') } },
});
const other = slice({ ...daily, name: 'other' });
const BEFORE = day('2026-05-25');

let scenario: Scenario;

/** Two answers of each slice, of 18 to 24 and 25 to 31 May, and a later one of 22 to 27 May. */
beforeEach(async () => {
  scenario = await openScenario([daily, other], { simulator: { world: { apps: 1, links: 4, rowsPerDay: 8 } } });
  await scenario.night(NIGHT, archived);
  await backfill('2026-05-22', '2026-05-28');
});

afterEach(() => scenario.close());

async function backfill(start: string, end: string): Promise<void> {
  const forced = { start: day(start), end: day(end) };
  const request = { command: 'backfill', forced, asOf: null, slices: ['daily'] } as const;
  await scenario.night(NIGHT, archived, request);
}

/** Drops, and returns what was agreed to. */
async function dropped(before: Loss['before']): Promise<Loss | undefined> {
  const told: Loss[] = [];
  await drop(
    { ...scenario.config, ...archived },
    { slice: 'daily', before, agree: async (loss) => Promise.resolve(told.push(loss) > 0) },
  );
  return told[0];
}

const daysOf = (name: string): Promise<string[]> =>
  column(scenario, `select distinct day from ${name} order by all`).catch(() => []);
const lateDays = Array.from({ length: 7 }, (_, at) => `2026-05-${25 + at}`);

test('days before a drop come back neither into the warehouse nor into a new one, also of answers that hold later days', async () => {
  expect(await dropped(BEFORE)).toMatchObject({ periods: 7, answers: 2 });
  expect((await entriesOf(scenario, 'daily')).map((path) => basename(path).split('.').at(-2))).toEqual([
    '2026-05-25_2026-05-31',
    '2026-05-22_2026-05-27',
  ]);
  const before = await loadedState(scenario, ['daily', 'other']);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await loadedState(scenario, ['daily', 'other'])).toEqual(before);

  await loseWarehouse(scenario);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await daysOf('daily')).toEqual(lateDays);
  expect(await loadedState(scenario, ['daily', 'other'])).toEqual(before);
});

test('a day that was dropped and then asked for again is archived anew, and a drop of the day before it leaves it', async () => {
  await dropped(BEFORE);
  await backfill('2026-05-22', '2026-05-24');
  expect(await dropped(day('2026-05-23'))).toMatchObject({ periods: 1, answers: 1 });
  await loseWarehouse(scenario);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await daysOf('daily')).toEqual(['2026-05-23', ...lateDays]);
});

test('of a dropped slice the archive keeps nothing but what is not its own, and of another slice everything', async () => {
  await writeFile(join(archiveOf(scenario), 'daily', 'notes.txt'), 'mine');
  const held = await readdir(join(archiveOf(scenario), 'other'));
  expect(await dropped(null)).toMatchObject({ periods: 14, answers: 3 });
  expect(await readdir(join(archiveOf(scenario), 'daily'))).toEqual(['notes.txt']);
  expect(await readdir(join(archiveOf(scenario), 'other'))).toEqual(held);
  await loseWarehouse(scenario);
  await replayInto(scenario);
  expect([await daysOf('daily'), (await daysOf('other')).length]).toEqual([[], 14]);
});

test('what a crash left in the archive goes by the same command, and then there is nothing to drop', async () => {
  await loseWarehouse(scenario);
  expect(await dropped(BEFORE)).toMatchObject({ periods: 0, answers: 2 });
  await expect(dropped(BEFORE)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  expect(await dropped(null)).toMatchObject({ periods: 0, answers: 2 });
  expect(await readdir(archiveOf(scenario))).toEqual(['catalog.json', 'other']);
  await expect(dropped(null)).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});

test('the question says how many archived answers are concerned, and an answer of no leaves them', async () => {
  const held = await entriesOf(scenario, 'daily');
  const { directory, config } = scenario;
  const settings = {
    service: 'simulator',
    warehouse: config.warehouse,
    slices: [
      { name: 'daily', dimensions: daily.dimensions, metrics: daily.metrics, date_period: '2026-05-18:2026-05-31' },
    ],
  };
  await writeFile(join(directory, 'ripen.yaml'), JSON.stringify(settings));
  const shell = recordedShell({ directory, answer: 'n' });
  const usual = { config: undefined, asOf: undefined, log: 'text', quiet: true, json: false, lockWait: '5s' } as const;
  expect(await dropCommand({ ...usual, slice: 'daily', before: BEFORE, yes: false }, shell)).toBe(0);
  expect(shell.told.join()).toContain('It goes from 2 archived answers, too.');
  expect(await entriesOf(scenario, 'daily')).toEqual(held);
});
