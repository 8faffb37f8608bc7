/** Clocks and time zones of the machine: a wrong clock decides nothing, and no zone makes a difference. */

import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterEach, expect, test, vi } from 'vitest';

import { Secret } from '../../src/config/secret.ts';
import { tellingEnd } from '../../src/notify/run-end.ts';
import { statusOf } from '../../src/status/status.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import { column, contentOf, lastRun, type Readable } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, TOKEN, type Scenario } from '../support/scenario.ts';
import { startScriptedServer } from '../support/scripted-server.ts';
import { dailyInstalls, slice } from '../support/slice.ts';

let scenario: Scenario;

afterEach(async () => {
  vi.useRealTimers();
  await scenario.close();
});

const MINUTE_MS = 60_000;
const simulator = { world: smallWorld };

const daily = dailyInstalls({ first: { daysAgo: 5 }, last: { daysAgo: 1 } });

/** Every answer's Date is off from this machine's clock. */
const skew = (minutes: number): (() => void) =>
  scenario.simulator.script({
    match: () => true,
    times: Infinity,
    fault: { kind: 'date_skew', ms: minutes * MINUTE_MS },
  });

test.each([
  [10, '10 minutes behind'],
  [-10, '10 minutes ahead of'],
])('a service %d minutes ahead of this machine is worth 1 warning, and the run goes on', async (minutes, words) => {
  scenario = await openScenario([daily], { simulator });
  skew(minutes);
  const summary = await runNight(scenario, 'now');
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  const warnings = scenario.events.flatMap((event) =>
    event.type === 'warning' ? [`${event.code} ${event.message}`] : [],
  );
  expect(warnings.length).toBe(1);
  expect(warnings[0]).toContain('CLOCK_OFF');
  expect(warnings[0]).toContain(words);
});

test.each([180, -180])(
  'a service %d minutes ahead of this machine ends the run before any report, with exit code 75',
  async (minutes) => {
    scenario = await openScenario([daily], { simulator });
    skew(minutes);
    const summary = await runNight(scenario, 'now');
    expect(summary.failures).toMatchObject([{ code: 'CLOCK_UNTRUSTED' }]);
    expect(scenario.simulator.asked.counts.report).toBe(0);
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 75 });
    // Nor does the next one, which finds no catalog of that instant.
    expect((await runNight(scenario, 'now')).failures).toMatchObject([{ code: 'CLOCK_UNTRUSTED' }]);
    expect(scenario.simulator.asked.counts).toMatchObject({ filters_data: 2, report: 0 });
  },
);

test('a clock that is set while a run is at work is seen by the answers: nothing is loaded from then on', async () => {
  scenario = await openScenario([daily], { simulator });
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/report'),
    times: Infinity,
    fault: { kind: 'date_skew', ms: 180 * MINUTE_MS },
  });
  expect((await runNight(scenario, 'now')).failures).toMatchObject([{ code: 'CLOCK_UNTRUSTED' }]);
  expect(await column(scenario, "select count(*) from ripen.loads where slice = 'daily'")).toEqual(['0']);
});

test('nothing is let go for its age in a night in which no answer told the time', async () => {
  const kept = slice({ ...daily, retainDays: 30 });
  scenario = await openScenario([kept], { simulator });
  await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  const days = async (): Promise<string[]> => column(scenario, "select count(*) from daily where day < '2026-06-01'");
  const before = await days();
  const isDown = scenario.simulator.script({ match: () => true, times: Infinity, fault: { kind: 'reset' } });
  await runNight(scenario, 'now', { request: { deadlineMs: 500 } });
  expect(await days()).toEqual(before);
  isDown();
  await runNight(scenario, 'now');
  expect(await days()).toEqual(['0']);
});

test('a clock 180 minutes off is also seen when the catalog is still fresh and the first answer is a report: nothing is loaded', async () => {
  scenario = await openScenario([daily], { simulator });
  await runNight(scenario, 'now', { slices: [] });
  skew(180);
  const summary = await runNight(scenario, 'now');
  expect(scenario.simulator.asked.counts).toMatchObject({ filters_data: 1, report: 1 });
  expect(summary.failures).toMatchObject([{ code: 'CLOCK_UNTRUSTED' }]);
  expect(await column(scenario, "select count(*) from ripen.loads where slice = 'daily'")).toEqual(['0']);
});

test('an as-of instant is never held against the service clock, be it 180 minutes off', async () => {
  scenario = await openScenario([daily], { simulator });
  skew(180);
  const summary = await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(scenario.events.filter(({ type }) => type === 'warning')).toEqual([]);
});

test('an as-of instant 1 hour in the future is refused before the warehouse is made', async () => {
  scenario = await openScenario([daily], { simulator });
  const future = new Date(Date.now() + 60 * MINUTE_MS);
  await expect(runNight(scenario, future)).rejects.toMatchObject({ code: 'AS_OF_IN_FUTURE', kind: 'usage' });
  expect(scenario.simulator.asked.requests).toEqual([]);
});

