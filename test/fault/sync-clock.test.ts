/** Clocks and time zones of the machine: a wrong clock decides nothing, and no zone makes a difference. */

import { afterEach, expect, test, vi } from 'vitest';

import { lastRun } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { dailyInstalls } from '../support/slice.ts';

let scenario: Scenario;

afterEach(async () => {
  vi.useRealTimers();
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

test('an as-of instant is never held against the service clock, be it 180 minutes off', async () => {
  scenario = await openScenario([daily], { simulator });
  skew(180);
  const summary = await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  expect(summary).toMatchObject({ status: 'succeeded', failures: [] });
  expect(scenario.events.filter(({ type }) => type === 'warning')).toEqual([]);
});
