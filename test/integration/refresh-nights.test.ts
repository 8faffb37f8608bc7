/** Nights in a row: what is asked for again, what changes, what becomes final, and what weeks the service has. */

import { expect, test } from 'vitest';

import { drop } from '../../src/index.ts';
import { day, utcOffset } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { explainPlan } from '../../src/run/plan-report.ts';
import { gridOf, openAnswering, withCells } from '../support/answering.ts';
import { column, contentOf, lastRun, query, stateOf, storedAndTrue } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { askedReports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario, TOKEN } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { storedRows } from '../support/truth.ts';
import { startSimulator } from '../support/simulator/simulator.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');
const simulator = { world: smallWorld };

const metrics = ['installs', 'clicks', 'cost', 'ecpi', 'all_revenue_total_d7'];
const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network', 'os_name'],
  metrics,
  datePeriod: { first: { daysAgo: 20 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});

test('rows that vanished upstream between two nights are gone after the second, and every row is as the service has it', async () => {
  const fine = slice({
    ...daily,
    name: 'fine',
    dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  });
  scenario = await openScenario([fine], {
    simulator: { world: { ...smallWorld, rowsPerDay: 100 } },
  });
  await runNight(scenario, FIRST);
  const before = await scenario.inWarehouse((warehouse) => storedRows(warehouse, fine));
  await runNight(scenario, SECOND);

  const { stored, truth } = await storedAndTrue(scenario, fine, '2026-05-12:2026-06-01', SECOND);
  const keyOf = (row: string): string => row.split('",').slice(0, 5).join();
  const keys = new Set(truth.map(keyOf));
  expect(
    before.filter((row) => !keys.has(keyOf(row))).length,
    'rows that vanished',
  ).toBeGreaterThan(0);
  expect(stored).toEqual(truth);
});

const oids = (): Promise<string[]> =>
  column(
    scenario,
    'select view_oid from duckdb_views() where not internal order by schema_name, view_name',
  );

const declared = (): Promise<Record<string, unknown>[]> =>
  query(
    scenario,
    `select view_name, replace(sql, '"', '') as sql, comment from duckdb_views() where not internal
     union all select table_name, '', comment from duckdb_tables() where schema_name = 'main'
     union all select table_name || '.' || column_name, data_type, comment from duckdb_columns()
     where schema_name = 'main' and not internal
     order by all`,
  );

test('a second sync at the same instant requests the list of apps alone, changes nothing, makes no view and no comment, and takes fewer than 60 statements', async () => {
  scenario = await openScenario([daily, slice({ ...daily, name: 'other' })], { simulator });
  await runNight(scenario, FIRST);
  const held = () => Promise.all([oids(), declared(), stateOf(scenario, 'daily')]);
  const before = await held();
  const steps = await countSteps();
  const again = await runNight(scenario, FIRST).finally(() => {
    steps.stop();
  });
  // The list of apps.
  expect(again.service.requests).toBe(1);
  expect(steps.kinds.filter((kind) => /^(create|drop|alter|comment) /.test(kind))).toEqual([]);
  expect(
    steps.kinds.filter((kind) => /^(select|with|insert|update|delete|begin|commit)\b/.test(kind))
      .length,
  ).toBeLessThan(60);
  expect(await held()).toEqual(before);
  expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
});

