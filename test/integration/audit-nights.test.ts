/** Audits of final cells, night by night through the pipeline, where the horizon is shorter than the service's own. */

import { afterEach, expect, test } from 'vitest';
import * as z from 'zod';

import { horizonRemarks } from '../../src/check/warehouse.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { count } from '../../src/warehouse/sql.ts';
import { askedReports, reports, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const FIRST = day('2026-03-01');
const HISTORY_DAYS = 24;
const DAY_MS = 86_400_000;

let scenario: Scenario;
afterEach(() => scenario.close());

const sinceFirst = { first: { day: FIRST }, last: { daysAgo: 1 } } as const;

const daily = (horizonDays: number) =>
  slice({
    name: 'daily',
    dimensions: ['day', 'app_token'],
    metrics: ['installs'],
    horizons: [{ pattern: '*', horizonMs: horizonDays * DAY_MS }],
    datePeriod: sinceFirst,
  });

const auditRow = z.object({ start_day: z.string(), cells: count, changed: count, seed: z.string(), periods: count });

async function live(horizonDays: number, nights: number, audit: number) {
  scenario = await openScenario([daily(horizonDays)], { simulator: { world: smallWorld } });
  const asked: number[] = [];
  for (let night = 0; night < nights; night += 1) {
    const before = askedReports(scenario).length;
    const summary = await scenario.night(new Date(`${addDays(FIRST, HISTORY_DAYS + night)}T03:00:00Z`), { audit });
    expect(summary.failures).toEqual([]);
    asked.push(askedReports(scenario).length - before);
  }
  const audits = await scenario.inWarehouse((warehouse) =>
    warehouse.rows('select * from ripen.audits order by audited_at', [], auditRow),
  );
  return { asked, audits, warnings: scenario.events.filter((event) => event.type === 'warning') };
}

test('a horizon of 2 days where values move for 7 is found out within 8 nights, by a window a night, and the right one is told', async () => {
  const { audits, warnings } = await live(2, 8, 1);
  expect(audits).toHaveLength(7);
  expect(audits.reduce((sum, { changed }) => sum + changed, 0)).toBeGreaterThan(0);
  expect(audits.every(({ cells, changed, seed, periods }) => cells >= periods && changed <= cells && seed !== '')).toBe(
    true,
  );
  const told = warnings.filter((event) => event.code === 'FINAL_CHANGED');
  expect(told.length).toBeGreaterThan(0);
  expect(told[0]?.message).toMatch(
    /^\d+ final totals? of installs changed after the horizon of 2d; a horizon of \d+d would/,
  );
  const [marked] = await scenario.inWarehouse((warehouse) =>
    warehouse.rows('select count(*) as n from ripen.restatements where after_final', [], z.object({ n: count })),
  );
  const [proposed] = await scenario.inWarehouse((warehouse) => horizonRemarks(warehouse, daily(2), ['slices', 0]));
  expect(proposed?.message).toMatch(
    /^the horizon of installs, 2d, proved too short: \d+ final totals? changed, and \d+d would have held/,
  );
  expect(Number(/(\d+)d would have held/.exec(proposed?.message ?? '')?.[1])).toBeGreaterThanOrEqual(7);
  expect(marked?.n).toBe(audits.reduce((sum, { changed }) => sum + changed, 0));
});

const SETTLED_DAYS = 12;

test(`counts that settle in ${SETTLED_DAYS} days where 7 are derived are found out within 30 nights, by 1 window a night, with a horizon that holds`, async () => {
  const slow = slice({
    name: 'daily',
    dimensions: ['day', 'app_token'],
    metrics: ['installs'],
    datePeriod: sinceFirst,
  });
  const world = { ...smallWorld, quirks: { settlingDays: SETTLED_DAYS } };
  scenario = await openScenario([slow], { simulator: { world } });
  const proposals: (number | null)[] = [];
  for (let night = 0; night < 30; night += 1) {
    const asOf = new Date(`${addDays(FIRST, HISTORY_DAYS + night)}T03:00:00Z`);
    expect((await scenario.night(asOf, { audit: 1 })).failures).toEqual([]);
    const [proposed] = await scenario.inWarehouse((warehouse) => horizonRemarks(warehouse, slow, ['slices', 0]));
    proposals.push(Number(/and (\d+)d would have held/.exec(proposed?.message ?? '')?.[1] ?? 0) || null);
  }
  const nights = await scenario.inWarehouse((warehouse) =>
    warehouse.rows('select count(*) as n from ripen.audits group by seed', [], z.object({ n: count })),
  );
  expect(nights.filter(({ n }) => n > 1)).toEqual([]);
  expect(proposals.findIndex((days) => days !== null)).toBeGreaterThanOrEqual(0);
  expect(proposals.findIndex((days) => days !== null)).toBeLessThan(15);
  expect(proposals.at(-1)).toBeGreaterThanOrEqual(SETTLED_DAYS);
  expect(proposals.at(-1)).toBeLessThanOrEqual(30);
}, 300_000);

test('a horizon that holds is confirmed: 3 audits find nothing changed, cost one request a night, and audit 0 none', async () => {
  const without = await live(8, 4, 0);
  await scenario.close();
  const { audits, warnings, asked } = await live(8, 4, 1);
  expect(without.audits).toEqual([]);
  expect(audits.map(({ changed }) => changed)).toEqual([0, 0, 0]);
  expect(warnings.filter((event) => event.code === 'FINAL_CHANGED')).toEqual([]);
  expect(asked.map((requests, night) => requests - (without.asked[night] ?? 0))).toEqual([0, 1, 1, 1]);
});

const heldRow = z.object({ day: z.string(), n: count });
const rowsByDay = () =>
  scenario.inWarehouse((warehouse) =>
    warehouse.rows('select day::varchar as day, count(*) as n from daily group by all order by all', [], heldRow),
  );

test('an audit that is answered without rows keeps the final rows, fails by itself, and says nothing of finality', async () => {
  let isEmptied = false;
  const emptied = { isEmpty: (of: string) => isEmptied && of < addDays(FIRST, 12), as: 'no rows' } as const;
  scenario = await openScenario([daily(8)], { simulator: { world: { ...smallWorld, quirks: { emptied } } } });
  const night = (at: number, audit: number) =>
    scenario.night(new Date(`${addDays(FIRST, HISTORY_DAYS + at)}T03:00:00Z`), { audit });
  expect((await night(0, 0)).failures).toEqual([]);
  const before = await rowsByDay();
  isEmptied = true;
  const summary = await night(1, 3);
  expect(summary.failures.length).toBeGreaterThan(0);
  expect(new Set(summary.failures.map(({ code }) => code))).toEqual(new Set(['DATA_SHRUNK']));
  expect((await rowsByDay()).slice(0, before.length)).toEqual(before);
  const changed = await scenario.inWarehouse((warehouse) =>
    warehouse.rows('select sum(changed) as n from ripen.audits having count(*) > 0', [], z.object({ n: count })),
  );
  expect(changed.filter(({ n }) => n > 0)).toEqual([]);
  expect(scenario.events.filter((event) => event.type === 'warning' && event.code === 'FINAL_CHANGED')).toEqual([]);
});

test('an audit that is refused fails by itself, the same window is asked for when the night runs again, and no other after that', async () => {
  scenario = await openScenario([daily(8)], { simulator: { world: smallWorld } });
  const at = (hour: string): Date => new Date(`${addDays(FIRST, HISTORY_DAYS + 1)}T${hour}:00:00Z`);
  await scenario.night(new Date(`${addDays(FIRST, HISTORY_DAYS)}T03:00:00Z`));
  await scenario.night(at('03'));
  const refused = scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'status', status: 400 },
  });
  const [failure, ...others] = (await scenario.night(at('04'), { audit: 1 })).failures;
  refused();
  expect(failure).toMatchObject({ code: 'SOURCE_REFUSED', slice: 'daily' });
  expect(others).toEqual([]);
  const before = askedReports(scenario).length;
  for (const hour of ['05', '06']) expect((await scenario.night(at(hour), { audit: 1 })).failures).toEqual([]);
  const asked = askedReports(scenario).slice(before);
  expect(asked.map(({ period }) => period)).toEqual([failure?.window]);
});
