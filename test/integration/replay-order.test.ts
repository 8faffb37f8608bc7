/** Replays of answers that share one as-of instant: which of them a period is loaded from, killed or not, and what is told of it. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { archived, DAY_MS, replayInto } from '../support/archive-scene.ts';
import { column, contentOf } from '../support/contents.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const STATED = new Date('2026-06-10T02:30:00Z');
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'clicks', 'all_revenue_total_d7'],
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
});

test('into the warehouse they came from, no value goes back to that of an older answer, and nothing is restated', async () => {
  const scenario = await openScenario([daily], {
    simulator: { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 8 } },
  });
  const values = (): Promise<string[]> => contentOf(scenario, '(select * exclude ("_load_id") from daily)');
  const restatements = (): Promise<string[]> =>
    contentOf(scenario, '(select * exclude ("load_id") from ripen.restatements)');
  // Three answers as of one instant, each with values of its own: for 28 to 30 May, then for the 29th and 30th, then for the 30th.
  for (const [at, first] of ['2026-05-28', '2026-05-29', '2026-05-30'].entries()) {
    const forced = { start: day(first), end: day('2026-05-31') };
    const asked = new Date(Date.parse('2026-06-01T02:30:00Z') + at * 3 * DAY_MS);
    const request = { asOf: STATED, forced, command: 'backfill' } as const;
    expect((await scenario.night(asked, archived, request)).failures).toEqual([]);
  }
  const [before, moved] = [await values(), await restatements()];
  expect(moved.length).toBeGreaterThan(0);
  const summary = await replayInto(scenario);

  const slices = [{ windows: { planned: 3, loaded: 3 }, restated_periods: 0 }];
  expect(summary).toMatchObject({ failures: [], slices });
  expect(await values()).toEqual(before);
  expect(await restatements()).toEqual(moved);
  expect(await column(scenario, "select code from ripen.warnings where code like 'REPLAY%'")).toEqual([]);
});
