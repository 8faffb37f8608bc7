/** What happens to a slice's table when its configuration changes: metrics are columns, anything else, another account too, is a new meaning. */

import { rm, writeFile } from 'node:fs/promises';

import { beforeEach, describe, expect, test } from 'vitest';

import { warehouseFindings } from '../../src/report/check/warehouse.ts';
import type { Slice } from '../../src/model/slice.ts';
import { explainPlan } from '../../src/run/plan-report.ts';
import { checkingAt } from '../support/checking.ts';
import { column, contentOf, lastRun, storedAndTrue, query } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { askedReports, daysOf, reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario, TOKEN } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { check, plan, readConfig, replay, sync } from '../../src/index.ts';
import type { Config } from '../../src/config/config.ts';
import { day } from '../../src/model/calendar.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-12:2026-05-31';
const simulator = { world: smallWorld };

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { daysAgo: 20 }, last: { daysAgo: 1 } },
} as const;
const daily = slice(given);
const wider = slice({ ...given, metrics: ['installs', 'clicks', 'cost'] });

/** Makes windows of more than 5 days too heavy, so that a run of 20 days takes several. */
const smallWindows = (): (() => void) =>
  scenario.simulator.script({
    match: reports({ date_period: (period) => daysOf(period) > 5 }),
    times: Infinity,
    fault: { kind: 'status', status: 504 },
  });

/** Runs until the first window is loaded. */
async function runAborted(slices: readonly Slice[], night = NOW): Promise<void> {
  const stop = new AbortController();
  const summary = await runNight(scenario, night, {
    slices,
    service: { maxConcurrency: 1 },
    signal: stop.signal,
    onEvent: ({ type }) => type === 'window_loaded' && stop.abort(),
  });
  expect(summary).toMatchObject({ status: 'interrupted', failures: [] });
  expect(await lastRun(scenario)).toMatchObject({ status: 'interrupted' });
}

const columnsOf = async (table: string): Promise<string> =>
  (await column(scenario, `select column_name from (describe ${table})`)).join(' ');

/** Tables and views of both schemas, those of the catalog and the ledger left out. */
const sliceObjects = (): Promise<string[]> =>
  column(
    scenario,
    `select table_schema || '.' || table_name from information_schema.tables
     where table_name like '%daily%' and table_catalog = current_database() order by all`,
  );

test('an added metric stands in configured order, leaves old values readable, and has each of 20 periods fetched once', async () => {
  scenario = await openScenario([daily], { simulator });
  const restore = smallWindows();
  await runNight(scenario, NOW);
  restore();
  const before = await contentOf(
    scenario,
    '(select day, app_token, os_name, installs, cost, _load_id from daily)',
  );

  await runAborted([wider]);
  expect(await columnsOf('daily')).toBe(
    'day app_token os_name installs clicks cost attr_dependency _extra _load_id',
  );
  const old = new Set(before);
  const meanwhile = await contentOf(
    scenario,
    '(select day, app_token, os_name, installs, cost, _load_id from daily)',
  );
  expect(meanwhile.filter((row) => old.has(row)).length).toBeGreaterThan(before.length / 2);
  expect(meanwhile.length).toBe(before.length);
  expect(
    Number(
      (await column(scenario, 'select count(distinct day) from daily where clicks is not null'))[0],
    ),
  ).toBe(3);

  scenario.simulator.requested.reset();
  const resumed = await runNight(scenario, NOW, { slices: [wider] });
  expect(resumed.slices[0]?.periods).toMatchObject({ 'metric added': 17, new: 0 });
  expect(askedReports(scenario).reduce((sum, { period }) => sum + daysOf(period), 0)).toBe(17);
  const { stored, truth } = await storedAndTrue(scenario, wider, DAYS, NOW);
  expect(stored).toEqual(truth);
  expect(
    await column(
      scenario,
      'select distinct reasons::varchar from ripen.loads where len(metrics) = 3',
    ),
  ).toEqual(['[metric added]']);
  expect(await column(scenario, 'select count(*) from ripen.restatements')).toEqual(['0']);
  expect((await runNight(scenario, NOW, { slices: [wider] })).service.requests).toBe(1);
});

