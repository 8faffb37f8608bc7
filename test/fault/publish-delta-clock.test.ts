/** Older versions of Delta tables on a machine whose clock is wrong: none is removed for an age that nobody confirms. */

import { readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, expect, test, vi } from 'vitest';

import { publish as publishVerb } from '../../src/index.ts';
import { publish } from '../../src/publish/publish.ts';
import { readDelta, readLog } from '../support/delta-reader.ts';
import { restate } from '../support/ledger-nights.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openSample } from '../support/sample-warehouse.ts';
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

test.each([-400, 400])(
  'what left in a night whose clock was %d days off, which nothing confirmed, is kept by the next right one for as long as keep says, to be read as it was',
  async (days) => {
    const sample = await openSample(4, 4);
    close = async () => sample.close();
    const root = sample.path('tables');
    const target = { kind: 'delta', path: root, mode: 0o644, keepMs: KEEP_MS } as const;
    const night = async (isConfirmed: boolean): Promise<void> => {
      await restate(sample.warehouse, '2026-01-02', 1);
      const publishing = { publish: [target], confirmedNow: isConfirmed ? new Date() : null };
      const { failures } = await publish(publishing, sample.warehouse, () => {}, new AbortController().signal);
      expect(failures).toEqual([]);
    };
    const table = join(root, 'network_daily');
    await night(true);
    const { files } = await readLog(table);
    await withClockOff(days, async () => night(false));
    await night(true);
    const lying = filesIn(table);
    expect(files.filter(({ path }) => !lying.includes(path))).toEqual([]);
    const removed = readFileSync(join(table, '_delta_log/00000000000000000001.json'), 'utf8').match(
      /"deletionTimestamp":(\d+)/,
    );
    expect(Number(removed?.[1])).toBeGreaterThan(Date.now() - DAY_MS);
    expect(await readDelta(table, 0)).not.toEqual(await readDelta(table, 2));
  },
);

test('where the files of a log are dated a fraction of a millisecond ahead of this clock, a publish by hand states whole milliseconds', async () => {
  const sample = await openSample(4, 4);
  close = async () => sample.close();
  const root = sample.path('tables');
  const publishing = {
    publish: [{ kind: 'delta', path: root, mode: 0o644, keepMs: KEEP_MS } as const],
    confirmedNow: null,
  };
  const byHand = async (): Promise<void> => {
    await restate(sample.warehouse, '2026-01-02', 1);
    const { failures } = await publish(publishing, sample.warehouse, () => {}, new AbortController().signal);
    expect(failures).toEqual([]);
  };
  await byHand();
  const logs = (): string[] => filesIn(root).filter((path) => path.includes('_delta_log'));
  const ahead = Date.now() / 1000 + 3600.000_456_7;
  for (const path of logs()) utimesSync(join(root, path), ahead, ahead);
  await byHand();
  await byHand();
  const stated = logs().flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return [...text.matchAll(/"(?:timestamp|modificationTime|deletionTimestamp|createdTime)":([^,}]+)/g)].map(
      ([, ms]) => ms,
    );
  });
  expect(stated.length).toBeGreaterThan(10);
  expect(stated.filter((ms) => !/^\d+$/.test(ms ?? ''))).toEqual([]);
  expect(stated.filter((ms) => Number(ms) > Date.now()).length).toBeGreaterThan(0);
});

test('of a service that does not tell the time, a night removes nothing for its age, and one with --as-of does', async () => {
  const scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  close = async () => scenario.close();
  const untold = { match: () => true, times: Infinity, fault: { kind: 'date_skew', ms: NaN } } as const;
  scenario.simulator.script(untold);
  const root = join(scenario.directory, 'tables');
  const config = { ...scenario.config, publish: [{ kind: 'delta', path: root, mode: 0o644, keepMs: DAY_MS } as const] };
  const night = async (at: Date | 'now'): Promise<void> => {
    expect((await runNight({ ...scenario, config }, at)).failures).toEqual([]);
  };
  await night('now');
  await night('now');
  const before = filesIn(root);
  const gone = (): string[] => before.filter((path) => !filesIn(root).includes(path));
  await night(new Date());
  expect(gone()).toEqual([]);
  await withClockOff(3, async () => {
    await night('now');
    expect(gone()).toEqual([]);
    await night(new Date());
  });
  expect(gone()).not.toEqual([]);
});
