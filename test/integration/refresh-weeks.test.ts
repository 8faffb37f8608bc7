/** Weeks that begin on another day than Monday: learned from the service's labels, then asked for whole. */

import { expect, test } from 'vitest';

import { column, storedAndTrue } from '../support/contents.ts';
import { askedReports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-03T02:30:00Z');
const NEXT = new Date('2026-06-04T02:30:00Z');
const world = { ...smallWorld, weekStartsOn: 0 } as const;

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

test('a changed filter on a slice with Sunday weeks is built with Sunday weeks from its first request', async () => {
  const short = { ...weekly, datePeriod: { first: { daysAgo: 30 }, last: { daysAgo: 1 } } };
  scenario = await openScenario([short], { simulator: { world } });
  await runNight(scenario, NOW);
  const narrow = { ...short, parameters: { ...short.parameters, os_name__in: 'ios' } };
  const summary = await runNight(scenario, NOW, { slices: [narrow] });
  expect(summary.failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, narrow, '2026-05-04:2026-06-02', NOW);
  expect(stored).toEqual(truth);
  expect(await column(scenario, 'select count(*) from ripen.warnings')).toEqual(['1']);
});

/** Weeks begin on Sunday from 2 June on. */
const turning = { ...smallWorld, quirks: { weeks: { from: new Date('2026-06-02T00:00:00Z'), startOn: 0 } } } as const;
const BEFORE = new Date('2026-06-01T02:30:00Z');
const turned = { ...weekly, datePeriod: { first: { daysAgo: 48 }, last: { daysAgo: 1 } } };

/** How many days the weeks of the table overlap. */
const overlaps = (): Promise<string[]> =>
  column(
    scenario,
    `select one.week from (select distinct week from weekly) as one, (select distinct week from weekly) as other
     where one.week < other.week and other.week < one.week + 7`,
  );
const weekdays = (): Promise<string[]> => column(scenario, 'select distinct dayofweek(week) from weekly order by all');

test('7 weeks that turn from Monday to Sunday in one night are swapped by that night, and the next one plans Sunday weeks', async () => {
  scenario = await openScenario([turned], { simulator: { world: turning } });
  await runNight(scenario, BEFORE);
  expect(await runNight(scenario, NOW)).toMatchObject({ status: 'succeeded', failures: [] });
  expect(await weekdays()).toEqual(['0']);
  const { stored, truth } = await storedAndTrue(scenario, turned, '2026-04-14:2026-06-02', NOW);
  expect(stored).toEqual(truth);

  scenario.simulator.asked.reset();
  expect((await runNight(scenario, NEXT)).failures).toEqual([]);
  expect(await overlaps()).toEqual([]);
  const days = askedReports(scenario).map(({ period }) => new Date(`${period.slice(0, 10)}T00:00:00Z`).getUTCDay());
  expect(days.slice(0, -1).every((weekday) => weekday === 0)).toBe(true);
});
