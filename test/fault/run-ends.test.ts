/** What is told of a run's end where others take the warehouse, or keep the run from starting. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import * as z from 'zod';

import type { Notify } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import type { RunEvent } from '../../src/events.ts';
import { tellingEnd } from '../../src/notify/run-end.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { failureFrom, startScriptedServer, type ScriptedServer } from '../support/scripted-server.ts';
import { runNight, smallWorld, type Circumstances } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { dailyInstalls } from '../support/slice.ts';

const textShape = z.object({ text: z.string() });
const NOW = new Date('2026-06-01T02:30:00Z');

let scenario: Scenario;
let server: ScriptedServer;
let holder: Warehouse | null = null;
let events: RunEvent[] = [];

const daily = dailyInstalls({ first: { daysAgo: 5 }, last: { daysAgo: 1 } });

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  server = await startScriptedServer(() => ({ status: 200, body: 'ok' }));
  events = [];
});
afterEach(async () => {
  await letGo();
});

async function takeWarehouse(): Promise<void> {
  holder = await openWarehouse(scenario.config.warehouse, { mode: 'write', lockWaitMs: 0, emit: () => {} });
}

async function letGo(): Promise<void> {
  await holder?.close();
  holder = null;
}

/** A run that is told of, at `/failed` or `/recovered`, with metrics; `after` happens between its end and the telling. */
async function toldRun(circumstances: Circumstances = {}, after = async (): Promise<void> => {}): Promise<SyncSummary> {
  const notify = (['failed', 'recovered'] as const).map((outcome): Notify => {
    return { url: new Secret(`${server.origin}/${outcome}`), on: [outcome], proxy: null };
  });
  const telling = {
    command: 'sync',
    config: { ...scenario.config, notify },
    asOf: NOW,
    emit: (event: RunEvent): void => void events.push(event),
    signal: circumstances.signal ?? new AbortController().signal,
    metricsFile: join(scenario.directory, 'm.prom'),
    mode: 0o644,
  };
  return tellingEnd(telling, async (_, look) => {
    const summary = await runNight(scenario, NOW, { ...circumstances, look });
    await after();
    return summary;
  });
}

const told = (): string[] => server.received.map(({ path }) => path);
const metrics = async (): Promise<string> => readFile(join(scenario.directory, 'm.prom'), 'utf8');

test('a start that failed since the warehouse was held is recovered from by the next success, which is told once', async () => {
  await toldRun();
  await takeWarehouse();
  expect(await failureFrom(toldRun())).toMatchObject({ code: 'WAREHOUSE_LOCKED' });
  await letGo();
  expect(told()).toEqual(['/failed']);
  await toldRun();
  await toldRun();
  expect(told()).toEqual(['/failed', '/recovered']);
  expect(existsSync(`${scenario.config.warehouse}.unstarted`)).toBe(false);
});

test('a run that was stopped is told with the exit code of SIGTERM; stopped while it waited for the warehouse it is no bug', async () => {
  await toldRun({ signal: AbortSignal.abort() });
  expect(await metrics()).toContain('ripen_run_exit_code{command="sync"} 143');
  await takeWarehouse();
  const stop = new AbortController();
  const onEvent = ({ type }: RunEvent): void => void (type === 'lock_waiting' && stop.abort());
  const stopped = toldRun({ request: { lockWaitMs: 60_000 }, signal: stop.signal, onEvent });
  expect(await failureFrom(stopped)).toMatchObject({ code: 'INTERRUPTED', kind: 'interrupted' });
  expect(await metrics()).toContain('ripen_run_exit_code{command="sync"} 143');
  expect(server.received.map(({ body }) => textShape.parse(JSON.parse(body)).text)).toEqual([
    expect.stringMatching(/interrupted, 0 rows \(exit 143\), run \S+\n/),
    expect.stringMatching(/did not start \(exit 143\)\nINTERRUPTED: /),
  ]);
});
