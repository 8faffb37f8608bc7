/** Replays of what nights archived: the same rows, the same finality, without a request, and nothing of what was dropped. */

import { copyFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';

import { describe, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import {
  archived,
  archiveFiles,
  DAY_MS,
  entriesOf,
  loadedState,
  loseWarehouse,
  replayInto,
} from '../support/archive-scene.ts';
import { gridOf, openAnswering } from '../support/answering.ts';
import { column, contentOf, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, smallWorld } from '../support/night.ts';
import { nullRows } from '../support/report-mutations.ts';
import { openScenario, TOKEN, type Scenario } from '../support/scenario.ts';
import { json } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';
import { drop } from '../../src/index.ts';

let scenario: Scenario;

const FIRST = new Date('2026-06-01T02:30:00Z');
const SECOND = new Date('2026-06-02T02:30:00Z');
const simulator = { world: { ...smallWorld, apps: 1, rowsPerDay: 12 } };

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token', 'network', 'os_name'],
  metrics: ['installs', 'clicks', 'cost', 'ecpi', 'all_revenue_total_d7'],
  datePeriod: { first: { daysAgo: 9 }, last: { daysAgo: 1 } },
});
const small = slice({ ...daily, dimensions: ['day', 'app_token'], metrics: ['installs', 'cost'] });

test('a replay reports no moved totals: what it loads is no news of the service', async () => {
  const days = ['2026-05-10', '2026-05-11'];
  const of = slice({
    ...small,
    datePeriod: { first: { day: day('2026-05-10') }, last: { day: day('2026-05-11') } },
  });
  const rows = gridOf(days, { app_token: ['a', 'b'] }, of.metrics);
  const world = await openAnswering([of], rows);
  const config = { ...archived, controlMs: 400 * DAY_MS };
  expect((await world.night(1, { config })).failures).toEqual([]);
  world.rows = gridOf(days, { app_token: ['a', 'b'] }, of.metrics, 2);
  world.rewrite({ part: 'undivided' }, () => ({ status: 400 }));
  expect((await world.night(2, { config })).failures).toHaveLength(1);
  const moved = (): number =>
    world.scenario.events.filter(({ type }) => type === 'totals_moved').length;
  expect(moved()).toBe(1);
  await replayInto(world.scenario, config);
  expect(moved()).toBe(1);
});

describe('a lost warehouse', () => {
  test('of 4 grains and 2 nights is the same rows and periods after a replay, without a request', async () => {
    const weekly = slice({
      ...daily,
      name: 'weekly',
      grain: 'week',
      dimensions: ['week', 'partner_id', 'partner_name'],
    });
    const whole = slice({
      ...daily,
      name: 'whole',
      grain: null,
      dimensions: ['app_token', 'os_name'],
    });
    const hourly = slice({
      ...small,
      name: 'hourly',
      grain: 'hour',
      dimensions: ['hour', 'app_token'],
    });
    scenario = await openScenario([daily, weekly, whole, hourly], { simulator });
    for (const night of [FIRST, SECOND])
      expect((await scenario.night(night, archived)).failures).toEqual([]);
    const names = ['daily', 'weekly', 'whole', 'hourly'];
    const before = await loadedState(scenario, names);
    // Without `partners` nobody looks for those that rows carry.
    expect(before.map((part) => part.length > 0).indexOf(false)).toBe(before.length - 1);
    await loseWarehouse(scenario);
    scenario.simulator.requested.reset();
    const summary = await replayInto(scenario);

    expect(summary).toMatchObject({
      status: 'succeeded',
      failures: [],
      service: { requests: 0, bytes: 0 },
    });
    expect(summary.slices.map(({ name }) => name)).toEqual(names);
    for (const { windows, requests } of summary.slices) {
      expect(windows).toEqual({ planned: windows.loaded, loaded: windows.loaded, failed: 0 });
      expect(requests).toBe(0);
    }
    // A report without a date is replaced whole each night: only the newest answer counts.
    expect(summary.slices.map(({ windows }) => windows.loaded)[2]).toBe(1);
    expect(scenario.simulator.requested.requests).toEqual([]);
    expect(await loadedState(scenario, names)).toEqual(before);
    expect(await lastRun(scenario)).toEqual({ status: 'succeeded', exit_code: 0 });
    expect(await column(scenario, 'select distinct command from ripen.runs')).toEqual(['replay']);
  });

  test('loads no archived week that begins on another day than week_starts_on, empty or not, and fails its window', async () => {
    const weekly = slice({
      ...small,
      grain: 'week',
      dimensions: ['week', 'app_token'],
      datePeriod: { first: { day: day('2026-05-18') }, last: { day: day('2026-05-31') } },
    });
    const cells = { week: ['2026-05-25 - 2026-05-31'], app_token: ['a', 'b'] };
    const world = await openAnswering([weekly], gridOf(['2026-05-27'], cells, weekly.metrics));
    scenario = world.scenario;
    expect((await world.night(1, { config: archived })).failures).toEqual([]);
    await loseWarehouse(scenario);
    const { failures } = await replayInto(scenario, { slices: [{ ...weekly, weekStartsOn: 0 }] });

    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATA_MALFORMED']));
    expect(failures[0]?.message).toContain('week_starts_on is sunday');
    expect(await column(scenario, 'select count(*) from ripen.periods')).toEqual(['0']);
  });

  test('gets back a loss that was accepted, although an older answer had the rows', async () => {
    scenario = await openScenario([small], { simulator });
    await scenario.night(FIRST, archived);
    const older = `${scenario.config.warehouse}.older`;
    await copyFile(scenario.config.warehouse, older);
    scenario.simulator.script({
      match: reports(),
      times: 1,
      fault: { kind: 'status', status: 204, body: 'empty' },
    });
    const forced = { start: day('2026-05-23'), end: day('2026-05-25') };
    await scenario.night(SECOND, archived, { command: 'backfill', forced, acceptLoss: true });
    const before = await loadedState(scenario, ['daily']);
    await loseWarehouse(scenario);

    expect((await replayInto(scenario)).failures).toEqual([]);
    expect(await loadedState(scenario, ['daily'])).toEqual(before);
    expect(await column(scenario, "select count(*) from daily where day < '2026-05-25'")).toEqual([
      '0',
    ]);
    await copyFile(older, scenario.config.warehouse);
    expect((await replayInto(scenario)).failures).toEqual([]);
    expect(await column(scenario, "select count(*) from daily where day < '2026-05-25'")).toEqual([
      '0',
    ]);
  });
});

