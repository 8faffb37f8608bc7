/** Values that neither half of a divided day has: the parts are held against the whole, which is asked for by the date alone. */

import { afterEach, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import type { Quirks } from '../support/simulator/quirks.ts';
import { createWorld } from '../support/simulator/world.ts';
import { column, lastRun, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, daysOf, reports, runNight } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

afterEach(() => scenario.close());

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

const askingForWhole = reports({ dimensions: (names) => ['day', 'year'].includes(names) });

const wholes = (): string[] =>
  askedReports(scenario).flatMap(({ query, status }) =>
    query.get('dimensions') === 'day' && status === 200 ? [query.get('date_period') ?? ''] : [],
  );

test('2 heavy days with rows whose network or country is NULL fail by name, and nothing of them is loaded', async () => {
  const nulls = new Map(
    ['network', 'country_code'].map((name) => [name, { values: [mostFrequent(name)], as: 'null' }] as const),
  );
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

test.each(['network', 'country_code'])(
  '2 heavy days with rows whose %s alone is NULL are divided by the other dimension, and load equal to the truth',
  async (name) => {
    await openHeavy(daily, { nulls: new Map([[name, { values: [mostFrequent(name)], as: 'null' }]]) });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NOW);
    expect(truth.some((row) => row.includes('"null"'))).toBe(true);
    expect(stored.map((row) => row.replaceAll(',null,', ',"null",')).sort()).toEqual(truth.toSorted());
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
  },
);

test('2 heavy days of a first load, rows of a network of which are NULL, are divided by the campaigns that their parts brought, which no list names', async () => {
  const campaigns = slice({ ...given, dimensions: ['day', 'network', 'campaign'] });
  await openHeavy(campaigns, {
    maxRows: 6,
    nulls: new Map([['network', { values: [mostFrequent('network')], as: 'null' }]]),
  });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, campaigns, DAYS, NOW);
  expect(stored.map((row) => row.replaceAll(',null,', ',"null",')).sort()).toEqual(truth.toSorted());
  expect(askedReports(scenario).some(({ query }) => query.has('campaign__in'))).toBe(true);
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

test('with a filter of metrics, whole and parts are asked for without it, as it looks at rows as they are grouped; both days load', async () => {
  const filtered = slice({ ...given, parameters: { installs__gte: '1' } });
  await openHeavy(filtered, {});
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, filtered, DAYS, NOW);
  expect(stored.length).toBeGreaterThan(40);
  expect(stored).toEqual(truth);
  const controls = askedReports(scenario).filter(({ query }) => query.get('dimensions') === 'day');
  expect(controls.length).toBeGreaterThanOrEqual(6);
  expect(controls.filter(({ query }) => query.has('installs__gte'))).toEqual([]);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});

test('2 heavy days with a filter of metrics and rows whose network or country is NULL fail by name, and nothing of them is loaded', async () => {
  const nulls = new Map(
    ['network', 'country_code'].map((name) => [name, { values: [mostFrequent(name)], as: 'null' }] as const),
  );
  await openHeavy(slice({ ...given, parameters: { installs__gte: '1' } }), { nulls });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map(({ code }) => code)).toEqual(['DATA_INCOMPLETE', 'DATA_INCOMPLETE']);
  for (const { message } of failures) expect(message).toEqual(textWith('without the filter of a metric'));
  expect(await column(scenario, 'select count(*) from daily')).toEqual(['0']);
});

test('2 heavy days with a filter of metrics and rows whose network alone is NULL are divided by country, and load', async () => {
  const filtered = slice({ ...given, parameters: { installs__gte: '1' } });
  await openHeavy(filtered, { nulls: new Map([['network', { values: [mostFrequent('network')], as: 'null' }]]) });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, filtered, DAYS, NOW);
  expect(stored.map((row) => row.replaceAll(',null,', ',"null",')).sort()).toEqual(truth.toSorted());
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});

