/** Replays of answers that share one as-of instant: which of them a period is loaded from, killed or not, and what is told of it. */

import { beforeEach, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { archived, DAY_MS, replayInto } from '../support/archive-scene.ts';
import { column, contentOf } from '../support/contents.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const STATED = new Date('2026-06-10T02:30:00Z');
const simulator = { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 8 } } as const;
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'clicks', 'all_revenue_total_d7'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
});
beforeEach(async () => {
  scenario = await openScenario([daily], { simulator });
});

/** Asks for days up to 30 May again, so many days later, as of the one instant. */
async function ask(first: string, daysLater: number, change: Parameters<Scenario['night']>[1] = {}): Promise<void> {
  const forced = { start: day(first), end: day('2026-05-31') };
  const at = new Date(Date.parse('2026-06-01T02:30:00Z') + daysLater * DAY_MS);
  const request = { asOf: STATED, forced, command: 'backfill' } as const;
  expect((await scenario.night(at, { ...archived, ...change }, request)).failures).toEqual([]);
}

/** Three answers, each with values of its own: for 28 to 30 May, then for the 29th and 30th, then for the 30th. */
async function askThrice(): Promise<void> {
  for (const [at, first] of ['2026-05-28', '2026-05-29', '2026-05-30'].entries()) await ask(first, at * 3);
}

const values = (): Promise<string[]> => contentOf(scenario, '(select * exclude ("_load_id") from daily)');
const restatements = (): Promise<string[]> =>
  contentOf(scenario, '(select * exclude ("load_id") from ripen.restatements)');

test('into the warehouse they came from, no value goes back to that of an older answer, and nothing is restated', async () => {
  await askThrice();
  const [before, moved] = [await values(), await restatements()];
  expect(moved.length).toBeGreaterThan(0);
  const summary = await replayInto(scenario);

  expect(summary).toMatchObject({
    failures: [],
    slices: [{ windows: { planned: 3, loaded: 3 }, restated_periods: 0 }],
  });
  expect(await values()).toEqual(before);
  expect(await restatements()).toEqual(moved);
  expect(await column(scenario, "select code from ripen.warnings where code like 'REPLAY%'")).toEqual([]);
});
