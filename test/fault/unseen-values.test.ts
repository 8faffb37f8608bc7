/** Values that neither half of a divided day has: the parts are held against the whole, which is requested by the year alone. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Quirks } from '../support/simulator/quirks.ts';
import { createWorld } from '../support/simulator/world.ts';
import { column, lastRun, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, reports, runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-30:2026-05-31';
const given = {
  name: 'daily',
  dimensions: ['day', 'network', 'country_code'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
} as const;
const daily = slice(given);

const world = { apps: 1, partners: 4, links: 20, rowsPerDay: 100 };

/** A world of about 60 rows a day that answers 504 above 40. */
async function openHeavy(declared: typeof daily, quirks: Partial<Quirks>): Promise<void> {
  scenario = await openScenario([declared], {
    simulator: { world: { ...world, quirks: { maxRows: 40, ...quirks } } },
  });
}

/** The value that most rows of the 2 days have. */
function mostFrequent(dimension: string): string {
  const query = new URLSearchParams({
    ...daily.parameters,
    dimensions: daily.dimensions.join(),
    metrics: 'installs',
    date_period: DAYS,
    format_dates: 'false',
  });
  const counts = new Map<string, number>();
  for (const row of createWorld(world).report(query, NOW)?.rows ?? []) {
    const value = JSON.stringify(Reflect.get(row, dimension));
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0].slice(1, -1) ?? '';
}

const askingForWhole = reports({ dimensions: 'year' });

const wholes = (): string[] =>
  askedReports(scenario).flatMap(({ query, status }) =>
    query.get('dimensions') === 'year' && status === 200 ? [query.get('date_period') ?? ''] : [],
  );

test('2 heavy days with rows whose network or country is NULL fail by name, and nothing of them is loaded', async () => {
  const nulls = new Map(['network', 'country_code'].map((name) => [name, [mostFrequent(name)]] as const));
  await openHeavy(daily, { nulls });
  const summary = await runNight(scenario, NOW);
  expect(summary.failures.map(({ code }) => code)).toEqual(['DATA_INCOMPLETE', 'DATA_INCOMPLETE']);
  expect(summary.failures.map(({ window }) => window ?? '').sort()).toEqual([
    '2026-05-30:2026-05-30',
    '2026-05-31:2026-05-31',
  ]);
  for (const { message } of summary.failures) expect(message).toEqual(textWith('a value may be in neither part'));
  expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 65 });
  expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
  expect(await column(scenario, 'select count(*) from ripen.periods')).toEqual(['0']);
});

test('2 heavy days without NULL load, equal to the truth, and the whole of each is asked for once', async () => {
  await openHeavy(daily, {});
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NOW);
  expect(truth.length).toBeGreaterThan(80);
  expect(stored).toEqual(truth);
  expect(wholes().sort()).toEqual(['2026-05-30:2026-05-30', '2026-05-31:2026-05-31']);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});

test('2 heavy days with a filter of metrics load as unverifiable, and say why: no coarser report has the same rows', async () => {
  const filtered = slice({ ...given, parameters: { installs__gte: '1' } });
  await openHeavy(filtered, {});
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, filtered, DAYS, NOW);
  expect(stored.length).toBeGreaterThan(40);
  expect(stored).toEqual(truth);
  expect(wholes()).toEqual([]);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['unverifiable']);
  expect(await column(scenario, "select distinct message from ripen.warnings where code = 'PARTS_NOT_PROVEN'")).toEqual(
    [textWith('a filter of a metric')],
  );
});

test.each([
  [503, 'SOURCE_UNAVAILABLE'],
  [504, 'SOURCE_TOO_HEAVY'],
] as const)('a whole that is always answered %i fails its days with that, exit code 75', async (status, code) => {
  await openHeavy(daily, {});
  scenario.simulator.script({ match: askingForWhole, times: Infinity, fault: { kind: 'status', status } });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map((failure) => failure.code)).toEqual([code, code]);
  for (const { message } of failures) expect(message).toEqual(textWith('could not be compared with the whole'));
  expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 75 });
});

test('2 heavy days of nothing but a ratio by network fail with the way out, and load once installs are added or under warn', async () => {
  const ratio = slice({ ...given, dimensions: ['day', 'network'], metrics: ['ecpi'] });
  await openHeavy(ratio, { maxRows: 3 });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map(({ code }) => code)).toEqual(['SOURCE_TOO_HEAVY', 'SOURCE_TOO_HEAVY']);
  for (const { message, hint } of failures) {
    expect(message).toEqual(textWith('could not be compared with the whole'));
    expect(hint).toEqual(textWith('a metric that adds up, such as installs'));
  }
  const withSum = slice({ ...ratio, metrics: ['ecpi', 'installs'] });
  expect((await runNight(scenario, NOW, { slices: [withSum] })).failures).toEqual([]);
  const loose = slice({ ...ratio, name: 'loose', completeness: 'warn' });
  expect((await runNight(scenario, NOW, { slices: [loose] })).failures).toEqual([]);
  expect(await column(scenario, 'select count(*) > 6 from loose')).toEqual(['true']);
});