test('restatements are exactly the totals that differ between two snapshots, metric by metric and day by day', async () => {
  scenario = await openScenario([daily], { simulator });
  const snapshot = (): Promise<Record<string, unknown>[]> =>
    query(
      scenario,
      'select day, sum(installs) as installs, sum(clicks) as clicks, sum(cost) as cost, sum(all_revenue_total_d7) as all_revenue_total_d7 from daily group by day',
    );
  await runNight(scenario, FIRST);
  const before = new Map((await snapshot()).map((row) => [row['day'], row]));
  const summary = await runNight(scenario, SECOND);
  const after = new Map((await snapshot()).map((row) => [row['day'], row]));

  const moved: string[] = [];
  const number = (value: unknown): string =>
    value === null || value === undefined ? 'null' : Number(value).toFixed(6);
  for (const [period, was] of before) {
    for (const metric of ['installs', 'clicks', 'cost', 'all_revenue_total_d7']) {
      const [from, to] = [number(was[metric]), number(after.get(period)?.[metric])];
      if (from !== to) moved.push(`${String(period)} ${metric} ${from} ${to}`);
    }
  }
  const recorded = (
    await query(scenario, 'select period, metric, before, after, seen_at from ripen.restatements')
  ).map(
    (row) =>
      `${String(row['period'])} ${String(row['metric'])} ${number(row['before'])} ${number(row['after'])}`,
  );
  expect(moved.length).toBeGreaterThan(10);
  expect(recorded.sort()).toEqual(moved.sort());
  expect(summary.slices[0]?.restated_periods).toBe(
    new Set(moved.map((line) => line.slice(0, 10))).size,
  );
});

test('a backfill of 3 days asks for exactly those days and leaves the load of every other day alone', async () => {
  scenario = await openScenario([daily], { simulator });
  await runNight(scenario, FIRST);
  const outside = "day < '2026-05-20' or day >= '2026-05-23'";
  const before = await contentOf(scenario, `(from daily where ${outside})`);
  scenario.simulator.requested.reset();
  const forced = { start: day('2026-05-20'), end: day('2026-05-23') };
  const summary = await runNight(scenario, SECOND, {
    request: { command: 'backfill', slices: ['daily'], forced },
  });

  expect(askedReports(scenario).map(({ period }) => period)).toEqual(['2026-05-20:2026-05-22']);
  expect(summary.slices[0]).toMatchObject({
    periods: { forced: 3 },
    windows: { planned: 1, loaded: 1, failed: 0 },
  });
  expect(await contentOf(scenario, `(from daily where ${outside})`)).toEqual(before);
  expect(
    await column(scenario, `select distinct _load_id from daily where not (${outside})`),
  ).toEqual(['3']);
  expect(
    await column(scenario, 'select reasons::varchar from ripen.loads where load_id = 3'),
  ).toEqual(['[forced]']);
});

test('a slice without a date dimension is replaced whole when its 10 days move on, and by a backfill of 1 of them', async () => {
  const whole = slice({
    name: 'whole',
    dimensions: ['app_token', 'network'],
    metrics,
    datePeriod: { first: { daysAgo: 10 }, last: { daysAgo: 1 } },
  });
  scenario = await openScenario([whole], { simulator });
  await runNight(scenario, FIRST);
  scenario.simulator.requested.reset();
  await runNight(scenario, SECOND);
  expect(askedReports(scenario).map(({ period }) => period)).toEqual(['2026-05-23:2026-06-01']);
  const second = await storedAndTrue(scenario, whole, '2026-05-23:2026-06-01', SECOND);
  expect(second.stored).toEqual(second.truth);
  expect(await column(scenario, 'select start_day from ripen.periods')).toEqual(['2026-05-23']);

  const forced = { start: day('2026-05-25'), end: day('2026-05-26') };
  await runNight(scenario, SECOND, { request: { command: 'backfill', forced } });
  expect(askedReports(scenario).map(({ period }) => period)).toEqual([
    '2026-05-23:2026-06-01',
    '2026-05-23:2026-06-01',
  ]);
  const third = await storedAndTrue(scenario, whole, '2026-05-23:2026-06-01', SECOND);
  expect(third.stored).toEqual(third.truth);
});

