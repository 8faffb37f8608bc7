/** The warehouse is open elsewhere: the run names the holder, waits as long as it was told, and loses no request. */

import { afterEach, beforeEach, expect, test } from 'vitest';

import { column } from '../support/contents.ts';
import { hold, type Holder } from '../support/holder.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { dailyInstalls } from '../support/slice.ts';
import { failureFrom } from '../support/scripted-server.ts';

let scenario: Scenario;
let holder: Holder | null = null;

const NOW = new Date('2026-06-01T02:30:00Z');
const NEXT = new Date('2026-06-02T02:30:00Z');

const daily = dailyInstalls({ first: { daysAgo: 5 }, last: { daysAgo: 1 } });

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  await runNight(scenario, NOW);
  scenario.simulator.asked.reset();
});
afterEach(async () => {
  await holder?.release();
  holder = null;
});

test.each(['READ_ONLY', 'READ_WRITE'] as const)(
  'a warehouse another process holds %s is refused at once with --lock-wait 0, naming its process, after 0 requests',
  async (mode) => {
    holder = await hold(scenario.config.warehouse, mode);
    const failure = await failureFrom(runNight(scenario, NEXT));

    expect(failure).toMatchObject({ code: 'WAREHOUSE_LOCKED', kind: 'unavailable' });
    expect(failure.message).toContain(`process ${holder.pid}`);
    expect(scenario.simulator.asked.requests).toEqual([]);
  },
);

test('a run waits for a holder that lets go within --lock-wait, says whom it waits for, and then loads everything', async () => {
  holder = await hold(scenario.config.warehouse, 'READ_WRITE');
  const held = holder;
  const summary = await runNight(scenario, NEXT, {
    request: { lockWaitMs: 30_000 },
    onEvent: ({ type }) => type === 'lock_waiting' && void held.release(),
  });

  expect(summary.failures).toEqual([]);
  const waits = scenario.events.filter(({ type }) => type === 'lock_waiting');
  expect(waits).toMatchObject([{ waitMs: 30_000 }]);
  expect(JSON.stringify(waits)).toContain(String(held.pid));
  expect(await column(scenario, 'select count(*) from ripen.runs')).toEqual(['2']);
});
