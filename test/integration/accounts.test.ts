/** Two accounts behind one token: the header that selects one is part of what a slice means. */

import { rm, writeFile } from 'node:fs/promises';

import { beforeEach, expect, test } from 'vitest';

import { check, plan, readConfig, replay, sync } from '../../src/index.ts';
import type { Config } from '../../src/config/config.ts';
import { day } from '../../src/model/calendar.ts';
import { contentOf, query, storedAndTrue } from '../support/contents.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, TOKEN, type Scenario } from '../support/scenario.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { slice } from '../support/slice.ts';

const FIRST = new Date('2026-06-01T02:30:00Z');
const NEXT = new Date('2026-06-02T02:30:00Z');
const given = { name: 'daily', dimensions: ['day', 'os_name'], metrics: ['installs', 'cost'] };
const daily = slice({ ...given, datePeriod: { first: { day: day('2026-05-28') }, last: { day: day('2026-05-31') } } });

let scenario: Scenario;
let other: Simulator;

beforeEach(async () => {
  scenario = await openScenario([daily], { simulator: { world: { ...smallWorld, seed: 1 } } });
  other = await startSimulator({ token: TOKEN, world: { ...smallWorld, seed: 2 } });
});
/** The configuration of an account, on a night. */
async function standing(on: Date, account: 'A' | 'B', headers: object = { 'X-Account-Id': account }): Promise<Config> {
  const simulator = account === 'A' ? scenario.simulator : other;
  simulator.setNow(on);
  const service = { base_url: simulator.url, reports_url: simulator.url, token: TOKEN, headers };
  const slices = [{ ...given, date_period: '2026-05-28:2026-05-31' }];
  const rest = { warehouse: scenario.config.warehouse, audit: 0, partners: false, archive: '30d', slices };
  await writeFile(scenario.config.file, JSON.stringify({ service, ...rest }));
  return readConfig({ directory: scenario.directory, environment: {} });
}

async function syncOn(on: Date, account: 'A' | 'B', headers?: object): Promise<void> {
  const config = await standing(on, account, headers);
  expect(await sync(config, { asOf: on })).toMatchObject({ status: 'succeeded', failures: [] });
}

/** Whether the table holds what an account has on a night. */
async function holds(account: 'A' | 'B', on: Date): Promise<boolean> {
  const of = account === 'A' ? scenario : { ...scenario, simulator: other };
  const { stored, truth } = await storedAndTrue(of, daily, '2026-05-28:2026-05-31', on);
  return JSON.stringify(stored) === JSON.stringify(truth);
}

test('another account is loaded beside the table of the first and never into it, and a replay loads the configured one', async () => {
  await syncOn(FIRST, 'A');
  const config = await standing(NEXT, 'B');
  const findings = await check(config, { asOf: NEXT });
  expect(findings.map(({ message }) => message).join()).toContain('it was loaded with other `service.headers`');
  expect((await plan(config, { asOf: NEXT })).slices[0]?.windows.length).toBeGreaterThan(0);
  await syncOn(NEXT, 'B');
  expect([await holds('A', FIRST), await holds('B', NEXT)]).toEqual([false, true]);
  expect(await query(scenario, 'select * from ripen.restatements')).toEqual([]);

  await rm(scenario.config.warehouse);
  await replay(await standing(NEXT, 'A'), { asOf: NEXT });
  expect(await holds('A', FIRST)).toBe(true);
});

test('a key in a header that is renewed, a name in other letters or another order changes nothing', async () => {
  await syncOn(FIRST, 'A', { 'X-Account-Id': 'A', 'X-Key': { secret: 'marked-one' }, 'X-B': 1 });
  const before = await contentOf(scenario, 'daily');
  const renewed = { 'X-B': 1, 'X-Key': { secret: 'marked-two' }, 'x-account-id': 'A' };
  expect((await plan(await standing(FIRST, 'A', renewed), { asOf: FIRST })).slices[0]?.windows).toEqual([]);
  await syncOn(FIRST, 'A', renewed);
  expect(await contentOf(scenario, 'daily')).toEqual(before);
});
