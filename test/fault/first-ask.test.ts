/** A slice nothing is known of is requested in small windows, newest first, on every line at once. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column } from '../support/contents.ts';
import { askedReports, daysOf, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network', 'campaign', 'os_name', 'country_code'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-08') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
const since = (first: string): typeof daily => ({
  ...daily,
  dimensions: ['day', 'os_name'],
  datePeriod: { ...daily.datePeriod, first: { day: day(first) } },
});

/** Calls one after the other, so that each is asked for by what the ones before it brought. */
const service = { maxConcurrency: 1 };

const sizesAsked = (): number[] => askedReports(scenario).map(({ period }) => daysOf(period));

test('365 days of few rows, requested one after the other, take 5 requests: the first answer says how many days fit one', async () => {
  scenario = await openScenario([since('2025-06-01')], { simulator: { world: smallWorld }, service });
  const summary = await runNight(scenario, NOW, { service });

  expect(summary.slices[0]).toMatchObject({ requests: 5, windows: { planned: 5, loaded: 5, failed: 0 } });
  expect(sizesAsked()).toEqual([7, 92, 92, 92, 82]);
  expect(await column(scenario, 'select count(distinct day) from daily')).toEqual(['365']);
});
