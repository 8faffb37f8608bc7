/** Weeks that begin on another day than Monday: learned from the service's labels, then asked for whole. */

import { expect, test } from 'vitest';

import { column, storedAndTrue } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario, TOKEN } from '../support/scenario.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-03T02:30:00Z');
const weekly = slice({
  name: 'weekly',
  dimensions: ['week', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { daysAgo: 150 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
/** A Wednesday to a Tuesday: neither end is a week's. */
const DAYS = '2026-01-04:2026-06-02';

test.each([
  ['Sunday', 0, 150, DAYS],
  ['Saturday', 6, 151, '2026-01-03:2026-06-02'],
] as const)(
  '22 windows of Monday weeks asked of a service with %s weeks end up equal to the truth, with 1 warning',
  async (name, weekStartsOn, daysAgo, days) => {
    const aligned = { ...weekly, datePeriod: { first: { daysAgo }, last: { daysAgo: 1 } } };
    scenario = await openScenario([aligned], { simulator: { world: { ...smallWorld, weekStartsOn } } });
    const summary = await runNight(scenario, NOW);

    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    const { planned, loaded } = summary.slices[0]?.windows ?? {};
    expect(loaded).toBe(planned);
    const { stored, truth } = await storedAndTrue(scenario, aligned, days, NOW);
    expect(stored).toEqual(truth);
    expect(await column(scenario, 'select distinct dayofweek(start_day) from ripen.periods')).toEqual([
      String(weekStartsOn),
    ]);
    expect(
      await column(scenario, 'select count(distinct week) = (select count(*) from ripen.periods) from weekly'),
    ).toEqual(['true']);
    expect(await column(scenario, `select code || ' ' || message from ripen.warnings`)).toEqual([
      `WEEK_START The service begins weeks on ${name}; its windows were aligned to that day.`,
    ]);
  },
);

test('a service that turns from Monday to Sunday weeks changes no row: the windows fail, naming the drop and the backfill to begin anew', async () => {
  const lately = { ...weekly, datePeriod: { first: { daysAgo: 30 }, last: { daysAgo: 1 } } };
  scenario = await openScenario([lately], { simulator: { world: smallWorld } });
  await runNight(scenario, NOW);
  const before = await column(scenario, 'select sum(hash(w))::varchar from weekly as w');
  const turned = await startSimulator({ world: { ...smallWorld, weekStartsOn: 0 }, now: NOW, token: TOKEN });
  const service = { baseUrl: turned.url, reportsUrl: turned.url };
  const { status, failures } = await runNight(scenario, new Date('2026-06-04T02:30:00Z'), { service });
  await turned.close();

  expect(status).toBe('failed');
  expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_MALFORMED']));
  expect(failures[0]?.message).toContain('weeks began on a Sunday, and those loaded before on a Monday.');
  expect(failures[0]?.hint).toContain(
    '`ripen drop --slice weekly`, then `ripen backfill --slice weekly --from 2026-05-04 --to',
  );
  expect(await column(scenario, 'select sum(hash(w))::varchar from weekly as w')).toEqual(before);
});