test.each<[string, Fault]>([
  ['is refused', { kind: 'status', status: 400, body: 'detail', message: 'no such report' }],
  ['is too heavy, by the year too', { kind: 'status', status: 504 }],
])(
  'where a filter of metrics is set and the whole %s, heavy days load, and are not called proven',
  async (_, fault) => {
    const filtered = slice({ ...given, parameters: { installs__gte: '1' } });
    await openHeavy(filtered, {});
    scenario.simulator.script({ match: askingForWhole, times: Infinity, fault });
    expect((await runNight(scenario, NOW)).failures).toEqual([]);
    expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['unverifiable']);
    expect(await column(scenario, 'select distinct code from ripen.warnings')).toEqual(['PARTS_NOT_HELD']);
  },
);

test('where a filter of metrics is set and the whole is not available, heavy days fail with that, exit code 75', async () => {
  await openHeavy(slice({ ...given, parameters: { installs__gte: '1' } }), {});
  scenario.simulator.script({ match: askingForWhole, times: Infinity, fault: { kind: 'status', status: 503 } });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map(({ code }) => code)).toEqual(['SOURCE_UNAVAILABLE', 'SOURCE_UNAVAILABLE']);
  expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 75 });
});

test.each<[string, Fault]>([
  ['that is not answered', { kind: 'silence' }],
  ['that is too heavy', { kind: 'status', status: 504 }],
  ['that has no content', { kind: 'status', status: 204 }],
  [
    'that is an error beside rows',
    { kind: 'report', mutate: (document) => ({ ...document, error: 'query cancelled' }) },
  ],
])('the first question for the whole of a heavy day %s is asked again, and both days load', async (_, fault) => {
  await openHeavy(daily, {});
  scenario.simulator.script({ match: reports({ dimensions: 'day' }), times: 1, fault });
  expect((await runNight(scenario, NOW, { service: { requestTimeoutMs: 2000 } })).failures).toEqual([]);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});

test.each([
  [503, 'SOURCE_UNAVAILABLE'],
  [504, 'SOURCE_TOO_HEAVY'],
] as const)('a whole that is always answered %i fails its days with that, exit code 75', async (status, code) => {
  await openHeavy(daily, {});
  scenario.simulator.script({ match: askingForWhole, times: Infinity, fault: { kind: 'status', status } });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map((failure) => failure.code)).toEqual([code, code]);
  for (const { message } of failures) expect(message).toEqual(textWith('could not be held against the whole'));
  expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 75 });
});

test('a heavy week without a date dimension whose whole is too heavy is held against that of its days', async () => {
  const weekly = slice({
    ...given,
    name: 'weekly',
    dimensions: ['network', 'country_code'],
    datePeriod: { first: { day: day('2026-05-25') }, last: { day: day('2026-05-31') } },
  });
  scenario = await openScenario([weekly], { simulator: { world: { ...world, quirks: { maxRows: 40 } } } });
  const match = reports({ dimensions: 'year', date_period: (days) => daysOf(days) > 2 });
  scenario.simulator.script({ match, times: Infinity, fault: { kind: 'status', status: 504 } });
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, weekly, '2026-05-25:2026-05-31', NOW);
  expect(truth.length).toBeGreaterThan(40);
  expect(stored).toEqual(truth);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});

test('2 heavy days of nothing but a ratio by network fail with the way out, and load once installs are added or under warn', async () => {
  const ratio = slice({ ...given, dimensions: ['day', 'network'], metrics: ['ecpi'] });
  await openHeavy(ratio, { maxRows: 3 });
  const { failures } = await runNight(scenario, NOW);
  expect(failures.map(({ code }) => code)).toEqual(['SOURCE_TOO_HEAVY', 'SOURCE_TOO_HEAVY']);
  for (const { message, hint } of failures) {
    expect(message).toEqual(textWith('could not be held against the whole'));
    expect(hint).toEqual(textWith('Add a metric that adds up to the slice, such as installs'));
  }
  const withSum = slice({ ...ratio, metrics: ['ecpi', 'installs'] });
  expect((await runNight(scenario, NOW, { slices: [withSum] })).failures).toEqual([]);
  const loose = slice({ ...ratio, name: 'loose', completeness: 'warn' });
  expect((await runNight(scenario, NOW, { slices: [loose] })).failures).toEqual([]);
  expect(await column(scenario, 'select count(*) > 6 from loose')).toEqual(['true']);
});