test('the archive holds private files, no token, and nothing that did not load', async () => {
  scenario = await openScenario([small], { simulator });
  scenario.simulator.script({
    match: reports(),
    times: 1,
    fault: { kind: 'report', mutate: nullRows() },
  });
  await scenario.night(FIRST, archived);
  await scenario.night(SECOND, archived);
  const files = await archiveFiles(scenario);

  expect(files.filter(({ path }) => path.endsWith('window.json')).length).toBe(
    Number((await column(scenario, 'select count(*) from ripen.loads'))[0]),
  );
  expect(new Set(files.map(({ mode }) => mode))).toEqual(new Set(['600']));
  expect(files.filter(({ text }) => text.includes(TOKEN))).toEqual([]);
  expect(files.some(({ text }) => text.includes('"rows":'))).toBe(true);
  for (const entry of await entriesOf(scenario, 'daily')) {
    expect(((await stat(entry)).mode & 0o777).toString(8)).toBe('700');
    expect(basename(entry)).toMatch(/^\d{8}T\d{9}Z\.2026-0\d-\d\d_2026-0\d-\d\d\.\w+$/);
  }
});

test('answers of one as-of instant, into the warehouse they came from: no value goes back to that of an older one, and nothing is restated', async () => {
  const stated = slice({
    ...small,
    datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } },
  });
  scenario = await openScenario([stated], { simulator });
  // Three answers, each with values of its own: for 28 to 30 May, then for the 29th and 30th, then for the 30th.
  for (const [at, first] of ['2026-05-28', '2026-05-29', '2026-05-30'].entries()) {
    const forced = { start: day(first), end: day('2026-05-31') };
    const request = {
      asOf: new Date('2026-06-10T02:30:00Z'),
      forced,
      command: 'backfill',
    } as const;
    const { failures } = await scenario.night(
      new Date(FIRST.getTime() + at * 3 * DAY_MS),
      archived,
      request,
    );
    expect(failures).toEqual([]);
  }
  const values = () => contentOf(scenario, '(select * exclude ("_load_id") from daily)');
  const restatements = () =>
    contentOf(scenario, '(select * exclude ("load_id") from ripen.restatements)');
  const [before, moved] = [await values(), await restatements()];
  expect(moved.length).toBeGreaterThan(0);
  const summary = await replayInto(scenario);

  expect(summary).toMatchObject({
    failures: [],
    slices: [{ windows: { planned: 3, loaded: 3 }, restated_periods: 0 }],
  });
  expect(await values()).toEqual(before);
  expect(await restatements()).toEqual(moved);
  expect(
    await column(scenario, "select code from ripen.warnings where code like 'REPLAY%'"),
  ).toEqual([]);
});

