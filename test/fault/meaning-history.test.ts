/** A changed meaning on a slice whose rolling date period is shorter than its history: no loaded day is lost by it. */

import { beforeEach, expect, test } from 'vitest';

import type { Slice } from '../../src/model/slice.ts';
import { column, contentOf, storedAndTrue } from '../support/contents.ts';
import { daysOf, reports, runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const at = (day: string): Date => new Date(`${day}T02:30:00Z`);
/** Nights of which the first loads 7 days, and the last makes them 22: 11 May to 1 June. */
const NIGHTS = ['2026-05-18', '2026-05-23', '2026-05-28', '2026-06-02'].map(at);
const LAST = at('2026-06-02');
const DAYS = '2026-05-11:2026-06-01';

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { daysAgo: 7 }, last: { daysAgo: 1 } },
} as const;
const daily = slice(given);
const changes: readonly (readonly [string, Slice])[] = [
  ['one dimension', slice({ ...given, dimensions: ['day', 'app_token', 'country_code'] })],
  ['the currency', slice({ ...given, parameters: { currency: 'EUR' } })],
];

let scenario: Scenario;

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } } });
  for (const night of NIGHTS) await runNight(scenario, night);
});

const daysHeld = async (): Promise<string> =>
  (
    await column(
      scenario,
      "select count(*) || ' of ' || min(day) || ':' || max(day) from (select distinct day from daily)",
    )
  ).join('');
const states = (): Promise<string[]> => column(scenario, 'select state from ripen.slice_tables order by state');

test.each(changes)(
  'after %s changed in a slice of 7 rolling days, killed after its first window, 22 days stay and 22 are swapped in',
  async (_, changed) => {
    expect(await daysHeld()).toBe('22 of 2026-05-11:2026-06-01');
    const before = await contentOf(scenario, 'daily');
    const restore = scenario.simulator.script({
      match: reports({ date_period: (period) => daysOf(period) > 8 }),
      times: Infinity,
      fault: { kind: 'status', status: 504 },
    });
    const stop = new AbortController();
    const killed = await runNight(scenario, LAST, {
      slices: [changed],
      service: { maxConcurrency: 1 },
      signal: stop.signal,
      onEvent: ({ type }) => type === 'window_loaded' && stop.abort(),
    });
    restore();
    expect(killed.status).toBe('interrupted');
    expect(await states()).toEqual(['building', 'live']);
    expect(await contentOf(scenario, 'daily')).toEqual(before);

    expect((await runNight(scenario, LAST, { slices: [changed] })).failures).toEqual([]);
    expect(await states()).toEqual(['live']);
    const { stored, truth } = await storedAndTrue(scenario, changed, DAYS, LAST);
    expect(stored).toEqual(truth);
  },
);
