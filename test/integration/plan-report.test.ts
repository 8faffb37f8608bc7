import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { planText } from '../../src/commands/plan.ts';
import { explainPlan, type PlanReport } from '../../src/run/plan-report.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  metrics: ['installs', 'cost', 'all_revenue_total_d30'],
  datePeriod: { first: { daysAgo: 60 }, last: { daysAgo: 1 } },
});

const FIRST_NIGHT = new Date('2026-06-01T02:30:00Z');
const SECOND_NIGHT = new Date('2026-06-02T02:30:00Z');

let scenario: Scenario;

beforeAll(async () => {
  scenario = await openScenario([daily]);
});

afterAll(() => scenario.close());

const atOnce = { slices: null, lockWaitMs: 0, emit: () => {} } as const;

async function planAt(asOf: Date): Promise<PlanReport> {
  const never = new AbortController().signal;
  return explainPlan(scenario.config, { ...atOnce, planAt: asOf, signal: never });
}

async function heldRows(where: string): Promise<number> {
  const [sum] = await scenario.inWarehouse((warehouse) =>
    warehouse.rows(
      `select coalesce(sum(rows), 0)::integer as rows from ripen.periods where ${where}`,
      [],
      z.object({ rows: z.number() }),
    ),
  );
  return sum?.rows ?? 0;
}

test('before the first night all 60 days are new, in 9 requests of 7 days at most, and no number of rows is made up', async () => {
  expect(await planAt(FIRST_NIGHT)).toMatchObject({
    requests: 9,
    rows_expected: 0,
    saved_rows: 0,
    slices: [
      { rows_expected: null, refetch_all_rows: null, unfinal_periods: 60, saved_periods: 0 },
    ],
  });
});

test('after it, the plan of the second is what the sync then asks for, and its rows are those the days held', async () => {
  await scenario.night(FIRST_NIGHT);
  const plan = await planAt(SECOND_NIGHT);
  const [planned] = plan.slices;
  const windows = planned?.windows ?? [];
  expect(windows.length).toBeGreaterThan(1);
  for (const window of windows.slice(0, -1)) {
    expect(window.rows_expected).toBe(
      await heldRows(`start_day between '${window.first_day}' and '${window.last_day}'`),
    );
  }
  expect(planned?.rows_expected).toBe(
    windows.reduce((sum, window) => sum + (window.rows_expected ?? 0), 0),
  );
  expect(windows.at(-1)?.reasons).toMatchObject({ new: 1 });
  // The new day is expected to be like the others.
  const unfinal = await heldRows(`state <> 'final' and start_day >= '2026-04-03'`);
  const newDay = plan.refetch_all_rows - unfinal;
  expect(newDay).toBeGreaterThan(0);
  expect(newDay).toBeLessThan(unfinal / 10);
  expect(plan.saved_rows).toBe(plan.refetch_all_rows - plan.rows_expected);
  expect(planned?.saved_periods).toBeGreaterThan(10);

  const summary = await scenario.night(SECOND_NIGHT);
  expect(summary.slices[0]).toMatchObject({
    requests: plan.requests,
    windows: { planned: windows.length },
  });
  const reasons = windows.flatMap((window) => Object.entries(window.reasons));
  const counted = Object.fromEntries(
    [...new Set(reasons.map(([reason]) => reason))].map((reason) => [
      reason,
      reasons.filter(([each]) => each === reason).reduce((sum, [, count]) => sum + count, 0),
    ]),
  );
  expect(summary.slices[0]?.periods).toMatchObject(counted);
  const rows = summary.slices[0]?.rows.loaded ?? 0;
  expect(Math.abs(rows - plan.rows_expected)).toBeLessThan(rows / 10);
});

test('a changed meaning is planned with the rows that its periods have under the old one, and says so', async () => {
  const config = {
    ...scenario.config,
    slices: [slice({ ...daily, parameters: { os_name__in: 'ios' } })],
  };
  const report = await explainPlan(config, {
    ...atOnce,
    planAt: SECOND_NIGHT,
    signal: new AbortController().signal,
  });
  const [planned] = report.slices;
  expect(planned?.rows_expected).toBeGreaterThanOrEqual(await heldRows('true'));
  expect(planText(report, true)).toMatch(/about [\d,]+ rows\n[^]*meaning changed/);
});
