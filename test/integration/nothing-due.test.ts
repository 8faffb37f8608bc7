/** A run with nothing due: what it leaves alone, and what it makes again. */

import { afterAll, beforeAll, expect, test } from 'vitest';

import { column, lastRun, query } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const night = new Date('2026-06-05T02:30:00Z');
const slices = ['daily', 'other'].map((name) =>
  slice({
    name,
    dimensions: ['day', 'app_token', 'network'],
    metrics: ['installs', 'cost', 'all_revenue_total_d7'],
    datePeriod: { first: { daysAgo: 4 }, last: { daysAgo: 1 } },
  }),
);

let scenario: Scenario;

beforeAll(async () => {
  scenario = await openScenario(slices, {
    simulator: { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 20 } },
  });
  await runNight(scenario, night);
});

afterAll(() => scenario.close());

const oids = (): Promise<string[]> =>
  column(scenario, 'select view_oid from duckdb_views() where not internal order by schema_name, view_name');

const declared = (): Promise<Record<string, unknown>[]> =>
  query(
    scenario,
    `select view_name, replace(sql, '"', '') as sql, comment from duckdb_views() where not internal
     union all select table_name, '', comment from duckdb_tables() where schema_name = 'main'
     union all select table_name || '.' || column_name, data_type, comment from duckdb_columns()
     where schema_name = 'main' and not internal
     order by all`,
  );

test('it makes no view and no comment, and 2 slices take fewer than 60 statements', async () => {
  const before = await oids();
  const said = await declared();
  const steps = await countSteps();
  const again = await runNight(scenario, night).finally(() => {
    steps.stop();
  });
  expect(again.service.requests).toBe(0);
  expect(steps.kinds.filter((kind) => /^(create|drop|alter|comment) /.test(kind))).toEqual([]);
  expect(
    steps.kinds.filter((kind) => /^(select|with|insert|update|delete|begin|commit)\b/.test(kind)).length,
  ).toBeLessThan(60);
  expect(await oids()).toEqual(before);
  expect(await declared()).toEqual(said);
  expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
});