test('a removed metric takes its column with it and has nothing requested', async () => {
  scenario = await openScenario([wider], { simulator });
  await runNight(scenario, NOW);
  scenario.simulator.requested.reset();
  await runNight(scenario, NOW, { slices: [daily] });

  expect(scenario.simulator.requested.counts.report).toBe(0);
  const columns = 'day app_token os_name installs cost attr_dependency _extra _load_id';
  for (const table of ['daily', 'daily_final']) expect(await columnsOf(table)).toBe(columns);
  const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NOW);
  expect(stored).toEqual(truth);
  expect(
    await column(
      scenario,
      "select name || ' ' || change from ripen.schema_changes where name is not null",
    ),
  ).toEqual(['clicks column removed']);
});

test('a slice that loses its date dimension is refused by check, plan and sync alike, and keeps its 20 days', async () => {
  scenario = await openScenario([daily], { simulator });
  await runNight(scenario, NOW);
  const before = await contentOf(scenario, 'daily');
  const undated = {
    ...scenario.config,
    slices: [slice({ ...given, dimensions: ['app_token', 'os_name'] })],
  };
  const signal = new AbortController().signal;
  const refused = {
    code: 'CONFIG_INVALID',
    message: textWith('no longer has a date dimension, and its table has 20 periods'),
  };

  const found = await warehouseFindings(undated, checkingAt(NOW));
  expect(found.filter(({ severity }) => severity === 'error')).toMatchObject([
    { ...refused, severity: 'error', setting: 'slices[0]' },
  ]);
  const request = { planAt: NOW, slices: null, lockWaitMs: 0, emit: () => {}, signal };
  await expect(explainPlan(undated, request)).rejects.toMatchObject(refused);
  const { slices, failures } = await runNight(scenario, NOW, { slices: undated.slices });
  expect({ slices, failures }).toMatchObject({ slices: [], failures: [refused] });
  expect(await contentOf(scenario, 'daily')).toEqual(before);
});

test('after one dimension changed in a slice of 7 rolling days, killed after its first window, 22 days stay and 22 are swapped in', async () => {
  const rolling = slice({
    ...given,
    datePeriod: { first: { daysAgo: 7 }, last: { daysAgo: 1 } },
  });
  const changed = { ...rolling, dimensions: ['day', 'app_token', 'country_code'] };
  scenario = await openScenario([rolling], { simulator });
  const last = new Date('2026-06-02T02:30:00Z');
  for (const day of ['05-18', '05-23', '05-28'])
    await runNight(scenario, new Date(`2026-${day}T02:30:00Z`));
  await runNight(scenario, last);
  const held = async () => [
    await contentOf(scenario, 'daily'),
    await contentOf(scenario, 'daily_final'),
  ];
  const [before, objects] = [await held(), await sliceObjects()];
  const days = "select count(distinct day) || ' of ' || min(day) || ':' || max(day) from daily";
  expect(await column(scenario, days)).toEqual(['22 of 2026-05-11:2026-06-01']);

  const restore = smallWindows();
  await runAborted([changed], last);
  restore();
  expect(await held()).toEqual(before);
  const states = 'select state from ripen.slice_tables order by state';
  expect(await column(scenario, states)).toEqual(['building', 'live']);

  const { failures, slices } = await runNight(scenario, last, { slices: [changed] });
  expect(failures).toEqual([]);
  const reasons = Object.entries(slices[0]?.periods ?? {}).filter(([, count]) => count > 0);
  expect(reasons.map(([reason]) => reason)).toEqual(['meaning changed']);
  expect(await column(scenario, states)).toEqual(['live']);
  expect(await sliceObjects()).toEqual(objects);
  expect(await column(scenario, 'select count(distinct fingerprint) from ripen.periods')).toEqual([
    '1',
  ]);
  expect((await runNight(scenario, last, { slices: [changed] })).service.requests).toBe(1);
  const { stored, truth } = await storedAndTrue(scenario, changed, '2026-05-11:2026-06-01', last);
  expect(stored).toEqual(truth);
});

