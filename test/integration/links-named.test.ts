import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import type { WorldLink } from '../../src/simulator/world/entities.ts';
import { readStatus } from '../../src/report/status/status.ts';
import { statusText } from '../../src/report/terminal/status-text.ts';
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

/** A link that rows name from the third night on, and not in the second. */
function newcomer({ simulator: { world } }: Scenario): WorldLink {
  const pathsIn = (of: number): readonly string[] => {
    const day = `2026-06-0${of - 1}`;
    const requested = {
      dimensions: ['app_token', ...labels].join(','),
      metrics: 'installs',
      date_period: `${day}:${day}`,
    };
    const report = world.report(
      new URLSearchParams({ ...requested, attribution_type: 'all' }),
      night(of),
    );
    return z
      .array(z.record(z.string(), z.unknown()))
      .parse(report?.rows)
      .map((row) => JSON.stringify([row['app_token'], ...labels.map((label) => row[label])]));
  };
  const known = new Set(pathsIn(2));
  const fresh = new Set(pathsIn(3).filter((path) => !known.has(path)));
  const paths = new Map<string, readonly string[]>();
  for (const link of world.links) {
    const above = link.parentToken === null ? [link.appToken] : (paths.get(link.parentToken) ?? []);
    paths.set(link.token, [...above, link.label]);
    if (fresh.has(JSON.stringify(paths.get(link.token)))) return link;
  }
  throw new RangeError('No link has its first row in the third night.');
}

test('under every: 7d an app is crawled the night its rows name a new link, no other app with it, and none where nothing new is named', async () => {
  const { simulator, config } = scenario;
  const crawledApps = async (day: number): Promise<readonly string[]> => {
    simulator.requested.reset();
    const summary = await scenario.night(night(day), weekly);
    expect(summary.failures).toEqual([]);
    const found = await query(
      scenario,
      `select app_token from ripen.link_crawls where run_id = '${summary.run_id}'`,
    );
    expect(found.length === 0).toBe(simulator.requested.counts.links === 0);
    return found.map((row) => String(row['app_token'])).toSorted();
  };
  const link = newcomer(scenario);
  simulator.links.remove(link.token);
  expect(await crawledApps(2)).toEqual(simulator.world.apps.map(({ token }) => token).toSorted());
  const { appToken, parentToken, label } = link;
  const { token } = simulator.links.add(appToken, parentToken, { name: label });
  expect(await crawledApps(3)).toEqual([appToken]);
  const matched = await query(
    scenario,
    `select distinct day from daily_links where link_token = '${token}'`,
  );
  expect(matched).toHaveLength(1);
  expect(await crawledApps(4)).toEqual([]);

  const report = await scenario.inWarehouse(async (warehouse) =>
    readStatus({ ...config, ...weekly }, warehouse, night(4)),
  );
  expect(report.crawls.map(({ crawled_at: at }) => at.slice(0, 10))).toEqual([
    '2026-06-02',
    '2026-06-02',
    '2026-06-03',
  ]);
  expect(
    statusText(report, null, { details: false, maturation: false, backtest: false }),
  ).toContain('links of 3 apps last crawled 2026-06-03 02:30 UTC, the first (');
});
