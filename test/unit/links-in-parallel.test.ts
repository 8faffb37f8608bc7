import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { eachInParallel, takeTurns } from '../../src/links/in-parallel.ts';

test('20 things are acted on 3 at once, each once, in order of their begin', async () => {
  const begun: number[] = [];
  let now = 0;
  let most = 0;
  const things = Array.from({ length: 20 }, (_, index) => index);
  await eachInParallel(things, 3, async (thing) => {
    begun.push(thing);
    most = Math.max(most, (now += 1));
    await sleep(thing % 3);
    now -= 1;
  });
  expect(begun).toEqual(things);
  expect(most).toBe(3);
});

test('after a failure nothing is begun, what was begun is waited for, and the first failure is thrown', async () => {
  const [begun, finished]: [number[], number[]] = [[], []];
  const work = eachInParallel([0, 1, 2, 3, 4], 2, async (thing) => {
    begun.push(thing);
    if (thing === 0) throw new Error('first');
    await sleep(5);
    finished.push(thing);
  });
  await expect(work).rejects.toThrow('first');
  expect(begun).toEqual([0, 1]);
  expect(finished).toEqual([1]);
});

test('turns do not overlap, and a failed one does not stop the next', async () => {
  const turn = takeTurns();
  const seen: string[] = [];
  const take = (name: string, fails: boolean): Promise<void> =>
    turn(async () => {
      seen.push(`${name} begins`);
      await sleep(2);
      seen.push(`${name} ends`);
      if (fails) throw new Error(name);
    });
  const outcomes = await Promise.allSettled([take('a', true), take('b', false)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});
