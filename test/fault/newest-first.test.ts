/** In which order a run asks, and how much at once: a deadline costs the oldest days, never yesterday, and no day that has not begun is asked for. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column } from '../support/contents.ts';
import { askedReports, daysOf, holds, reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } as const;
const given = { dimensions: ['day', 'os_name'], metrics: ['installs', 'cost'] } as const;
const since = (first: string) => ({ first: { day: day(first) }, last: { daysAgo: 1 } });
/** Calls one after the other, so that each is asked for by what the ones before it brought. */
const service = { maxConcurrency: 1 };

test('22 windows of a first load are asked for from the newest to the oldest, and the new day of the next night before history', async () => {
  const long = slice({ ...given, name: 'long', datePeriod: since('2026-01-01') });
  scenario = await openScenario([long], { simulator: { world } });
  const restore = scenario.simulator.script({
    match: reports({ date_period: holds('2026-01-15') }),
    times: Infinity,
    fault: { kind: 'status', status: 400 },
  });
  await runNight(scenario, NOW, { service });
  const first = askedReports(scenario).map(({ period }) => period.slice(0, 10));
  expect(first.length).toBe(22);
  expect(first).toEqual(first.toSorted().toReversed());
  restore();

  scenario.simulator.asked.reset();
  await runNight(scenario, new Date('2026-06-02T02:30:00Z'), { service });
  const asked = askedReports(scenario).map(({ period }) => period);
  expect(asked[0]?.endsWith(':2026-06-01')).toBe(true);
  expect(asked.at(-1)).toBe('2026-01-12:2026-01-18');
});

test.each([
  ['day', ['2026-05-26:2026-06-01', '2026-05-25:2026-05-25']],
  ['month', ['2026-06-01:2026-06-01', '2026-05-25:2026-05-31']],
])('a date period of %ss that ends on 31 December asks for no day after the as-of day', async (grain, periods) => {
  const future = slice({
    ...given,
    name: 'future',
    dimensions: [grain, 'os_name'],
    datePeriod: { first: { day: day('2026-05-25') }, last: { day: day('2026-12-31') } },
  });
  scenario = await openScenario([future], { simulator: { world } });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  expect([...new Set(askedReports(scenario).map(({ period }) => period))]).toEqual(periods);
  expect(await column(scenario, "select count(*) from ripen.periods where asked_end > '2026-06-02'")).toEqual(['0']);
  expect(await column(scenario, 'select state from ripen.periods order by start_day desc limit 1')).toEqual(['open']);
});

test('365 days of few rows, requested one after the other, take 5 requests: the first answer says how many days fit one', async () => {
  const year = slice({ ...given, name: 'year', datePeriod: since('2025-06-01') });
  scenario = await openScenario([year], { simulator: { world: smallWorld }, service });
  const summary = await runNight(scenario, NOW, { service });
  expect(summary.slices[0]).toMatchObject({ requests: 5, windows: { planned: 5, loaded: 5, failed: 0 } });
  expect(askedReports(scenario).map(({ period }) => daysOf(period))).toEqual([7, 92, 92, 92, 82]);
  expect(await column(scenario, 'select count(distinct day) from year')).toEqual(['365']);
});
