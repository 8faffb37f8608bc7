/** `retain`: the one setting that lets go of periods. */

import { afterEach, expect, test } from 'vitest';

import { column } from '../support/contents.ts';
import { runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;
afterEach(() => scenario.close());

const world = { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 20 } };

const days = async (): Promise<unknown> => column(scenario, 'select distinct day::varchar from daily order by 1');
const periods = async (): Promise<unknown> =>
  column(scenario, "select start_day::varchar from ripen.periods where slice = 'daily' order by 1");

test('only periods before the first day that is kept leave the table and the ledger, and are not asked for again', async () => {
  const daily = slice({
    name: 'daily',
    dimensions: ['day', 'network'],
    metrics: ['installs'],
    datePeriod: { first: { daysAgo: 4 }, last: { daysAgo: 1 } },
  });
  scenario = await openScenario([daily], { simulator: world });
  await runNight(scenario, new Date('2026-06-05T02:30:00Z'));
  expect(await days()).toEqual(['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04']);

  const slices = [{ ...daily, retainDays: 3 }];
  const summary = await runNight(scenario, new Date('2026-06-06T02:30:00Z'), { slices });
  expect(summary.failures).toEqual([]);
  expect(await days()).toEqual(['2026-06-03', '2026-06-04', '2026-06-05']);
  expect(await periods()).toEqual(await days());
  expect(scenario.events).toContainEqual(
    expect.objectContaining({ type: 'periods_let_go', slice: 'daily', periods: 2, before: '2026-06-03' }),
  );

  const again = await runNight(scenario, new Date('2026-06-06T02:30:00Z'), { slices });
  expect(again.failures).toEqual([]);
  expect(await periods()).toEqual(await days());
});
