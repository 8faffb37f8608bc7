import { setImmediate as settled } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/events.ts';
import { Lane, type CallResult, type Release } from '../../src/service/lane.ts';
import { property } from '../support/property.ts';
import { swiftClock } from '../support/scripted-server.ts';

const life = new AbortController().signal;

function lane(
  maxConcurrency: number,
  maxStartsPerSecond = 50,
  clock = swiftClock(),
  events: RunEvent[] = [],
): Lane {
  return new Lane({
    origin: 'https://reports.example.com',
    maxConcurrency,
    maxStartsPerSecond,
    clock,
    life,
    emit: (event) => void events.push(event),
  });
}

type Step =
  | { readonly do: 'enter' }
  | { readonly do: 'leave'; readonly which: number; readonly how: CallResult }
  | { readonly do: 'abort'; readonly which: number };

const which = fc.nat(1000);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ do: 'enter' } as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('leave' as const),
      which,
      how: fc.constantFrom<CallResult>(
        'answered',
        'answered',
        'overloaded',
        'alive',
        'outage',
        'unclear',
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), which }) },
);

interface Entrant {
  readonly number: number;
  readonly controller: AbortController;
}

describe('the lane', () => {
  test(
    'whatever comes and goes: never above the limit, first in first out, nobody forgotten',
    property(
      [fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 })],
      { numRuns: 300 },
      async (max, steps) => {
        const pace = lane(max, 3);
        const inside: Release[] = [];
        const waiting = new Map<number, Entrant>();
        const served: number[] = [];
        const violations: string[] = [];
        const hold = (law: boolean, name: string): void => {
          if (!law) violations.push(name);
        };
        const enter = async (number: number): Promise<void> => {
          const entrant = { number, controller: new AbortController() };
          waiting.set(number, entrant);
          try {
            const release = await pace.enter(entrant.controller.signal);
            served.push(number);
            inside.push(release);
          } catch {
            hold(entrant.controller.signal.aborted, 'only the aborted are turned away');
          }
          waiting.delete(number);
        };
        for (const [number, action] of steps.entries()) {
          const before = pace.inFlight;
          if (action.do === 'enter') {
            void enter(number);
            hold(
              pace.inFlight === before || pace.inFlight <= pace.limit,
              'who enters does so within the limit',
            );
          } else if (action.do === 'leave' && inside.length > 0) {
            const [release] = inside.splice(action.which % inside.length, 1);
            release?.(action.how);
            hold(
              pace.inFlight < before || pace.inFlight <= pace.limit,
              'who follows does so within the limit',
            );
          } else if (action.do === 'abort' && waiting.size > 0) {
            [...waiting.values()][action.which % waiting.size]?.controller.abort(new Error('left'));
          }
          if (number % 3 === 0) await settled();
          hold(
            pace.inFlight <= max && pace.inFlight >= inside.length,
            'all who are inside are counted',
          );
        }
        for (let round = 0; waiting.size > 0 || inside.length > 0; round += 1) {
          expect(round).toBeLessThan(1000);
          for (const release of inside.splice(0)) release('answered');
          await settled();
        }
        expect(served).toEqual([...served].sort((a, b) => a - b));
        expect(violations).toEqual([]);
        expect(pace.inFlight).toBe(0);
        expect(pace.peak).toBeLessThanOrEqual(max);
      },
    ),
  );

  test('250 calls at 50 a second start in bursts of 100 and then 20 ms apart', async () => {
    const clock = swiftClock();
    const startedAt = clock.now();
    const pace = lane(50, 50, clock);
    const starts: number[] = [];
    for (let count = 0; count < 250; count += 1) {
      const release = await pace.enter(life);
      starts.push(clock.now() - startedAt);
      release('answered');
    }
    expect(starts[99]).toBe(0);
    expect(starts[100]).toBe(20);
    expect(starts[249]).toBe(3000);
  });
});

describe('outages', () => {
  /** A lane of 10 that has paused, and what happens there. */
  async function paused() {
    const events: RunEvent[] = [];
    const calls = lane(10, 50, swiftClock(), events);
    for (let time = 0; time < 8; time += 1) (await calls.enter(life))('outage', '503');
    return { calls, events };
  }

  test('7 and a sign of life pause nothing, 8 in a row do, and exactly one probe follows', async () => {
    const events: RunEvent[] = [];
    const calls = lane(10, 50, swiftClock(), events);
    for (const sign of [
      ...Array<CallResult>(7).fill('outage'),
      'alive',
      ...Array<CallResult>(7).fill('outage'),
    ] as const) {
      (await calls.enter(life))(sign, '503');
    }
    expect(events).toEqual([]);
    (await calls.enter(life))('outage', '503');
    const waiting = [calls.enter(life), calls.enter(life), calls.enter(life)];
    expect(calls.inFlight).toBe(0);
    const probe = await Promise.race(waiting);
    await settled();
    expect(calls.inFlight).toBe(1);
    probe('answered');
    await Promise.all(waiting);
    expect(events).toEqual([{ type: 'breaker_opened', waitMs: 5000 }, { type: 'breaker_closed' }]);
  });

  test('6 failed probes, 5, 10, 20, 40, 60 and 60 s apart, end every call', async () => {
    const { calls, events } = await paused();
    for (let probe = 0; probe < 5; probe += 1) (await calls.enter(life))('outage', '503');
    const last = await calls.enter(life);
    const waiting = calls.enter(life);
    last('outage', 'ECONNREFUSED');
    await expect(waiting).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    await expect(calls.enter(life)).rejects.toThrow(
      '6 probes in a row failed, the last with ECONNREFUSED',
    );
    const waits = events.map((event) => (event.type === 'breaker_opened' ? event.waitMs : null));
    expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });
});
