import { expect, test } from 'vitest';

import { utcOffset } from '../../src/model/calendar.ts';
import { dimensionFilters, metricFilters } from '../../src/model/dimension.ts';
import type { Slice } from '../../src/model/slice.ts';
import { createWorld } from '../support/simulator/world.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { storedRows, truthRows } from '../support/truth.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');

async function expectExact(slices: readonly Slice[], days: string, world = {}): Promise<void> {
  scenario = await openScenario(slices, { simulator: { world } });
  const summary = await scenario.night(NOW);
  expect(summary.failures).toEqual([]);
  await scenario.inWarehouse(async (warehouse) => {
    for (const each of slices) {
      const stored = await storedRows(warehouse, each);
      const truth = await truthRows(warehouse, scenario.simulator.world, each, days, NOW);
      expect(stored.length, `${each.name} has rows`).toBeGreaterThan(0);
      expect(stored, each.name).toEqual(truth);
    }
  });
}

const period = { first: { daysAgo: 40 }, last: { daysAgo: 1 } };
const DAYS = '2026-04-22:2026-05-31';
const metrics = [
  'installs',
  'clicks',
  'cost',
  'network_cost',
  'ecpi',
  'ctr',
  'revenue',
  'all_revenue_total_d7',
  'cohort_size_d7',
  'roas_d7',
  'daus',
  'network_installs_diff',
];

test('every grain, hour to year and none, is stored value by value as the service said it', async () => {
  const grains = ['hour', 'day', 'week', 'month', 'quarter', 'year'];
  const slices = grains.map((grain) =>
    slice({ name: `by_${grain}`, dimensions: [grain, 'app_token', 'os_name'], metrics, datePeriod: period }),
  );
  const whole = slice({
    name: 'by_nothing',
    dimensions: ['app_token', 'network', 'country_code'],
    metrics,
    datePeriod: period,
  });
  await expectExact([...slices, whole], DAYS);
});

test.each(['+05:30', '-04:00'])(
  'an hourly and a daily slice in %s keep each hour and day of that offset',
  async (text) => {
    const days = { first: { daysAgo: 40 }, last: { daysAgo: 2 } };
    const slices = ['hour', 'day'].map((grain) =>
      slice({
        name: `by_${grain}`,
        dimensions: [grain, 'app_token'],
        metrics,
        utcOffset: utcOffset(text),
        datePeriod: days,
      }),
    );
    await expectExact(slices, text === '-04:00' ? '2026-04-21:2026-05-29' : '2026-04-22:2026-05-30');
  },
);

test('every text dimension with its hostile names comes back byte for byte', async () => {
  const names = [
    'os_name',
    'device_type',
    'app',
    'app_token',
    'store_id',
    'store_type',
    'network',
    'campaign',
    'campaign_network',
    'campaign_id_network',
    'adgroup',
    'adgroup_network',
    'adgroup_id_network',
    'source_network',
    'source_id_network',
    'creative',
    'creative_network',
    'creative_id_network',
    'country',
    'country_code',
    'region',
    'partner_name',
    'partner_id',
    'partner',
    'channel',
    'platform',
    'currency',
    'currency_code',
  ];
  const all = slice({
    name: 'wide',
    dimensions: ['day', ...names],
    metrics: ['installs', 'cost'],
    datePeriod: { first: { daysAgo: 3 }, last: { daysAgo: 1 } },
  });
  await expectExact([all], '2026-05-29:2026-05-31');
});

const filterTexts: Readonly<Record<(typeof dimensionFilters)[number], string>> = {
  in: 'ios,android',
  not_in: 'ios',
  contains: 'dr',
  exclude: 'dr',
  starts_with: 'AND',
  not_starts_with: 'and',
  ends_with: 'OS',
  not_ends_with: 'os',
};

test('all 8 dimension filters and all 6 metric filters reach the service and come back as it answered', async () => {
  const metricThreshold = await someInstalls();
  const filtered = (name: string, parameters: Record<string, string>): Slice =>
    slice({
      name,
      dimensions: ['day', 'os_name', 'country_code'],
      metrics: ['installs', 'cost'],
      datePeriod: period,
      parameters,
    });
  await expectExact(
    [
      ...dimensionFilters.map((suffix) => filtered(`d_${suffix}`, { [`os_name__${suffix}`]: filterTexts[suffix] })),
      ...metricFilters.map((suffix) => filtered(`m_${suffix}`, { [`installs__${suffix}`]: metricThreshold })),
    ],
    DAYS,
  );
});

/** A number of installs that some row has, some have more and some less. */
async function someInstalls(): Promise<string> {
  const world = createWorld();
  const query = new URLSearchParams({
    dimensions: 'day,os_name,country_code',
    metrics: 'installs',
    date_period: DAYS,
    attribution_type: 'all',
    format_dates: 'false',
  });
  const counts = (world.report(query, NOW)?.rows ?? []).map((row) => Number(row['installs'])).sort((a, b) => a - b);
  return String(counts[Math.floor(counts.length / 2)]);
}
