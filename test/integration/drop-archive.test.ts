/** What `ripen drop` takes out of the archive: no replay brings it back, and what stays is replayed as it was. */

import { basename } from 'node:path';

import { expect, test } from 'vitest';

import { drop } from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { archived, entriesOf, loadedState, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column } from '../support/contents.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NIGHT = new Date('2026-06-01T02:30:00Z');
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-18') }, last: { day: day('2026-05-31') } },
});
const other = slice({ ...daily, name: 'other' });

test('days before a drop come back neither into the warehouse nor into a new one, also of answers that hold later days', async () => {
  // Two answers of each slice, of 18 to 24 and 25 to 31 May, and a later one of 22 to 27 May.
  const scenario = await openScenario([daily, other], { simulator: { world: { apps: 1, links: 4, rowsPerDay: 8 } } });
  await scenario.night(NIGHT, archived);
  const forced = { start: day('2026-05-22'), end: day('2026-05-28') };
  await scenario.night(NIGHT, archived, { command: 'backfill', forced, asOf: null, slices: ['daily'] });

  const options = { slice: 'daily', before: day('2026-05-25'), agree: true } as const;
  const { dropped } = await drop({ ...scenario.config, ...archived }, options);
  expect(dropped).toMatchObject({ periods: 7, answers: 2 });
  expect((await entriesOf(scenario, 'daily')).map((path) => basename(path).split('.').at(-2))).toEqual([
    '2026-05-25_2026-05-31',
    '2026-05-22_2026-05-27',
  ]);
  const before = await loadedState(scenario, ['daily', 'other']);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await loadedState(scenario, ['daily', 'other'])).toEqual(before);

  await loseWarehouse(scenario);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await column(scenario, 'select count(distinct day) from daily')).toEqual(['7']);
  expect(await loadedState(scenario, ['daily', 'other'])).toEqual(before);
});
