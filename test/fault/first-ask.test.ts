/** A slice nothing is known of is requested in small windows, newest first, on every line at once. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { rowsOf } from '../support/simulator/mutations.ts';
import { column, storedAndTrue } from '../support/contents.ts';
import { askedReports, daysOf, reports, runNight, smallWorld } from '../support/night.ts';
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

const DAY_BYTES = 4_900_000;

/** So many bytes for each day of every report, and a key that nobody asked for, so that SQL has to read it; the bytes of each answer. */
function fatten(): number[] {
  const served: number[] = [];
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: {
      kind: 'report',
      mutate: (document) => {
        const rows = rowsOf(document).map((row) => Object.assign({ more: '1' }, row));
        const bytes = new Set(rows.map((row) => Object.assign({ day: '' }, row).day)).size * DAY_BYTES;
        served.push(bytes);
        return { ...document, rows, debug: 'x'.repeat(bytes) };
      },
    },
  });
  return served;
}

/** Calls one after the other, so that each is asked for by what the ones before it brought. */
const service = { maxConcurrency: 1 };

const sizesAsked = (): number[] => askedReports(scenario).map(({ period }) => daysOf(period));

test('24 days of 4.9 MB that were never loaded are downloaded once, in windows of 7 days', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld }, service });
  const served = fatten();
  const summary = await runNight(scenario, NOW, { service });

  expect(summary.failures).toEqual([]);
  expect(sizesAsked()).toEqual([7, 7, 7, 3]);
  expect(served.reduce((sum, bytes) => sum + bytes, 0)).toBe(24 * DAY_BYTES);
  expect(summary.slices[0]).toMatchObject({ requests: 4, windows: { planned: 4, loaded: 4, failed: 0 } });
  const { stored, truth } = await storedAndTrue(scenario, daily, '2026-05-08:2026-05-31', NOW);
  expect(truth.length).toBeGreaterThan(24 * 20);
  expect(stored).toEqual(truth);
});

test('365 days of few rows, requested one after the other, take 5 requests: the first answer says how many days fit one', async () => {
  scenario = await openScenario([since('2025-06-01')], { simulator: { world: smallWorld }, service });
  const summary = await runNight(scenario, NOW, { service });

  expect(summary.slices[0]).toMatchObject({ requests: 5, windows: { planned: 5, loaded: 5, failed: 0 } });
  expect(sizesAsked()).toEqual([7, 92, 92, 92, 82]);
  expect(await column(scenario, 'select count(distinct day) from daily')).toEqual(['365']);
});

test('365 days that were never loaded are on all 50 lines at once, the newest first, before any answer came', async () => {
  scenario = await openScenario([since('2025-06-01')], { simulator: { world: smallWorld } });
  const summary = await runNight(scenario, NOW);

  expect(summary.failures).toEqual([]);
  const first = scenario.events.findIndex(({ type }) => type === 'window_fetched');
  const before = scenario.events
    .slice(0, first)
    .flatMap((event) => (event.type === 'window_asked' ? [event.window] : []));
  expect(before.length).toBe(50);
  expect(new Set(before.map(daysOf))).toEqual(new Set([7]));
  expect(before).toEqual(before.toSorted().toReversed());
  expect(await column(scenario, 'select count(distinct day) from daily')).toEqual(['365']);
});
