import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Breaker } from '../../src/service/breaker.ts';
import { Pace } from '../../src/service/pace.ts';
import type { Clock } from '../../src/service/clock.ts';
import { Credential, turn } from '../../src/service/call.ts';
import { failureFrom } from '../support/scripted-server.ts';

const life = new AbortController().signal;

/** A lane whose breaker has opened; `wake` ends its wait. */
function openLane() {
  let wake = (): void => {};
  const clock: Clock = {
    now: () => 0,
    random: () => 0,
    sleep: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  };
  const breaker = new Breaker('https://reports.example.com', clock, life, () => {});
  const pace = new Pace({ maxConcurrency: 10, maxStartsPerSecond: 50 }, clock, life, () => {});
  for (let time = 0; time < 8; time += 1) breaker.pass()?.settle('outage', '503');
  return { lane: { breaker, pace, credential: new Credential() }, wake: () => wake() };
}

describe('a turn', () => {
  test('waits outside while the breaker is open, without a place and without a start', async () => {
    const { lane, wake } = openLane();
    const turns = Array.from({ length: 5 }, () => turn(lane, life));
    await settled();
    expect(lane.pace.peak).toBe(0);
    wake();
    const probe = await Promise.race(turns);
    await settled();
    expect(lane.pace.inFlight).toBe(1);
    probe.passage.settle('alive', '');
    probe.slot.leave('fine');
    expect(await Promise.all(turns)).toHaveLength(5);
    expect(lane.pace.inFlight).toBe(4);
  });

  test('of a call aborted while it waits is given to nobody and holds no place', async () => {
    const { lane, wake } = openLane();
    const controller = new AbortController();
    const [aborted, waiting] = [turn(lane, controller.signal), turn(lane, life)];
    controller.abort(new Error('left'));
    await expect(aborted).rejects.toThrow('left');
    wake();
    await waiting;
    expect(lane.pace.inFlight).toBe(1);
  });

  test('is refused without a place once the breaker has given up', async () => {
    const { lane, wake } = openLane();
    for (let probe = 0; probe < 6; probe += 1) {
      wake();
      const { slot, passage } = await turn(lane, life);
      passage.settle('outage', '503');
      slot.leave('failed');
    }
    expect((await failureFrom(turn(lane, life))).code).toBe('SOURCE_UNAVAILABLE');
    expect(lane.pace.inFlight).toBe(0);
  });
});
