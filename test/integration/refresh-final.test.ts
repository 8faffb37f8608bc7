/** The `_final` view: exactly the cells whose horizon had passed when they were fetched. */

import { expect, test } from 'vitest';

import { day, utcOffset } from '../../src/model/calendar.ts';
import { column, query } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Days after the end of a period, from PRODUCT: Maturity. */
const horizons = {
  installs: 7,
  cost: 14,
  ecpi: 14,
  cohort_size_d0: 7,
  all_revenue_total_d10: 11,
  roas_d30: 31,
  skad_installs: 42,
  cohort_size: Infinity,
} as const;
const metrics = Object.keys(horizons);

interface Shown {
  readonly final: number;
  readonly maturing: number;
}

/** Holds the view against the table and a computation of its own; returns how many measured cells it shows and hides. */
async function expectOwnComputation(
  table: string,
  grain: 'day' | 'week',
  days: number,
  offsetMs: number,
): Promise<Shown> {
  const order = `order by ${grain}, app_token, os_name`;
  const all = await query(scenario, `select * from ${table} ${order}`);
  const view = await query(scenario, `select * from ${table}_final ${order}`);
  const periods = await query(
    scenario,
    'select start_day, asked_start, asked_end, end_day, fetched_at from ripen.periods',
  );
  const byDay = new Map(periods.map((period) => [period['start_day'], period]));
  const shown = { final: 0, maturing: 0 };
  expect(view.length).toBe(all.length);
  for (const [index, row] of all.entries()) {
    const period = byDay.get(row[grain]);
    const isWhole = period?.['asked_start'] === period?.['start_day'] && period?.['asked_end'] === period?.['end_day'];
    const fetchedAt = Date.parse(`${String(period?.['fetched_at']).replace(' ', 'T')}Z`);
    const endedAt = Date.parse(String(row[grain])) + days * DAY_MS - offsetMs;
    const cells = Object.entries(horizons).map(([metric, horizon]) => {
      const isFinal = isWhole && fetchedAt >= endedAt + horizon * DAY_MS + HOUR_MS;
      if (row[metric] !== null) shown[isFinal ? 'final' : 'maturing'] += 1;
      return [metric, isFinal ? row[metric] : null];
    });
    expect(view[index]).toEqual({ ...row, ...Object.fromEntries(cells) });
  }
  return shown;
}

test.each([
  ['+05:30', 5.5 * HOUR_MS],
  ['-04:00', -4 * HOUR_MS],
] as const)(
  'of 50 days and 8 metrics in %s over 2 nights, the view shows a cell if and only if it was fetched at or after its horizon',
  async (offset, offsetMs) => {
    const daily = slice({
      name: 'daily',
      dimensions: ['day', 'app_token', 'os_name'],
      metrics,
      datePeriod: { first: { daysAgo: 50 }, last: { daysAgo: 1 } },
      utcOffset: utcOffset(offset),
    });
    scenario = await openScenario([daily], { simulator: { world: smallWorld } });
    // A minute before and after the settling hour of the day before is over.
    for (const at of ['2026-05-31T00:59:00Z', '2026-06-01T01:01:00Z']) {
      const night = new Date(Date.parse(at) - offsetMs);
      expect((await runNight(scenario, night)).failures).toEqual([]);
      const { final, maturing } = await expectOwnComputation('daily', 'day', 1, offsetMs);
      expect(final).toBeGreaterThan(200);
      expect(maturing).toBeGreaterThan(200);
    }
  },
);

test('a week of which the date period asks only 5 days is never final, and a whole one is', async () => {
  const weekly = slice({
    name: 'weekly',
    dimensions: ['week', 'app_token', 'os_name'],
    metrics,
    datePeriod: { first: { day: day('2026-04-01') }, last: { daysAgo: 1 } },
  });
  scenario = await openScenario([weekly], { simulator: { world: smallWorld } });
  await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  const { final } = await expectOwnComputation('weekly', 'week', 7, 0);
  expect(final).toBeGreaterThan(20);
  expect(await column(scenario, "select count(installs) from weekly_final where week = '2026-03-30'")).toEqual(['0']);
  expect(await column(scenario, "select count(installs) > 0 from weekly where week = '2026-03-30'")).toEqual(['true']);
});