const FIRST_NIGHT = new Date('2026-06-01T02:30:00Z');
const NEXT_NIGHT = new Date('2026-06-02T02:30:00Z');
const accountSlice = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cost'],
};
const ofAccounts = slice({
  ...accountSlice,
  datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
});

let other: Simulator;

/** The configuration of an account, on a night. */
async function standing(
  on: Date,
  account: 'A' | 'B',
  headers: object = { 'X-Account-Id': account },
): Promise<Config> {
  const simulator = account === 'A' ? scenario.simulator : other;
  simulator.setNow(on);
  const service = { base_url: simulator.url, reports_url: simulator.url, token: TOKEN, headers };
  const slices = [{ ...accountSlice, date_period: '2026-05-28:2026-05-31' }];
  const rest = {
    warehouse: scenario.config.warehouse,
    control: 'off',
    partners: false,
    archive: '30d',
    slices,
  };
  await writeFile(scenario.config.file, JSON.stringify({ service, ...rest }));
  return readConfig({ directory: scenario.directory, environment: {} });
}

async function syncOn(on: Date, account: 'A' | 'B', headers?: object): Promise<void> {
  const config = await standing(on, account, headers);
  expect(await sync(config, { asOf: on })).toMatchObject({ status: 'succeeded', failures: [] });
}

/** Whether the table holds what an account has on a night. */
async function holds(account: 'A' | 'B', on: Date): Promise<boolean> {
  const of = account === 'A' ? scenario : { ...scenario, simulator: other };
  const { stored, truth } = await storedAndTrue(of, ofAccounts, '2026-05-28:2026-05-31', on);
  return JSON.stringify(stored) === JSON.stringify(truth);
}

describe('of two accounts behind one token', () => {
  beforeEach(async () => {
    scenario = await openScenario([ofAccounts], {
      simulator: { world: { ...smallWorld, seed: 1 } },
    });
    other = await startSimulator({ token: TOKEN, world: { ...smallWorld, seed: 2 } });
  });
  test('another account is loaded beside the table of the first and never into it, and a replay loads the configured one', async () => {
    await syncOn(FIRST_NIGHT, 'A');
    const config = await standing(NEXT_NIGHT, 'B');
    const findings = await check(config, { asOf: NEXT_NIGHT });
    expect(findings.map(({ message }) => message).join()).toContain(
      '`service.headers` are not those it was loaded with',
    );
    expect((await plan(config, { asOf: NEXT_NIGHT })).slices[0]?.windows.length).toBeGreaterThan(0);
    await syncOn(NEXT_NIGHT, 'B');
    expect([await holds('A', FIRST_NIGHT), await holds('B', NEXT_NIGHT)]).toEqual([false, true]);
    expect(await query(scenario, 'select * from ripen.restatements')).toEqual([]);

    await rm(scenario.config.warehouse);
    await replay(await standing(NEXT_NIGHT, 'A'), { asOf: NEXT_NIGHT });
    expect(await holds('A', FIRST_NIGHT)).toBe(true);
  });

  test('a key in a header that is renewed, a name in other letters or another order changes nothing', async () => {
    await syncOn(FIRST_NIGHT, 'A', {
      'X-Account-Id': 'A',
      'X-Key': { secret: 'marked-one' },
      'X-B': 1,
    });
    const before = await contentOf(scenario, 'daily');
    const renewed = { 'X-B': 1, 'X-Key': { secret: 'marked-two' }, 'x-account-id': 'A' };
    expect(
      (await plan(await standing(FIRST_NIGHT, 'A', renewed), { asOf: FIRST_NIGHT })).slices[0]
        ?.windows,
    ).toEqual([]);
    await syncOn(FIRST_NIGHT, 'A', renewed);
    expect(await contentOf(scenario, 'daily')).toEqual(before);
  });
});
