/** What `ripen drop` takes out of the archive: no replay brings it back, and what stays is replayed as it was. */

import { basename } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import { drop, type Loss } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { archived, entriesOf, loadedState, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column } from '../support/contents.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

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
