/** A run for an instant before what was loaded: nothing newer is replaced, dated or not, and it says so. */

import { expect, test } from 'vitest';

import { column, contentOf } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } as const;
const EARLIER = new Date('2026-06-01T02:30:00Z');
const LATER = new Date('2026-06-04T02:30:00Z');

const given = {
  metrics: ['installs', 'cost', 'sessions'],
  datePeriod: { first: { daysAgo: 10 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
} as const;
const dated = slice({ ...given, name: 'dated', dimensions: ['day', 'os_name'] });
const weekly = slice({ ...given, name: 'weekly', dimensions: ['week', 'os_name'] });
const dateless = slice({ ...given, name: 'dateless', dimensions: ['app_token', 'os_name'] });
const slices = [dated, weekly, dateless];
const names = slices.map(({ name }) => name);

const told = (): { slice: string | null; message: string }[] =>
  scenario.events.flatMap((event) =>
    event.type === 'warning' && event.code === 'AS_OF_OLDER' ? [{ slice: event.slice, message: event.message }] : [],
  );

test('a run for 1 June after one for 4 June replaces none of its periods, with or without a date, and says how many', async () => {
  scenario = await openScenario(slices, { simulator: { world } });
  await runNight(scenario, LATER);
  const before: unknown[] = [];
  for (const name of names) before.push(await contentOf(scenario, name));
  scenario.simulator.asked.reset();
  const summary = await runNight(scenario, EARLIER);

  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  const periods = "fetched_at = timestamp '2026-06-04 02:30:00'";
  expect(
    await column(
      scenario,
      `select slice || ' ' || count(*) from ripen.periods where ${periods} group by slice order by all`,
    ),
  ).toEqual(['dated 10', 'dateless 1', 'weekly 2']);
  for (const [at, name] of names.entries()) {
    const now = await contentOf(scenario, name);
    const held = before[at];
    expect(Array.isArray(held) ? held.filter((row) => !now.includes(String(row))) : null).toEqual([]);
  }
  expect(told()).toEqual([
    { slice: 'dated', message: textWith('10 periods') },
    { slice: 'weekly', message: textWith('2 periods') },
    { slice: 'dateless', message: textWith('1 periods') },
  ]);
});
