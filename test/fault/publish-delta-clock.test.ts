/** Older versions of Delta tables on a machine whose clock is wrong: none is removed for an age that nobody confirms. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, expect, test, vi } from 'vitest';

import { publish as publishVerb } from '../../src/index.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario } from '../support/scenario.ts';
import { dailyInstalls, slice } from '../support/slice.ts';

const DAY_MS = 86_400_000;
const KEEP_MS = 3 * DAY_MS;

let close: () => Promise<void> = async () => {};
afterEach(async () => {
  vi.useRealTimers();
  await close();
});

async function withClockOff<T>(days: number, work: () => Promise<T>): Promise<T> {
  if (days !== 0) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * DAY_MS });
  try {
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

const daily = slice({ ...dailyInstalls({ first: { daysAgo: 3 }, last: { daysAgo: 0 } }), refresh: 'nightly' });

const filesIn = (root: string): string[] =>
  readdirSync(root, { recursive: true })
    .map(String)
    .filter((path) => /\.parquet$|\.json$/.test(path))
    .toSorted();

test('a sync that is refused for a clock 30 days ahead, and a publish by hand, remove no file of older versions; a confirmed one does', async () => {
  const scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  close = async () => scenario.close();
  const root = join(scenario.directory, 'tables');
  const target = { kind: 'delta', path: root, mode: 0o644, keepMs: KEEP_MS } as const;
  const config = { ...scenario.config, publish: [target] };
  const night = async (keepMs = KEEP_MS): Promise<string[]> => {
    const kept = { ...config, publish: [{ ...target, keepMs }] };
    return (await runNight({ ...scenario, config: kept }, 'now')).failures.map(({ code }) => code);
  };
  expect(await night()).toEqual([]);
  expect(await night()).toEqual([]);
  const before = filesIn(root);
  const gone = (): string[] => before.filter((path) => !filesIn(root).includes(path));
  expect(await withClockOff(30, night)).toEqual(['CLOCK_UNTRUSTED']);
  expect(gone()).toEqual([]);
  await withClockOff(30, async () => publishVerb(config));
  await publishVerb({ ...config, publish: [{ ...target, keepMs: 1 }] });
  expect(gone()).toEqual([]);
  expect(await night(1)).toEqual([]);
  expect(gone().map((path) => path.split('/')[0])).toEqual(['ripen_loads', 'ripen_periods']);
});
