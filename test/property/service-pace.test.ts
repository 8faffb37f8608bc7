import { setImmediate as settled } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Leaving, Pace, type Slot } from '../../src/service/pace.ts';
import { swiftClock } from '../support/scripted-server.ts';

const life = new AbortController().signal;

type Step =
  | { readonly do: 'enter' }
  | { readonly do: 'leave'; readonly which: number; readonly how: Leaving }
  | { readonly do: 'abort'; readonly which: number };

const which = fc.nat(1000);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ do: 'enter' } as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('leave' as const),
      which,
      how: fc.constantFrom<Leaving>('fine', 'fine', 'overloaded', 'failed'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), which }) },
);

interface Entrant {
  readonly number: number;
  readonly controller: AbortController;
}

describe('the pace', () => {
  test('whatever comes and goes: never above the limit, first in first out, nobody forgotten', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), async (max, steps) => {
        const pace = new Pace({ maxConcurrency: max, maxStartsPerSecond: 3 }, swiftClock(), life, () => {});
        const inside: Slot[] = [];
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
            const slot = await pace.enter(entrant.controller.signal);
            served.push(number);
            inside.push(slot);
          } catch {
            hold(entrant.controller.signal.aborted, 'only the aborted are turned away');
          }
          waiting.delete(number);
        };
        for (const [number, action] of steps.entries()) {
          const before = pace.inFlight;
          if (action.do === 'enter') {
            void enter(number);
            hold(pace.inFlight === before || pace.inFlight <= pace.limit, 'who enters does so within the limit');
          } else if (action.do === 'leave' && inside.length > 0) {
            const [slot] = inside.splice(action.which % inside.length, 1);
            slot?.leave(action.how);
            slot?.leave(action.how);
            hold(pace.inFlight < before || pace.inFlight <= pace.limit, 'who follows does so within the limit');
          } else if (action.do === 'abort' && waiting.size > 0) {
            [...waiting.values()][action.which % waiting.size]?.controller.abort(new Error('left'));
          }
          if (number % 3 === 0) await settled();
          hold(pace.inFlight <= max && pace.inFlight >= inside.length, 'all who are inside are counted');
        }
        for (let round = 0; waiting.size > 0 || inside.length > 0; round += 1) {
          expect(round).toBeLessThan(1000);
          for (const slot of inside.splice(0)) slot.leave('fine');
          await settled();
        }
        expect(served).toEqual([...served].sort((a, b) => a - b));
        expect(violations).toEqual([]);
        expect(pace.inFlight).toBe(0);
        expect(pace.peak).toBeLessThanOrEqual(max);
      }),
      { numRuns: 300 },
    );
  });

  test('250 calls at 50 a second start in bursts of 100 and then 20 ms apart', async () => {
    const clock = swiftClock();
    const startedAt = clock.now();
    const pace = new Pace({ maxConcurrency: 50, maxStartsPerSecond: 50 }, clock, life, () => {});
    const starts: number[] = [];
    for (let count = 0; count < 250; count += 1) {
      const slot = await pace.enter(life);
      starts.push(clock.now() - startedAt);
      slot.leave('fine');
    }
    expect(starts[99]).toBe(0);
    expect(starts[100]).toBe(20);
    expect(starts[249]).toBe(3000);
  });
});

describe('the limit', () => {
  async function filled(pace: Pace, count: number): Promise<Slot[]> {
    const slots: Slot[] = [];
    while (slots.length < count) slots.push(await pace.enter(life));
    return slots;
  }

  test('is halved once by a round of 40 calls that were all answered 429', async () => {
    const changes: number[][] = [];
    const pace = new Pace({ maxConcurrency: 40, maxStartsPerSecond: 50 }, swiftClock(), life, (...change) => {
      changes.push(change);
    });
    for (const slot of await filled(pace, 40)) slot.leave('overloaded');
    expect(changes).toEqual([[40, 20]]);
  });

  test('sinks from what was in flight, not from what was allowed, and never below 1', async () => {
    const pace = new Pace({ maxConcurrency: 40, maxStartsPerSecond: 50 }, swiftClock(), life, () => {});
    for (const inFlight of [10, 5, 2, 1, 1]) {
      for (const slot of await filled(pace, inFlight)) slot.leave('overloaded');
    }
    expect(pace.limit).toBe(1);
  });

  test('recovers by one place a round of successes, up to the ceiling', async () => {
    const pace = new Pace({ maxConcurrency: 8, maxStartsPerSecond: 50 }, swiftClock(), life, () => {});
    for (const slot of await filled(pace, 8)) slot.leave('overloaded');
    for (const slot of await filled(pace, 4)) slot.leave('fine');
    expect(pace.limit).toBe(4);
    for (const slot of await filled(pace, 2)) slot.leave('fine');
    expect(pace.limit).toBe(5);
    for (let round = 0; round < 20; round += 1) for (const slot of await filled(pace, pace.limit)) slot.leave('fine');
    expect(pace.limit).toBe(8);
  });
});