test('a period is not due by the ages of a `refresh` that has changed since its load', async () => {
  const refreshing = (refresh: 'milestones' | readonly number[]) =>
    slice({
      ...daily,
      metrics: ['installs'],
      datePeriod: { first: { day: day('2026-05-30') }, last: { day: day('2026-05-31') } },
      refresh,
    });
  scenario = await openScenario([refreshing('milestones')], { simulator });
  await runNight(scenario, FIRST);
  const due = `select count(*) from ripen.periods where next_refresh_at <= '2026-06-03 02:30:00'`;
  expect(await column(scenario, due)).toEqual(['2']);
  const summary = await runNight(scenario, new Date('2026-06-03T02:30:00Z'), {
    slices: [refreshing([30])],
  });
  expect(summary.slices[0]?.requests ?? 0).toBe(0);
  expect(summary.failures).toEqual([]);
  expect(await column(scenario, due)).toEqual(['0']);
  expect(await column(scenario, 'select distinct state from ripen.periods')).toEqual(['maturing']);
});

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Days after the end of a period, from PRODUCT: Maturity. */
const horizonDays = {
  installs: 7,
  cost: 14,
  ecpi: 14,
  cohort_size_d0: 7,
  all_revenue_total_d10: 11,
  roas_d30: 31,
  skad_installs: 42,
  cohort_size: Infinity,
} as const;
const horizonMetrics = Object.keys(horizonDays);

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
    'select start_day, requested_start, requested_end, end_day, fetched_at from ripen.periods',
  );
  const byDay = new Map(periods.map((period) => [period['start_day'], period]));
  const shown = { final: 0, maturing: 0 };
  expect(view.length).toBe(all.length);
  for (const [index, row] of all.entries()) {
    const period = byDay.get(row[grain]);
    const isWhole =
      period?.['requested_start'] === period?.['start_day'] &&
      period?.['requested_end'] === period?.['end_day'];
    const fetchedAt = Date.parse(`${String(period?.['fetched_at']).replace(' ', 'T')}Z`);
    const endedAt = Date.parse(String(row[grain])) + days * DAY_MS - offsetMs;
    const cells = Object.entries(horizonDays).map(([metric, horizon]) => {
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
      metrics: horizonMetrics,
      datePeriod: { first: { daysAgo: 50 }, last: { daysAgo: 1 } },
      utcOffset: utcOffset(offset),
    });
    scenario = await openScenario([daily], { simulator });
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
    metrics: horizonMetrics,
    datePeriod: { first: { day: day('2026-04-01') }, last: { daysAgo: 1 } },
  });
  scenario = await openScenario([weekly], { simulator });
  await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  const { final } = await expectOwnComputation('weekly', 'week', 7, 0);
  expect(final).toBeGreaterThan(20);
  expect(
    await column(scenario, "select count(installs) from weekly_final where week = '2026-03-30'"),
  ).toEqual(['0']);
  expect(
    await column(scenario, "select count(installs) > 0 from weekly where week = '2026-03-30'"),
  ).toEqual(['true']);
});

const WEDNESDAY = new Date('2026-06-03T02:30:00Z');
const THURSDAY = new Date('2026-06-04T02:30:00Z');
const weekly = slice({
  name: 'weekly',
  dimensions: ['week', 'app_token', 'os_name'],
  metrics: ['installs', 'cost', 'ecpi'],
  datePeriod: { first: { daysAgo: 30 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});
const weekDaily = slice({ ...weekly, dimensions: ['day', ...weekly.dimensions], grain: 'day' });
const sundays = { world: { ...smallWorld, weekStartsOn: 0 } } as const;

const rowsHash = (): Promise<string[]> =>
  column(scenario, 'select sum(hash(w))::varchar from weekly as w');

/** A night with weeks from Monday, after which the service has Sunday weeks. */
async function turnedAfter(of: Slice) {
  scenario = await openScenario([of], { simulator });
  await runNight(scenario, WEDNESDAY);
  const before = await rowsHash();
  const turned = await startSimulator({ ...sundays, now: THURSDAY, token: TOKEN });
  return { before, turned, service: { baseUrl: turned.url, reportsUrl: turned.url } };
}

test.each([
  ['', weekly],
  [' beside days', weekDaily],
])(
  'a service that turns from Monday to Sunday weeks%s changes no row: the windows fail, naming week_starts_on',
  async (_, of) => {
    const { before, turned, service } = await turnedAfter(of);
    const { status, failures } = await runNight(scenario, THURSDAY, { service });
    await turned.close();

    expect(status).toBe('failed');
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_MALFORMED']));
    expect(failures[0]?.message).toMatch(
      /: week_starts_on is monday, but the service's week of 2026-\d\d-\d\d begins on sunday\.$/,
    );
    expect(failures[0]?.hint).toContain('Set `week_starts_on: sunday`.');
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 65 });
    expect(await rowsHash()).toEqual(before);
  },
);

