import { expect, test } from 'vitest';

import { column } from '../support/contents.ts';
import { askedReports, daysOf } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { storedRows, truthRows } from '../support/truth.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const wide = slice({
  name: 'wide',
  dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  metrics: ['installs', 'clicks', 'cost', 'roas_d7', 'cohort_size_d7'],
  datePeriod: { first: { daysAgo: 2 }, last: { daysAgo: 1 } },
});

test('no report that was answered is asked for again while its day is divided further, and each is counted', async () => {
  scenario = await openScenario([wide]);
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/report'),
    times: Infinity,
    fault: { kind: 'too_heavy', maxRows: 15 },
  });
  const summary = await scenario.night(NOW);
  const asked = askedReports(scenario);
  const answered = asked.filter(({ status }) => status !== 504).map(({ query }) => query.toString());
  const parts = (await column(scenario, 'select requests from ripen.loads')).map(Number);
  expect(Math.min(...parts)).toBeGreaterThan(8);
  expect(answered.length).toBe(parts.reduce((sum, count) => sum + count, 0));
  expect(new Set(answered).size).toBe(answered.length);
  expect(summary.slices[0]?.requests).toBe(asked.length);
});

test("a slice's own filters on the dividing dimension keep their meaning in every part", async () => {
  const filtered = slice({
    ...wide,
    name: 'filtered',
    parameters: { country_code__in: 'DE,FR,US,JP,GB,BR', country_code__not_in: 'JP', os_name__contains: 'o' },
  });
  scenario = await openScenario([filtered]);
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/report'),
    times: Infinity,
    fault: { kind: 'too_heavy', maxRows: 15 },
  });
  const summary = await scenario.night(NOW);
  expect(summary.failures).toEqual([]);
  await scenario.inWarehouse(async (warehouse) => {
    const truth = await truthRows(warehouse, scenario.simulator.world, filtered, '2026-05-30:2026-05-31', NOW);
    expect(truth.length).toBeGreaterThan(15);
    expect(await storedRows(warehouse, filtered)).toEqual(truth);
  });
});

test('a slice that was too heavy in one bad hour requests all of its days again a week later', async () => {
  const week = slice({
    ...wide,
    name: 'week',
    datePeriod: { first: { daysAgo: 8 }, last: { daysAgo: 1 } },
    refresh: 'nightly',
  });
  scenario = await openScenario([week]);
  const isReport = { match: ({ path }: { readonly path: string }) => path.endsWith('/report') };
  const heal = scenario.simulator.script({ ...isReport, times: Infinity, fault: { kind: 'too_heavy', maxRows: 300 } });
  const longest = async (night: number): Promise<number> => {
    scenario.simulator.asked.reset();
    expect((await scenario.night(new Date(Date.UTC(2026, 5, night, 2, 30)))).failures).toEqual([]);
    return Math.max(...askedReports(scenario).map(({ period }) => daysOf(period)));
  };
  expect(await longest(1)).toBe(7);
  heal();
  expect(await longest(7)).toBeLessThan(4);
  expect(await longest(8)).toBeGreaterThan(7);
}, 60_000);
