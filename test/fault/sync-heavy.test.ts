/** Reports that are too heavy: split by days, then by values, compared with their whole, remembered, and at last failed alone. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column, contentOf, lastRun, storedAndTrue } from '../support/contents.ts';
import { askedReports, daysOf, holds, reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import type { Quirks } from '../support/simulator/quirks.ts';
import { textWith } from '../support/matching.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const NEXT = new Date('2026-06-02T02:30:00Z');

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { daysAgo: 20 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
const wide = slice({
  name: 'wide',
  dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  metrics: ['installs', 'clicks', 'cost', 'roas_d7', 'cohort_size_d7'],
  datePeriod: { first: { daysAgo: 2 }, last: { daysAgo: 1 } },
});

const tooHeavy = (maxRows: number): (() => void) =>
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'too_heavy', maxRows },
  });

test('a time-out is taken as too heavy: 7 days that hang are asked for in halves of 4 and 3', async () => {
  const short = slice({ ...daily, datePeriod: { first: { daysAgo: 7 }, last: { daysAgo: 1 } } });
  scenario = await openScenario([short], { simulator: { world: smallWorld } });
  scenario.simulator.script({
    match: reports({ date_period: (period) => daysOf(period) > 4 }),
    times: Infinity,
    fault: { kind: 'silence' },
  });
  const summary = await runNight(scenario, NOW, { service: { requestTimeoutMs: 1500 } });
  expect(summary.failures).toEqual([]);
  expect(askedReports(scenario).map(({ period }) => daysOf(period))).toEqual([7, 3, 4]);
});

test('1 day of 20 that stays too heavy fails alone with exit code 75; its old rows stay and the 19 others are new', async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  await runNight(scenario, NOW);
  const heavy = "day = '2026-05-20'";
  const before = await contentOf(scenario, `(from daily where ${heavy})`);
  scenario.simulator.script({
    match: reports({ date_period: holds('2026-05-20') }),
    times: Infinity,
    fault: { kind: 'status', status: 504 },
  });
  const forced = { start: day('2026-05-12'), end: day('2026-06-01') };
  const summary = await runNight(scenario, NEXT, { request: { command: 'backfill', forced } });

  expect(summary.failures).toMatchObject([
    { code: 'SOURCE_TOO_HEAVY', slice: 'daily', window: '2026-05-20:2026-05-20' },
  ]);
  expect(summary.failures.length).toBe(1);
  expect(summary.status).toBe('partial');
  expect(await lastRun(scenario)).toEqual({ status: 'partial', exit_code: 75 });
  expect(await contentOf(scenario, `(from daily where ${heavy})`)).toEqual(before);
  expect(
    await column(scenario, 'select count(distinct day) from daily where _load_id > 2'),
  ).toEqual(['19']);
});

test('a month is never cut: one that is too heavy for days is not asked for in parts of it', async () => {
  const monthly = slice({
    name: 'monthly',
    dimensions: ['month', 'app_token'],
    metrics: ['installs'],
    datePeriod: { first: { day: day('2026-04-01') }, last: { day: day('2026-05-31') } },
  });
  scenario = await openScenario([monthly], { simulator: { world: smallWorld } });
  scenario.simulator.script({
    match: reports({ date_period: (period) => daysOf(period) > 31 }),
    times: Infinity,
    fault: { kind: 'status', status: 504 },
  });
  const summary = await runNight(scenario, NOW);
  expect(summary.failures).toEqual([]);
  const periods = askedReports(scenario).map(({ period }) => period);
  expect(periods).toEqual(
    expect.arrayContaining(['2026-04-01:2026-04-30', '2026-05-01:2026-05-31']),
  );
});

test("a slice's own filters on the dividing dimension keep their meaning in every part", async () => {
  const filtered = slice({
    ...wide,
    name: 'filtered',
    parameters: {
      country_code__in: 'DE,FR,US,JP,GB,BR',
      country_code__not_in: 'JP',
      os_name__contains: 'o',
    },
  });
  scenario = await openScenario([filtered]);
  tooHeavy(15);
  const summary = await scenario.night(NOW);
  expect(summary.failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, filtered, '2026-05-30:2026-05-31', NOW);
  expect(truth.length).toBeGreaterThan(15);
  expect(stored).toEqual(truth);
});

test('a slice that was too heavy in one bad hour requests all of its days again a week later', async () => {
  const week = slice({
    ...wide,
    name: 'week',
    datePeriod: { first: { daysAgo: 8 }, last: { daysAgo: 1 } },
    refresh: 'nightly',
  });
  scenario = await openScenario([week]);
  const heal = tooHeavy(300);
  const longest = async (night: number): Promise<number> => {
    scenario.simulator.requested.reset();
    expect((await scenario.night(new Date(Date.UTC(2026, 5, night, 2, 30)))).failures).toEqual([]);
    return Math.max(...askedReports(scenario).map(({ period }) => daysOf(period)));
  };
  expect(await longest(1)).toBe(7);
  heal();
  expect(await longest(7)).toBeLessThan(4);
  expect(await longest(8)).toBeGreaterThan(7);
}, 60_000);

const TWO_DAYS = '2026-05-30:2026-05-31';
const given = {
  name: 'daily',
  dimensions: ['day', 'network', 'country_code'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
} as const;
const divided = slice(given);

const world = { apps: 1, partners: 4, links: 20, rowsPerDay: 100 };

/** A world of about 60 rows a day that answers 504 above 40. */
async function openHeavy(declared: typeof divided, quirks: Partial<Quirks>): Promise<void> {
  scenario = await openScenario([declared], {
    simulator: { world: { ...world, quirks: { maxRows: 40, ...quirks } } },
  });
}

const askingForWhole = reports({ dimensions: 'day' });

const wholes = (): string[] =>
  askedReports(scenario).flatMap(({ query, status }) =>
    query.get('dimensions') === 'day' && status === 200 ? [query.get('date_period') ?? ''] : [],
  );

test('2 heavy days without NULL load, equal to the truth, and the whole of each is asked for once', async () => {
  await openHeavy(divided, {});
  expect((await runNight(scenario, NOW)).failures).toEqual([]);
  const { stored, truth } = await storedAndTrue(scenario, divided, TWO_DAYS, NOW);
  expect(truth.length).toBeGreaterThan(80);
  expect(stored).toEqual(truth);
  expect(wholes().sort()).toEqual(['2026-05-30:2026-05-30', '2026-05-31:2026-05-31']);
  expect(await column(scenario, 'select distinct verdict from ripen.loads')).toEqual(['proven']);
});

test.each([
  [503, 'SOURCE_UNAVAILABLE'],
  [504, 'SOURCE_TOO_HEAVY'],
] as const)(
  'a whole that is always answered %i fails its days with that, exit code 75',
  async (status, code) => {
    await openHeavy(divided, {});
    scenario.simulator.script({
      match: askingForWhole,
      times: Infinity,
      fault: { kind: 'status', status },
    });
    const { failures } = await runNight(scenario, NOW);
    expect(failures.map((failure) => failure.code)).toEqual([code, code]);
    for (const { message } of failures)
      expect(message).toEqual(textWith('could not be compared with the whole'));
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 75 });
  },
);
