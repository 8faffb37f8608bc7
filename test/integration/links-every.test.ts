import { beforeEach, expect, test } from 'vitest';

import { readStatus } from '../../src/status/status.ts';
import { statusText } from '../../src/terminal/status-text.ts';
import { query } from '../support/contents.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const labels = ['network', 'campaign', 'adgroup', 'creative'];
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', ...labels],
  metrics: ['installs'],
  datePeriod: { first: { daysAgo: 1 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
beforeEach(async () => {
  const world = { apps: 3, partners: 5, links: 400, rowsPerDay: 100 };
  scenario = await openScenario([daily], { simulator: { world } });
});

const weekly = { links: { apps: 'all', maxLevel: 4, everyMs: 7 * 86_400_000 } } as const;
const night = (day: number): Date => new Date(`2026-06-0${day}T02:30:00Z`);

test('under every: 7d an app is crawled once in seven days, and status says when', async () => {
  const { simulator, config } = scenario;
  const crawledApps = async (day: number): Promise<readonly string[]> => {
    simulator.asked.reset();
    const summary = await scenario.night(night(day), weekly);
    expect(summary.failures).toEqual([]);
    const found = await query(scenario, `select app_token from ripen.link_crawls where run_id = '${summary.run_id}'`);
    expect(found.length === 0).toBe(simulator.asked.counts.links === 0);
    return found.map((row) => String(row['app_token'])).toSorted();
  };
  const all = simulator.world.apps.map(({ token }) => token).toSorted();
  expect(await crawledApps(2)).toEqual(all);
  expect(await crawledApps(3)).toEqual([]);
  expect(await crawledApps(8)).toEqual([]);
  expect(await crawledApps(9)).toEqual(all);

  const report = await scenario.inWarehouse(async (warehouse) =>
    readStatus({ ...config, ...weekly }, warehouse, night(9)),
  );
  expect(statusText(report, null, { details: false, maturation: false, backtest: false })).toContain(
    'links of 3 apps last crawled 2026-06-09 02:30 UTC',
  );
});
