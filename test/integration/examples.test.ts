import { readdirSync } from 'node:fs';

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { readStatus } from '../../src/status/status.ts';
import { statement } from '../../src/warehouse/statements.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const examples = readdirSync(new URL('../../sql/examples/', import.meta.url)).map((file) => file.replace(/\.sql$/, ''));

const daily = slice({
  name: 'network_daily',
  dimensions: ['day', 'app_token', 'app', 'partner_id', 'partner_name', 'network', 'os_name', 'country_code'],
  metrics: [
    'installs',
    'clicks',
    'impressions',
    'cost',
    'network_cost',
    'ecpi',
    'cohort_size_d7',
    'all_revenue_total_d7',
    'all_revenue_total_d30',
    'roas_d30',
  ],
  datePeriod: { first: { daysAgo: 50 }, last: { daysAgo: 1 } },
});

/** Queries that look for something wrong, of which a sound world has none. */
const mayBeEmpty: ReadonlySet<string> = new Set(['spend_without_installs', 'moved_since_monday']);

let scenario: Scenario;

beforeAll(async () => {
  scenario = await openScenario([daily]);
  for (const night of ['2026-06-01T02:30:00Z', '2026-06-02T02:30:00Z']) await scenario.night(new Date(night));
});

afterAll(() => scenario.close());

test.each(examples)("the analyst's query %s runs on what two nights loaded", async (name) => {
  const rows = await scenario.inWarehouse((warehouse) =>
    warehouse.rows(statement(`examples/${name}`), [], z.record(z.string(), z.unknown())),
  );
  expect(rows.length > 0 || mayBeEmpty.has(name)).toBe(true);
  for (const row of rows) expect(Object.values(row).some((value) => value !== null)).toBe(true);
});

test('finality cell by cell agrees with the final view, for every metric and day', async () => {
  const cells = await scenario.inWarehouse((warehouse) =>
    warehouse.rows(
      `with shown as (
           unpivot (select day, ${daily.metrics.map((id) => `count("${id}") as "${id}"`).join(', ')} from network_daily_final group by day)
           on ${daily.metrics.map((id) => `"${id}"`).join(', ')} into name metric value cells
       )
       select f.metric, f.is_final, sum(s.cells)::varchar as cells
       from ripen.finality as f
       join shown as s on s.day = f.period and s.metric = f.metric
       group by f.metric, f.is_final`,
      [],
      z.object({ metric: z.string(), is_final: z.boolean(), cells: z.coerce.number() }),
    ),
  );
  expect(cells.length).toBeGreaterThan(daily.metrics.length);
  for (const { metric, is_final: isFinal, cells: shown } of cells) expect(shown > 0, metric).toBe(isFinal);
});

test('the status tells of each metric as many final days as the ledger has, and the rest as maturing', async () => {
  const asOf = new Date('2026-06-02T02:30:00Z');
  const counts = z.object({ metric: z.string(), days: z.coerce.number() });
  const { report, final } = await scenario.inWarehouse(async (warehouse) => ({
    report: await readStatus(scenario.config, warehouse, asOf),
    final: await warehouse.rows(
      `select metric, count(*) filter (where is_final)::varchar as days from ripen.finality
       where period between date '2026-04-13' and date '2026-06-01' group by metric`,
      [],
      counts,
    ),
  }));
  const [status] = report.slices;
  expect(status?.metrics.map(({ metric }) => metric)).toStrictEqual(daily.metrics);
  for (const { metric, cells } of status?.metrics ?? []) {
    const days = final.find((each) => each.metric === metric)?.days;
    expect([metric, cells.final, cells.maturing]).toStrictEqual([metric, days, 50 - (days ?? 0)]);
  }
  expect(status?.restated.length).toBeGreaterThan(5);
  expect(report.runs).toMatchObject([{ retries: 0, failures: [] }, { status: 'succeeded' }]);
  expect(report.health.state).toBe('well');
});
