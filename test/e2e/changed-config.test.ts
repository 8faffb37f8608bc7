/**
 * A year of a slice whose configuration changes, and a process that is killed in the middle of the change: what was
 * loaded of it stays loaded, and a reader meets the old table or the new one, whole.
 */

import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'vitest';
import * as z from 'zod';

import { addDays, day, daysIn } from '../../src/model/calendar.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { rowsOf } from '../support/installation-contents.ts';
import { openInstallation, serviceAt, TOKEN, type Installation } from '../support/installation.ts';
import { daysOf, reports } from '../support/night.ts';

const FIRST = day('2025-06-01');
const PERIODS = 365;
const MOST_DAYS = 31;
const asOf = '2026-06-01T02:30:00Z';
const allDays = daysIn({ start: FIRST, end: addDays(FIRST, PERIODS) });

let simulator: Simulator;
let installation: Installation;

beforeAll(async () => {
  const world = { seed: 3, apps: 1, partners: 2, links: 6, rowsPerDay: 6 };
  simulator = await startSimulator({ token: TOKEN, world, now: new Date(asOf) });
  // Longer ones are too heavy, so that a year takes many windows.
  const isLong = reports({ date_period: (period) => daysOf(period) > MOST_DAYS });
  simulator.script({ match: isLong, times: Infinity, fault: { kind: 'status', status: 504 } });
});
afterAll(async () => simulator.close());

beforeEach(async () => {
  installation = await openInstallation();
  await configure(given);
  const { code, err } = await sync();
  if (code !== 0) throw new Error(`the first night ended with ${code}: ${err}`);
});
afterEach(async () => installation.close());

const given = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'cost'],
  date_period: `${FIRST}:yesterday`,
};

/** One call at a time, so that a kill after a load finds windows that nobody has asked for. */
const configure = (slice: object): Promise<void> =>
  installation.configure({
    service: { ...serviceAt('${SERVICE}'), max_concurrency: 1 },
    warehouse: 'warehouse.duckdb',
    publish: [{ duckdb: 'analytics.duckdb' }],
    partners: false,
    slices: [slice],
  });

const argv = ['sync', '--as-of', asOf, '--log', 'json'];
const sync = (): Promise<{ code: number | null; err: string }> => installation.run(argv, { SERVICE: simulator.url });

/** Starts the next night and kills it once it says so often that a window was loaded. */
async function killAfterLoads(loads: number): Promise<void> {
  const running = installation.start(argv, { SERVICE: simulator.url });
  for (let line = 1; ; line += 1) {
    await running.untilLine(line);
    if (running.linesAtMs.length < line) throw new Error('The run ended before it was killed.');
    if (running.said().split('"window_loaded"').length > loads) break;
  }
  running.kill('SIGKILL');
  expect((await running.ended).code).toBeNull();
}

/** The days of every report that was answered since so many requests. */
function daysAskedSince(requests: number): string[] {
  return simulator.asked.requests.slice(requests).flatMap(({ path, query, status }) => {
    const [first, last] = (new URLSearchParams(query).get('date_period') ?? '').split(':');
    if (!path.endsWith('/report') || status !== 200 || first === undefined || last === undefined) return [];
    return daysIn({ start: day(first), end: addDays(day(last), 1) });
  });
}

const askedSoFar = (): number => simulator.asked.requests.length;
const warehouse = (): string => installation.path('warehouse.duckdb');
const published = (): string => installation.path('analytics.duckdb');
const texts = async (path: string, sql: string): Promise<string[]> =>
  (await rowsOf(path, sql)).map((row) => JSON.stringify(row));
const dayRows = z.array(z.object({ day: z.string() }));

test('a metric added to a slice of 365 days is fetched once for each, through a kill; what was there stays readable', async () => {
  const wider = { ...given, metrics: ['installs', 'clicks', 'cost'] };
  await configure(wider);
  const old = await texts(published(), 'select day, os_name, installs, cost from daily order by all');
  const before = askedSoFar();

  await killAfterLoads(3);
  const atKill = askedSoFar();
  const loaded = dayRows.parse(
    await rowsOf(warehouse(), 'select distinct day::varchar as day from daily where clicks is not null'),
  );
  expect(loaded.length).toBeGreaterThan(30);
  expect(loaded.length).toBeLessThan(PERIODS);
  // The history is settled, so that the values of before are the values of now.
  const settled = `where day < date '2026-05-01' order by all`;
  expect(await texts(warehouse(), `select day, os_name, installs, cost from daily ${settled}`)).toEqual(
    await texts(published(), `select day, os_name, installs, cost from daily ${settled}`),
  );
  expect(await texts(published(), 'select day, os_name, installs, cost from daily order by all')).toEqual(old);

  expect((await sync()).code).toBe(0);
  const asked = daysAskedSince(atKill);
  expect(asked.filter((each) => loaded.some((period) => period.day === each))).toEqual([]);
  expect(new Set(asked).size).toBe(asked.length);
  expect(new Set(daysAskedSince(before))).toEqual(new Set(allDays));
  const [found] = await rowsOf(published(), 'select count(distinct day)::integer as days from daily where clicks >= 0');
  expect(found).toEqual({ days: PERIODS });

  const after = askedSoFar();
  expect((await sync()).code).toBe(0);
  expect(daysAskedSince(after)).toEqual([]);
});

test('a changed dimension is built beside the table of 365 days through a kill, and no reader meets a mixed one', async () => {
  const old = await texts(warehouse(), 'select * from daily order by all');
  await configure({ ...given, dimensions: ['day', 'app_token', 'os_name'] });
  const before = askedSoFar();

  await killAfterLoads(3);
  const atKill = askedSoFar();
  expect(await texts(warehouse(), 'select * from daily order by all')).toEqual(old);
  expect(await texts(published(), 'select * from daily order by all')).toEqual(old);

  expect((await sync()).code).toBe(0);
  expect(new Set(daysAskedSince(before))).toEqual(new Set(allDays));
  expect(daysAskedSince(atKill).length).toBeLessThan(PERIODS - 30);
  for (const path of [warehouse(), published()]) {
    const [found] = await rowsOf(
      path,
      'select count(distinct day)::integer as days, count(*) = count(app_token) as whole from daily',
    );
    expect(found).toEqual({ days: PERIODS, whole: true });
  }
});
