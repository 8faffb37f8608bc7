/**
 * Clocks that are wrong: a service's and the machine's that differ decide nothing; of a night on a machine whose clock was ahead, of a
 * service that does not state the time, nothing relies on what it recorded until its slices are dropped and loaded anew.
 */

import { afterEach, expect, test, vi } from 'vitest';

import { drop, plan, publish, status } from '../../src/index.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { column, contentOf, lastRun } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { runNight, smallWorld, type NightOptions } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { dailyInstalls, slice } from '../support/slice.ts';

let scenario: Scenario;

afterEach(() => {
  vi.useRealTimers();
});

const DAY_MS = 86_400_000;

const daysBack = (count: number) =>
  day(new Date(Date.now() - count * DAY_MS).toISOString().slice(0, 10));

/** The last 5 days, whatever a clock says. */
const given = {
  metrics: ['installs'],
  datePeriod: { first: { day: daysBack(5) }, last: { day: daysBack(1) } },
};
const daily = slice({ ...given, name: 'daily', dimensions: ['day', 'app_token'] });
const weekly = slice({ ...given, name: 'weekly', dimensions: ['week', 'app_token'] });
const dateless = slice({ ...given, name: 'dateless', dimensions: ['app_token'] });
const refused = { code: 'FETCH_IN_FUTURE', kind: 'unavailable' };

/** Runs on a machine whose clock is so many days ahead of the service's, which does not state the time; returns what failed. */
async function runWith(daysAhead: number, options: NightOptions = {}): Promise<string[]> {
  const real = new Date();
  scenario.simulator.setNow(real);
  const simulator = { ...scenario.simulator, setNow: () => {} };
  const skew = {
    match: () => true,
    times: Infinity,
    fault: { kind: 'date_skew', ms: NaN },
  } as const;
  const restore = scenario.simulator.script(skew);
  if (daysAhead !== 0)
    vi.useFakeTimers({ toFake: ['Date'], now: real.getTime() + daysAhead * DAY_MS });
  try {
    const summary = await runNight({ ...scenario, simulator }, 'now', options);
    return summary.failures.map(({ code }) => code);
  } finally {
    vi.useRealTimers();
    restore();
  }
}

/** Follows the hint of a refused sync: drops the slices that it names, then backfills them; returns the slices. */
async function mend(): Promise<string[]> {
  const hint = await runWith(0).then(
    () => '',
    (failure: { readonly hint: string }) => failure.hint,
  );
  const dropped = [...hint.matchAll(/ripen drop --slice (\S+?)`/g)].map(([, name = '']) => name);
  for (const name of dropped) await drop(scenario.config, { slice: name, agree: true });
  expect(await runWith(0)).toEqual([]);
  const backfills = hint.matchAll(/ripen backfill --slice (\S+) --from (\S+) --to (\S+)`/g);
  for (const [, name = '', first = '', last = ''] of backfills) {
    const forced = { start: day(first), end: addDays(day(last), 1) };
    const request = { command: 'backfill', slices: [name], forced, asOf: null } as const;
    expect(await runWith(0, { request })).toEqual([]);
  }
  return dropped;
}

const finalRows = async (name: string): Promise<unknown> =>
  column(scenario, `select count(*) from ${name}_final where installs is not null`);

test('periods fetched 60 days ahead are refused before any request, a backfill among them, and mended by the drops that are named: none is final then', async () => {
  scenario = await openScenario([daily, weekly, dateless], { simulator: { world: smallWorld } });
  expect(await runWith(60)).toEqual([]);
  expect(await finalRows('daily')).not.toEqual(['0']);
  const before = await contentOf(scenario, 'ripen.periods');
  scenario.simulator.requested.reset();
  const naming = {
    ...refused,
    message: textWith('slices daily, dateless, weekly: '),
  };
  await expect(runWith(0)).rejects.toMatchObject(naming);
  await expect(plan(scenario.config)).rejects.toMatchObject(naming);
  await expect(publish(scenario.config)).rejects.toMatchObject(naming);
  const forced = { start: daysBack(5), end: daysBack(4) };
  const request = { command: 'backfill', slices: ['daily'], forced, asOf: null } as const;
  await expect(runWith(0, { request })).rejects.toMatchObject(naming);
  expect(scenario.simulator.requested.requests).toEqual([]);
  expect(await contentOf(scenario, 'ripen.periods')).toEqual(before);
  const { health } = await status(scenario.config);
  expect(health).toMatchObject({ state: 'failed' });
  expect(health.findings).toContainEqual({
    message: naming.message,
    hint: textWith('ripen drop --slice '),
  });

  expect(await mend()).toEqual(['daily', 'dateless', 'weekly']);
  for (const name of ['daily', 'weekly', 'dateless']) expect(await finalRows(name)).toEqual(['0']);
  for (const sql of [
    'from ripen.periods where fetched_at > now()',
    'from ripen.loads where known_at > now()',
  ]) {
    expect(await column(scenario, `select count(*) ${sql}`)).toEqual(['0']);
  }
  expect((await status(scenario.config)).health.findings).toEqual([]);
});

const installs = dailyInstalls({ first: { daysAgo: 5 }, last: { daysAgo: 1 } });

/** Every answer's Date is off from this machine's clock. */
const skew = (minutes: number): (() => void) =>
  scenario.simulator.script({
    match: () => true,
    times: Infinity,
    fault: { kind: 'date_skew', ms: minutes * 60_000 },
  });

test.each([
  [10, '10 minutes behind'],
  [-10, '10 minutes ahead of'],
])(
  'a service %d minutes ahead of this machine is worth 1 warning, and the run goes on',
  async (minutes, words) => {
    scenario = await openScenario([installs], { simulator: { world: smallWorld } });
    skew(minutes);
    const summary = await runNight(scenario, 'now');
    expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
    const warnings = scenario.events.flatMap((event) =>
      event.type === 'warning' ? [`${event.code} ${event.message}`] : [],
    );
    expect(warnings.length).toBe(1);
    expect(warnings[0]).toContain('CLOCK_OFF');
    expect(warnings[0]).toContain(words);
    const stored = "select code || ' ' || message from ripen.warnings";
    expect(await column(scenario, stored)).toEqual(warnings);
  },
);

test.each([180, -180])(
  'a service %d minutes ahead of this machine ends the run before any report, with exit code 75',
  async (minutes) => {
    scenario = await openScenario([installs], { simulator: { world: smallWorld } });
    skew(minutes);
    const summary = await runNight(scenario, 'now');
    expect(summary.failures).toMatchObject([{ code: 'CLOCK_UNTRUSTED' }]);
    expect(scenario.simulator.requested.counts.report).toBe(0);
    expect(await lastRun(scenario)).toEqual({ status: 'failed', exit_code: 75 });
    // Nor does the next one, which finds no catalog of that instant.
    expect((await runNight(scenario, 'now')).failures).toMatchObject([{ code: 'CLOCK_UNTRUSTED' }]);
    expect(scenario.simulator.requested.counts).toMatchObject({ filters_data: 2, report: 0 });
  },
);

test('an as-of instant is never held against the service clock, be it 180 minutes off', async () => {
  scenario = await openScenario([installs], { simulator: { world: smallWorld } });
  skew(180);
  const summary = await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(scenario.events.filter(({ type }) => type === 'warning')).toEqual([]);
});
