/** Weeks that begin on another day than Monday: learned from the service's labels, then asked for whole. */

import { expect, test } from 'vitest';

import { column, storedAndTrue } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
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