test('days before a drop come back neither into the warehouse nor into a new one: answers with one of them are deleted whole', async () => {
  // Two answers of each slice, of 18 to 24 and 25 to 31 May, and a later one of 22 to 27 May.
  const stated = { first: { day: day('2026-05-18') }, last: { day: day('2026-05-31') } };
  const slices = ['daily', 'other'].map((name) => slice({ ...small, name, datePeriod: stated }));
  scenario = await openScenario(slices, { simulator });
  await scenario.night(FIRST, archived);
  const forced = { start: day('2026-05-22'), end: day('2026-05-28') };
  await scenario.night(FIRST, archived, {
    command: 'backfill',
    forced,
    asOf: null,
    slices: ['daily'],
  });

  const options = { slice: 'daily', before: day('2026-05-25'), agree: true } as const;
  const { dropped } = await drop({ ...scenario.config, ...archived }, options);
  expect(dropped).toMatchObject({ periods: 7, answers: 2 });
  expect(
    (await entriesOf(scenario, 'daily')).map((path) => basename(path).split('.').at(-2)),
  ).toEqual(['2026-05-25_2026-05-31']);
  const before = await loadedState(scenario, ['daily', 'other']);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await loadedState(scenario, ['daily', 'other'])).toEqual(before);

  await loseWarehouse(scenario);
  expect((await replayInto(scenario)).failures).toEqual([]);
  expect(await column(scenario, 'select distinct day from daily order by day')).toEqual(
    Array.from({ length: 7 }, (_, at) => `2026-05-${25 + at}`),
  );
  expect((await loadedState(scenario, ['other']))[0]).toEqual(before[1]);
});

test('parts that were loaded although the whole disagreed are unproven after a replay too, and stay due', async () => {
  const daily = slice({
    name: 'daily',
    dimensions: ['day', 'app_token', 'network'],
    metrics: ['installs', 'clicks'],
    completeness: 'warn',
    datePeriod: { first: { day: day('2026-05-10') }, last: { day: day('2026-05-10') } },
  });
  const places = { app_token: ['a', 'b'], network: ['x', 'y'] };
  const rows = gridOf(['2026-05-10'], places, daily.metrics);
  const world = await openAnswering([daily], rows, { maxRows: 3, listed: ['a', 'b'] });
  world.rewrite({ part: 'whole' }, (report) =>
    json({ rows: report.rows.map((row) => ({ ...row, installs: '9999' })), totals: {} }),
  );
  await world.night(1, { config: archived });
  await loseWarehouse(world.scenario);
  expect((await replayInto(world.scenario, archived)).failures).toEqual([]);
  const periods = "select verdict || ' ' || state || ' ' || rows from ripen.periods";
  expect(await column(world.scenario, periods)).toEqual(['unproven maturing 4']);
});

test('a replay into a new warehouse names the app that went and the days whose rows only older answers have', async () => {
  const [kept, gone] = ['keptapp12345', 'goneapp12345'];
  const days = ['2026-05-20', '2026-05-21', '2026-05-30', '2026-05-31'];
  const lasting = slice({
    ...small,
    datePeriod: { first: { day: day('2026-05-20') }, last: { daysAgo: 1 } },
    horizons: [{ pattern: '*', horizonMs: 7 * DAY_MS }],
  });
  const rows = gridOf([...days, '2026-06-01'], { app_token: [kept, gone] }, lasting.metrics);
  const world = await openAnswering([lasting], rows, { apps: [kept, gone] });
  await world.night(1, { config: archived });
  world.apps = [kept];
  await world.night(2, { config: archived });
  const daysOf = (): Promise<string[]> =>
    column(world.scenario, `select day from daily where app_token = '${gone}' order by day`);
  expect(await daysOf()).toEqual(days);
  expect((await replayInto(world.scenario, archived)).failures).toEqual([]);
  const told = (): string[] => world.warnings().filter((words) => words.startsWith('REPLAY_'));
  expect(told()).toEqual([]);

  await loseWarehouse(world.scenario);
  expect((await replayInto(world.scenario, archived)).failures).toEqual([]);
  expect(await daysOf()).toEqual(days.slice(0, 2));
  expect(told()).toEqual([
    textWith(`${gone} are missing in 2 periods from 2026-05-30 to 2026-05-31`),
  ]);
});
