import { beforeEach, describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/events.ts';
import { Breaker, type Passage } from '../../src/service/breaker.ts';
import { RetryBudget } from '../../src/service/retry-budget.ts';
import type { Clock } from '../../src/service/clock.ts';
import { failureFrom } from '../support/scripted-server.ts';

const signal = new AbortController().signal;
let events: RunEvent[];
/** Ends the sleep that is under way. */
let wake: () => void;
let breaker: Breaker;

beforeEach(() => {
  events = [];
  const clock: Clock = {
    now: () => 0,
    random: () => 0,
    sleep: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
  };
  breaker = new Breaker('https://reports.example.com', clock, signal, (event) => void events.push(event));
});

function passage(): Passage {
  const passed = breaker.pass();
  if (passed === null) throw new Error('the breaker let nothing pass');
  return passed;
}

function fail(times: number): void {
  for (let time = 0; time < times; time += 1) passage().settle('outage', '503');
}

async function halfOpen(): Promise<void> {
  wake();
  await breaker.ready(signal);
}

describe('the breaker', () => {
  test('stays closed after 7 outages and a sign of life, and opens after 8 in a row', () => {
    fail(7);
    passage().settle('alive', '');
    fail(7);
    expect(breaker.pass()).not.toBeNull();
    fail(1);
    expect(breaker.pass()).toBeNull();
    expect(events).toEqual([{ type: 'breaker_opened', waitMs: 5000 }]);
  });

  test('lets exactly one probe through after its wait, and everybody once that one was answered', async () => {
    fail(8);
    await halfOpen();
    const probe = passage();
    expect(breaker.pass()).toBeNull();
    const waiting = Promise.all([breaker.ready(signal), breaker.ready(signal)]);
    probe.settle('alive', '');
    await waiting;
    expect(breaker.pass()).not.toBeNull();
    expect(breaker.pass()).not.toBeNull();
    expect(events.at(-1)).toEqual({ type: 'breaker_closed' });
  });

  test('stays open for answers to calls that began before it opened, and closes for the probe alone', async () => {
    const early = [passage(), passage()];
    fail(8);
    early[0]?.settle('alive', '');
    expect(breaker.pass()).toBeNull();
    await halfOpen();
    const probe = passage();
    early[1]?.settle('alive', '');
    expect(breaker.pass()).toBeNull();
    probe.settle('alive', '');
    expect(breaker.pass()).not.toBeNull();
    expect(events.map(({ type }) => type)).toEqual(['breaker_opened', 'breaker_closed']);
  });

  test('does not open again for outages of calls that began before it opened', async () => {
    const early = Array.from({ length: 8 }, passage);
    fail(8);
    await halfOpen();
    passage().settle('alive', '');
    for (const call of early) call.settle('outage', 'ECONNRESET');
    expect(breaker.pass()).not.toBeNull();
  });

  test('gives the probe to somebody else when it ended for a reason of its own', async () => {
    fail(8);
    await halfOpen();
    const probe = passage();
    const waiting = breaker.ready(signal);
    probe.settle('unclear', '');
    await waiting;
    expect(breaker.pass()).not.toBeNull();
  });

  test('gives up after 6 failed probes, 5, 10, 20, 40, 60 and 60 s apart, and tells all who wait', async () => {
    fail(8);
    for (let probe = 0; probe < 5; probe += 1) {
      await halfOpen();
      passage().settle('outage', '503');
    }
    await halfOpen();
    const last = passage();
    const waiting = failureFrom(breaker.ready(signal));
    last.settle('outage', 'ECONNREFUSED');
    expect((await waiting).code).toBe('SOURCE_UNAVAILABLE');
    await expect(breaker.ready(signal)).rejects.toThrow('6 probes in a row failed, the last with ECONNREFUSED');
    const waits = events.map((event) => (event.type === 'breaker_opened' ? event.waitMs : null));
    expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test('lets go of who is aborted while it is open', async () => {
    fail(8);
    const controller = new AbortController();
    const waiting = breaker.ready(controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

describe('the retry budget', () => {
  test('holds 4 rounds of a concurrency of 50 and earns one retry in 5 successes', () => {
    const budget = new RetryBudget(50);
    for (let retry = 0; retry < 200; retry += 1) expect(budget.take()).toBe(true);
    expect(budget.take()).toBe(false);
    for (let success = 0; success < 6; success += 1) budget.earn();
    expect([budget.take(), budget.take(), budget.spent]).toEqual([true, false, 201]);
  });

  test('lets three calls use all their tries at a concurrency of 1', () => {
    const budget = new RetryBudget(1);
    expect(Array.from({ length: 16 }, () => budget.take()).filter(Boolean)).toHaveLength(15);
  });
});
