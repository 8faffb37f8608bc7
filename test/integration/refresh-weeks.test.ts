/** Weeks that begin on Sunday: learned from the service's labels, then asked for whole. */

import { afterEach, expect, test } from 'vitest';

import { column, storedAndTrue } from '../support/contents.ts';
import { askedReports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

afterEach(() => scenario.close());

const NOW = new Date('2026-06-03T02:30:00Z');
const NEXT = new Date('2026-06-04T02:30:00Z');
const world = { ...smallWorld, weekStartsOn: 0 } as const;

const weekly = slice({
  name: 'weekly',
  dimensions: ['week', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { daysAgo: 150 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
/** A Wednesday to a Tuesday: neither end is a week's. */
const DAYS = '2026-01-04:2026-06-02';

test('5 windows of Monday weeks asked of a service with Sunday weeks end up equal to the truth, with 1 warning', async () => {
  scenario = await openScenario([weekly], { simulator: { world } });
  const summary = await runNight(scenario, NOW);

  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  const { stored, truth } = await storedAndTrue(scenario, weekly, DAYS, NOW);
  expect(stored).toEqual(truth);
  expect(await column(scenario, 'select distinct dayofweek(start_day) from ripen.periods')).toEqual(['0']);
  expect(
    await column(scenario, 'select count(distinct week) = (select count(*) from ripen.periods) from weekly'),
  ).toEqual(['true']);
  expect(await column(scenario, 'select distinct code from ripen.warnings')).toEqual(['WEEK_START']);
});

test('the next night knows the week start: it asks for Sunday to yesterday, and nothing twice', async () => {
  scenario = await openScenario([weekly], { simulator: { world } });
  await runNight(scenario, NOW);
  scenario.simulator.asked.reset();
  await runNight(scenario, NEXT);

  const asked = askedReports(scenario).map(({ period }) => period);
  expect(asked.at(-1)).toMatch(/:2026-06-03$/);
  expect(asked.filter((period) => new Date(`${period.slice(0, 10)}T00:00:00Z`).getUTCDay() !== 0)).toEqual([]);
  expect(new Set(asked).size).toBe(asked.length);
  const { stored, truth } = await storedAndTrue(scenario, weekly, '2026-01-04:2026-06-03', NEXT);
  expect(stored).toEqual(truth);
});

test('a changed filter on a slice with Sunday weeks is built with Sunday weeks from its first request', async () => {
  const short = { ...weekly, datePeriod: { first: { daysAgo: 30 }, last: { daysAgo: 1 } } };
  scenario = await openScenario([short], { simulator: { world } });
  await runNight(scenario, NOW);
  const narrow = { ...short, parameters: { ...short.parameters, os_name__in: 'ios' } };
  const summary = await runNight(scenario, NOW, { slices: [narrow] });
  expect(summary.failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, narrow, '2026-05-04:2026-06-02', NOW);
  expect(stored).toEqual(truth);
  expect(await column(scenario, 'select count(*) from ripen.warnings')).toEqual(['1']);
});
