/** Views and the ledger's words beside a slice, while its table changes or another one goes: none fails, none speaks of another table. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column, query } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-03T02:30:00Z');
const THIRD = new Date('2026-06-04T02:30:00Z');
const simulator = { world: smallWorld };

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'network'],
  metrics: ['installs', 'cost', 'all_revenue_total_d7'],
  datePeriod: { first: { day: day('2026-05-12') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
} as const;
const daily = slice(given);
const changed = slice({
  ...given,
  dimensions: ['day', 'app_token', 'network', 'os_name'],
  metrics: ['installs', 'clicks'],
});

test('totals that moved under an old meaning are not held against those of a new one', async () => {
  scenario = await openScenario([daily], { simulator });
  await runNight(scenario, FIRST);
  await runNight(scenario, SECOND);
  const moved = await column(scenario, 'select count(*) from ripen.restatements');
  expect(Number(moved[0])).toBeGreaterThan(0);
  await runNight(scenario, THIRD, { slices: [slice({ ...given, parameters: { os_name__in: 'ios' } })] });
  expect(await column(scenario, 'select state from ripen.slice_tables')).toEqual(['live']);
  expect(await query(scenario, 'select * from ripen.restatements')).toEqual([]);
});

test('while a changed meaning cannot be completed, finality speaks of the metrics that are served', async () => {
  scenario = await openScenario([daily], { simulator });
  await runNight(scenario, FIRST);
  const finality = 'select metric, count(*) filter (where is_final) as n from ripen.finality group by 1 order by 1';
  const [final, view] = [await query(scenario, finality), await query(scenario, 'from daily_final order by all')];
  scenario.simulator.script({ match: reports({}), times: Infinity, fault: { kind: 'status', status: 400 } });
  await runNight(scenario, FIRST, { slices: [changed] });
  expect(await column(scenario, 'select state from ripen.slice_tables order by state')).toEqual(['building', 'live']);
  expect(await query(scenario, finality)).toEqual(final);
  expect(await query(scenario, 'from daily_final order by all')).toEqual(view);
});

test('a slice takes the name of a view of another one, but not with a view the name of a table', async () => {
  scenario = await openScenario([daily], { simulator });
  await runNight(scenario, FIRST);
  const links = slice({ ...given, name: 'daily_links' });
  const second = await runNight(scenario, FIRST, { slices: [daily, links] });
  expect(second.failures).toEqual([]);
  const projected = slice({ ...given, name: 'daily_projected' });
  expect((await runNight(scenario, FIRST, { slices: [projected, links] })).failures).toEqual([]);
  const rows = await column(scenario, 'select count(*) from daily_projected');
  const { failures } = await runNight(scenario, SECOND, { slices: [daily, links] });
  expect(failures).toMatchObject([
    { code: 'CONFIG_INVALID', slice: 'daily', message: textWith('name of the table daily_projected') },
  ]);
  expect(await column(scenario, 'select count(*) from daily_projected')).toEqual(rows);
});
