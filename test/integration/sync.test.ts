import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import * as z from 'zod';

import { column } from '../support/contents.ts';
import { limitToWeeks } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const daily = slice({
  name: 'network_daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics: ['installs', 'clicks', 'cost', 'ecpi', 'all_revenue_total_d7'],
});

test('on the second of two nights 11 of 31 days are due, 1 new, 7 maturing, 3 that became final; one request asks for them and the 4 between', async () => {
  scenario = await openScenario([daily]);
  const first = await scenario.night(new Date('2026-06-01T02:30:00Z'));
  expect(first).toMatchObject({
    status: 'succeeded',
    failures: [],
    slices: [{ periods: { new: 30 } }],
  });
  const second = await scenario.night(new Date('2026-06-02T02:30:00Z'));
  expect(second).toMatchObject({ status: 'succeeded', failures: [] });
  const [loaded] = second.slices;
  // Ages 2, 3, 4, 5, 7, 10 and 14 are milestones; installs settle at 8, the day-7 cohort at 9, spend at 15.
  expect(loaded?.periods).toEqual({
    new: 1,
    missing: 0,
    maturing: 7,
    'became final': 3,
    between: 4,
  });
  expect(loaded?.windows).toEqual({ planned: 1, loaded: 1, failed: 0 });
  expect(loaded?.restated_periods).toBeGreaterThan(5);
});

test('420 days of hours are asked for with at most 20 calls at once, as the service counts them', async () => {
  const cap = 20;
  const hourly = slice({
    name: 'hourly',
    dimensions: ['hour', 'app_token'],
    metrics: ['installs'],
    datePeriod: { first: { daysAgo: 420 }, last: { daysAgo: 1 } },
  });
  scenario = await openScenario([hourly], {
    simulator: { answerDelayMs: 500 },
    service: { maxConcurrency: cap },
  });
  const at = new Date('2026-06-01T02:30:00Z');
  await limitToWeeks(scenario, at);
  const summary = await scenario.night(at);
  expect(summary.failures).toEqual([]);
  expect(await column(scenario, 'select count(distinct hour::date) from hourly')).toEqual(['420']);
  expect(scenario.simulator.requested.peak).toBeLessThanOrEqual(cap);
  expect(scenario.simulator.requested.peak).toBeGreaterThan(cap / 2);
  expect(summary.service.peak_concurrency).toBeLessThanOrEqual(cap);
});

test('of two runs of one process on one warehouse one, whichever comes second, is told who holds it, and asks for nothing', async () => {
  scenario = await openScenario([daily], { simulator: { answerDelayMs: 100 } });
  const at = new Date('2026-06-01T02:30:00Z');
  const runs = await Promise.allSettled([scenario.night(at), scenario.night(at)]);
  const [one, two] = runs.toSorted((a, b) => a.status.localeCompare(b.status));
  expect(one).toMatchObject({ status: 'fulfilled', value: { status: 'succeeded' } });
  expect(two).toMatchObject({ status: 'rejected', reason: { code: 'WAREHOUSE_LOCKED' } });
});

test('an error object in the place of the catalog wipes nothing: the stored one serves, with a warning', async () => {
  scenario = await openScenario([daily]);
  await scenario.night(new Date('2026-06-01T02:30:00Z'));
  const match = ({ path }: { readonly path: string }): boolean => path.endsWith('/filters_data');
  scenario.simulator.script({
    match,
    times: Infinity,
    fault: { kind: 'status', status: 200, body: 'error' },
  });
  const summary = await scenario.night(new Date('2026-06-02T02:30:00Z'));
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(scenario.events).toContainEqual(
    expect.objectContaining({ type: 'warning', code: 'CATALOG_STALE' }),
  );
  const counted = z.object({ metrics: z.coerce.number() });
  const [kept] = await scenario.inWarehouse((warehouse) =>
    warehouse.rows('select count(*) as metrics from main.metrics', [], counted),
  );
  expect(kept?.metrics).toBeGreaterThan(500);
});

test('what a killed run left in the spool is gone after the next one, though nothing is due', async () => {
  scenario = await openScenario([daily]);
  const at = new Date('2026-06-01T02:30:00Z');
  await scenario.night(at);
  const spool = `${scenario.config.warehouse}.spool`;
  await mkdir(spool);
  await writeFile(
    join(spool, 'network_daily.2026-05-01_2026-06-01.5.json.gz'),
    'loaded before the kill',
  );
  const again = await scenario.night(at);
  expect(again).toMatchObject({
    status: 'succeeded',
    slices: [{ windows: { planned: 0, loaded: 0, failed: 0 } }],
  });
  expect(existsSync(spool)).toBe(false);
});

test('a run that ends early leaves each view of a table that it rebuilt', async () => {
  scenario = await openScenario([daily]);
  await scenario.night(new Date('2026-06-01T02:30:00Z'));
  scenario.simulator.script({
    match: () => true,
    times: Infinity,
    fault: { kind: 'status', status: 401 },
  });
  const slices = [{ ...daily, metrics: [...daily.metrics, 'impressions'] }];
  const { failures } = await scenario.night(new Date('2026-06-02T02:30:00Z'), { slices });
  expect(failures).toMatchObject([{ code: 'CREDENTIALS_REFUSED' }]);
  const added = `select count(column_name) from duckdb_columns() where table_name = 'network_daily' and column_name = 'impressions'`;
  expect(await column(scenario, added)).toEqual(['1']);
  expect(await column(scenario, 'select count(*) > 0 from network_daily_projected')).toEqual([
    'true',
  ]);
});