test.each([
  ['', weekly],
  [' beside days', weekDaily],
])(
  'a changed week_starts_on is refused by sync and plan while weeks%s are loaded: the hint names the drop and the backfill, which load anew',
  async (_, of) => {
    const { before, turned, service } = await turnedAfter(of);
    const slices = [{ ...of, weekStartsOn: 0 }] as const;
    const { status, failures } = await runNight(scenario, THURSDAY, { service, slices });
    expect([status, failures.length]).toEqual(['failed', 1]);
    const refusal = {
      code: 'DATA_MALFORMED',
      message: 'slice weekly: week_starts_on is sunday, but its loaded weeks begin on monday.',
      hint: 'Set `week_starts_on: monday`, or begin anew: `ripen drop --slice weekly`, then `ripen backfill --slice weekly --from 2026-05-04 --to 2026-06-02`.',
    };
    expect(failures[0]).toMatchObject(refusal);
    const changed = { ...scenario.config, slices };
    const signal = AbortSignal.timeout(60_000);
    const planning = { lockWaitMs: 0, emit: () => {}, planAt: THURSDAY, signal, slices: null };
    await expect(explainPlan(changed, planning)).rejects.toMatchObject(refusal);
    expect(await rowsHash()).toEqual(before);

    await drop(changed, { slice: 'weekly', agree: true });
    const forced = { start: day('2026-05-04'), end: day('2026-06-03') };
    const request = { command: 'backfill', forced } as const;
    const anew = await runNight(scenario, THURSDAY, { service, slices, request });
    await turned.close();
    expect(anew.failures).toEqual([]);
    expect(await column(scenario, 'select distinct dayofweek(week) from weekly')).toEqual(['0']);
  },
);

const weekBesideDays = slice({
  name: 'daily',
  dimensions: ['day', 'week', 'network'],
  metrics: ['installs'],
  datePeriod: { first: { daysAgo: 1 }, last: { daysAgo: 1 } },
});

test('a week beside days that a service names by the first requested day has one name, whatever days were requested', async () => {
  const dates = ['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-08', '2026-06-09'];
  const rows = gridOf(dates, { network: ['x'] }, ['installs']);
  const world = await openAnswering([weekBesideDays], ({ firstDay }) =>
    rows.map((row) => {
      const [start, end] =
        row.day < '2026-06-08' ? ['2026-06-01', '2026-06-07'] : ['2026-06-08', '2026-06-14'];
      return withCells(row, { week: `${firstDay > start ? firstDay : start} - ${end}` });
    }),
  );
  for (const number of [2, 3, 4, 9, 10]) expect((await world.night(number)).failures).toEqual([]);
  expect(await column(world.scenario, 'select distinct week from daily order by week')).toEqual([
    '2026-06-01',
    '2026-06-08',
  ]);
});

test('a Sunday week beside days is not taken for a cut one, though its first day is the first requested', async () => {
  const rows = gridOf(['2026-06-07', '2026-06-08'], { network: ['x'] }, ['installs']);
  const datePeriod = { first: { day: day('2026-06-07') }, last: { daysAgo: 1 } } as const;
  const world = await openAnswering(
    [{ ...weekBesideDays, datePeriod }],
    rows.map((row) => withCells(row, { week: '2026-06-07 - 2026-06-13' })),
  );
  const [failure] = (await world.night(9)).failures;
  expect(failure?.message).toContain("service's week of 2026-06-07 begins on sunday");
});
