/** Runs that end before their work does, by a reset token, a deadline, a signal: what they ask for first, and that what was committed stays. */

import { afterEach, expect, test, vi } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { column, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import {
  askedReports,
  holds,
  limitToWeeks,
  passingDeadline,
  reports,
  runNight,
  smallWorld,
  daysOf,
} from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');

/** Its newest day is loaded first; the others are 20 windows of 7 days. */
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { day: day('2026-01-11') }, last: { day: day('2026-05-31') } },
});
const DAYS = '2026-01-11:2026-05-31';
const FIRST_WEEK = '2026-01-11:2026-01-17';
const NEWEST_DAY = '2026-05-31:2026-05-31';

afterEach(() => {
  vi.restoreAllMocks();
});

async function openWeeks(): Promise<void> {
  scenario = await openScenario([daily], {
    simulator: { world: { ...smallWorld, rowsPerDay: 8 } },
  });
  await limitToWeeks(scenario, NOW);
}

/** Every load of the ledger has exactly its rows in the table, and no row is without a load. */
async function expectWholeLoads(): Promise<void> {
  expect(
    await query(
      scenario,
      `select l.load_id, l.rows_loaded, count(h._load_id) as rows
       from ripen.loads as l full join daily as h on h._load_id = l.load_id
       group by all having rows is distinct from l.rows_loaded`,
    ),
  ).toEqual([]);
}

test('a token reset after 8 of 20 windows keeps what was committed, fails once, and is not used more than 3 times again', async () => {
  await openWeeks();
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'revoked_token', afterRequests: 8 },
  });
  const summary = await runNight(scenario, NOW, { service: { maxConcurrency: 3 } });

  expect(summary.status).toBe('partial');
  expect(summary.failures).toMatchObject([
    { code: 'CREDENTIALS_REFUSED', slice: null, window: null },
  ]);
  expect(summary.failures.length).toBe(1);
  const statuses = askedReports(scenario).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(3);
  expect(statuses.length).toBeLessThanOrEqual(11);
  const loads = 'select count(*) from ripen.loads where load_id > 1';
  expect(Number((await column(scenario, loads))[0])).toBeGreaterThan(0);
  await expectWholeLoads();
  expect(await lastRun(scenario)).toEqual({ status: 'partial', exit_code: 78 });
});

test.each<[string, Fault, string]>([
  ['hang', { kind: 'silence' }, '2.5 s'],
  ['are answered 503', { kind: 'status', status: 503 }, '. The last request failed: '],
])(
  'a deadline that passes while 19 of 20 windows %s keeps the 1 that loaded and says so',
  async (_, fault, says) => {
    await openWeeks();
    scenario.simulator.script({
      match: reports({ date_period: (period) => period !== FIRST_WEEK }),
      times: Infinity,
      fault,
    });
    const deadline = passingDeadline(2500);
    const summary = await runNight(scenario, NOW, {
      request: { deadlineMs: 2500 },
      onEvent: ({ type }) => {
        if (type === 'window_loaded') deadline.abort();
      },
    });

    expect(summary.failures).toMatchObject([
      {
        code: 'DEADLINE_PASSED',
        slice: null,
        message: textWith(says),
        hint: textWith('Run again'),
      },
    ]);
    expect(summary.failures.length).toBe(1);
    expect(await lastRun(scenario)).toEqual({ status: 'partial', exit_code: 75 });
    const { stored, truth } = await storedAndTrue(scenario, daily, FIRST_WEEK, NOW);
    const newest = await storedAndTrue(scenario, daily, NEWEST_DAY, NOW);
    expect(stored).toEqual([...truth, ...newest.truth]);
  },
);

test('a signal after the first window starts nothing new, keeps whole windows only, and the ledger says interrupted', async () => {
  await openWeeks();
  const stop = new AbortController();
  let askedAtStop = 0;
  const summary = await runNight(scenario, NOW, {
    service: { maxConcurrency: 2 },
    signal: stop.signal,
    onEvent: ({ type }) => {
      if (type !== 'window_loaded' || stop.signal.aborted) return;
      stop.abort();
      askedAtStop = scenario.simulator.requested.counts.report;
    },
  });

  expect(summary).toMatchObject({ status: 'interrupted', failures: [] });
  expect(scenario.simulator.requested.counts.report).toBeLessThanOrEqual(askedAtStop + 2);
  expect(await lastRun(scenario)).toMatchObject({ status: 'interrupted' });
  await expectWholeLoads();
  await runNight(scenario, NOW);
  const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NOW);
  expect(stored).toEqual(truth);
});

test('503 for ever on 1 window of 20 costs 6 tries, fails that window alone with exit code 75, and the next run loads it', async () => {
  await openWeeks();
  const restore = scenario.simulator.script({
    match: reports({ date_period: holds('2026-03-04') }),
    times: Infinity,
    fault: { kind: 'status', status: 503 },
  });
  const summary = await runNight(scenario, NOW);
  restore();

  expect(summary.failures).toMatchObject([
    { code: 'SOURCE_UNAVAILABLE', window: '2026-03-01:2026-03-07' },
  ]);
  expect(askedReports(scenario).filter(({ status }) => status === 503).length).toBe(6);
  expect(summary.slices[0]?.windows).toEqual({ planned: 20, loaded: 19, failed: 1 });
  expect(await lastRun(scenario)).toEqual({ status: 'partial', exit_code: 75 });
  const next = await runNight(scenario, NOW);
  expect(next.slices[0]?.periods).toMatchObject({ missing: 7, new: 0 });
  const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NOW);
  expect(stored).toEqual(truth);
});

const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 6 } as const;
const given = { dimensions: ['day', 'os_name'], metrics: ['installs', 'cost'] } as const;
const since = (first: string) => ({ first: { day: day(first) }, last: { daysAgo: 1 } });
/** Calls one after the other, so that each is asked for by what the ones before it brought. */
const service = { maxConcurrency: 1 };

test('22 windows of history are asked for from the newest to the oldest, and the new day of the next night before them', async () => {
  const long = slice({ ...given, name: 'long', datePeriod: since('2026-01-01') });
  scenario = await openScenario([long], { simulator: { world } });
  await limitToWeeks(scenario, NOW);
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

  scenario.simulator.requested.reset();
  await runNight(scenario, new Date('2026-06-02T02:30:00Z'), { service });
  const requested = askedReports(scenario).map(({ period }) => period);
  expect(requested[0]?.endsWith(':2026-06-01')).toBe(true);
  expect(requested.at(-1)).toBe('2026-01-11:2026-01-17');
});

test('365 days of few rows, requested one after the other, take 5 requests, newest first: the first answer says how many days fit one', async () => {
  const year = slice({ ...given, name: 'year', datePeriod: since('2025-06-01') });
  scenario = await openScenario([year], { simulator: { world: smallWorld }, service });
  const summary = await runNight(scenario, NOW, { service });
  expect(summary.slices[0]).toMatchObject({
    requests: 5,
    windows: { planned: 5, loaded: 5, failed: 0 },
  });
  const periods = askedReports(scenario).map(({ period }) => period);
  expect(periods.map(daysOf)).toEqual([7, 92, 92, 92, 82]);
  expect(periods).toEqual(periods.toSorted().toReversed());
  expect(await column(scenario, 'select count(distinct day) from year')).toEqual(['365']);
});