const DAY_MINUTES = 24 * 60;

/** Syncs now on a machine whose clock is off by so many minutes. */
async function runWithClockOff(minutes: number): Promise<string> {
  if (minutes !== 0) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * MINUTE_MS });
  try {
    return (await runNight(scenario, 'now')).status;
  } finally {
    vi.useRealTimers();
  }
}

const healthNow = async (): Promise<unknown> => {
  const { health, runs } = await statusOf(scenario.config, new Date(), 0, { emit: () => {} });
  return [health.state, runs.map(({ status }) => status)];
};

test('a run on a machine whose clock is 2 days ahead is the newest until the next one, whatever its clock says', async () => {
  scenario = await openScenario([daily], { simulator });
  expect(await runWithClockOff(0)).toBe('succeeded');
  expect(await runWithClockOff(2 * DAY_MINUTES)).toBe('failed');
  expect(await healthNow()).toEqual(['failed', ['failed', 'succeeded']]);
  expect(await runWithClockOff(0)).toBe('succeeded');
  expect(await healthNow()).toEqual(['well', ['succeeded', 'failed', 'succeeded']]);
});

test('recovery from a run whose clock was 2 days ahead is told once', async () => {
  scenario = await openScenario([daily], { simulator });
  const server = await startScriptedServer(() => ({ status: 200, body: 'ok' }));
  try {
    const notify = [{ url: new Secret(`${server.origin}/hook`), on: ['recovered'] as const, proxy: null }];
    const { signal } = new AbortController();
    const config = { ...scenario.config, notify };
    const telling = { config, asOf: null, emit: () => {}, signal, metricsFile: null, mode: 0o644 };
    await runWithClockOff(2 * DAY_MINUTES);
    for (const told of [1, 1]) {
      await tellingEnd({ command: 'sync', ...telling }, async (_, look) => runNight(scenario, 'now', { look }));
      expect(server.received.length).toBe(told);
    }
  } finally {
    await server.close();
  }
});

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const run = promisify(execFile);
/** Midnight did not exist on 7 September 2025 in Santiago. */
const ZONES = ['UTC', 'Pacific/Apia', 'America/Sao_Paulo', 'America/Santiago'];

/** Syncs with the built program in a process of its own, in a time zone. */
async function syncIn(zone: string): Promise<Readable> {
  const directory = join(scenario.directory, zone.replace('/', '_'));
  await mkdir(directory);
  const slices = [
    { name: 'hourly', dimensions: '[hour, app_token]', offset: '-04:00' },
    { name: 'daily', dimensions: '[day, app_token]', offset: '+13:00' },
    { name: 'weekly', dimensions: '[week, app_token]', offset: '+00:00' },
  ].map(
    ({ name, dimensions, offset }) =>
      `  - { name: ${name}, dimensions: ${dimensions}, metrics: [installs, cost], date_period: "2025-08-27:yesterday", utc_offset: "${offset}" }`,
  );
  await writeFile(
    join(directory, 'ripen.yaml'),
    `service: { base_url: "${scenario.simulator.url}", reports_url: "${scenario.simulator.url}", token: "\${RIPEN_TOKEN}" }
warehouse: warehouse.duckdb
partners: false
slices:
${slices.join('\n')}
`,
  );
  await run(process.execPath, [CLI, 'sync', '--quiet', '--as-of', '2025-09-10T03:30:00Z'], {
    cwd: directory,
    env: { ...process.env, TZ: zone, RIPEN_TOKEN: TOKEN },
  });
  return {
    async inWarehouse(use) {
      const warehouse = await openWarehouse(join(directory, 'warehouse.duckdb'), {
        mode: 'read',
        lockWaitMs: 0,
        emit: () => {},
      });
      try {
        return await use(warehouse);
      } finally {
        await warehouse.close();
      }
    },
  };
}

test('a host in Apia, São Paulo or Santiago asks for the same days and stores the same hours, days, weeks and instants as one in UTC', async () => {
  scenario = await openScenario([], { simulator: { ...simulator, now: new Date('2025-09-10T03:30:00Z') } });
  const results = await Promise.all(
    ZONES.map(async (zone) => {
      const installed = await syncIn(zone);
      return {
        hourly: await contentOf(installed, '(select * exclude (_load_id) from hourly)'),
        daily: await contentOf(installed, '(select * exclude (_load_id) from daily)'),
        weekly: await contentOf(installed, '(select * exclude (_load_id) from weekly)'),
        final: await contentOf(installed, '(select * exclude (_load_id) from daily_final)'),
        periods: await contentOf(installed, '(select * exclude (load_id) from ripen.periods)'),
      };
    }),
  );
  const [first, ...others] = results;
  expect(first?.hourly.length).toBeGreaterThan(300);
  expect(first?.periods.length).toBeGreaterThan(20);
  for (const other of others) expect(other).toEqual(first);
});
