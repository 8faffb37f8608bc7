/** Two accounts behind one token: the header that selects one is part of what a slice means. */

import { rm } from 'node:fs/promises';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { check, plan, readConfig, replay, sync } from '../../src/index.ts';
import type { Config } from '../../src/config/config.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import { contentOf, query, type Readable } from '../support/contents.ts';
import { openInstallation, serviceAt, TOKEN, type Installation } from '../support/installation.ts';
import { calm, startTinyServer } from '../support/tiny-service.ts';
import { tinyReport, type TinyWorld } from '../support/tiny-world.ts';
import type { ScriptedServer } from '../support/scripted-server.ts';

const FIRST = new Date('2026-06-01T02:30:00Z');
const DAY_MS = 86_400_000;
const night = (number: number): Date => new Date(FIRST.getTime() + number * DAY_MS);

const worldOf = (account: string): TinyWorld => ({
  seed: account === 'A' ? 1 : 2,
  countries: 3,
  oddTexts: false,
  unknownCountry: 'none',
  weekStart: 1,
  otherWeekFrom: null,
});

const daily = {
  name: 'daily',
  dimensions: ['day', 'country_code'],
  metrics: ['installs', 'cost'],
  date_period: '2026-05-12:yesterday',
};

let installation: Installation;
let server: ScriptedServer;
let nowMs = FIRST.getTime();

beforeEach(async () => {
  installation = await openInstallation();
  server = await startTinyServer(({ headers }) => ({
    world: worldOf(String(headers['x-account-id'] ?? 'A')),
    mood: calm,
    nowMs,
  }));
});

afterEach(async () => {
  await server.close();
  await installation.close();
});

/** The configuration with headers, on a night. */
async function standing(on: Date, headers?: object): Promise<Config> {
  nowMs = on.getTime();
  const service = { ...serviceAt(server.origin), ...(headers === undefined ? {} : { headers }) };
  const rest = { warehouse: 'w.duckdb', audit: 0, partners: false, archive: '30d', slices: [daily] };
  await installation.configure({ service, ...rest });
  return readConfig({ directory: installation.directory, environment: { RIPEN_TOKEN: TOKEN } });
}

async function syncOn(on: Date, headers?: object): Promise<void> {
  const config = await standing(on, headers);
  expect(await sync(config, { asOf: on })).toMatchObject({ status: 'succeeded', failures: [] });
}

const readable = ({ warehouse: path }: Config): Readable => ({
  inWarehouse: (use) => withWarehouse(path, { mode: 'read', lockWaitMs: 0, emit: () => {} }, use),
});

/** The days of a table whose installs are not the account's at some night up to `on`. */
async function daysOfOthers(config: Config, account: string, on: Date): Promise<unknown[]> {
  const held = await query(
    readable(config),
    'select day::varchar as day, sum(installs)::integer as installs from daily group by all',
  );
  return held.filter(({ day, installs }) => {
    const said = Array.from({ length: 40 }, (_, ago) => {
      const parameters = {
        dimensions: 'day',
        metrics: 'installs',
        date_period: `${String(day)}:${String(day)}`,
        attribution_type: 'all',
      };
      return tinyReport(worldOf(account), parameters, on.getTime() - ago * DAY_MS).totals['installs'];
    });
    return !said.includes(Number(installs));
  });
}

test('another account is loaded beside the table of the first and never into it', async () => {
  await syncOn(night(0), { 'X-Account-Id': 'A' });
  const config = await standing(night(1), { 'X-Account-Id': 'B' });
  const findings = await check(config, { asOf: night(1) });
  expect(findings.map(({ message }) => message).join()).toContain('it was loaded with other `service.headers`');
  expect((await plan(config, { asOf: night(1) })).slices[0]?.windows.length).toBeGreaterThan(0);
  await syncOn(night(1), { 'X-Account-Id': 'B' });
  expect(await daysOfOthers(config, 'B', night(1))).toEqual([]);
  expect(await daysOfOthers(config, 'A', night(1))).not.toEqual([]);
  expect(await query(readable(config), 'select * from ripen.restatements')).toEqual([]);

  await syncOn(night(2), { 'x-account-id': 'B' });
  expect(await daysOfOthers(config, 'B', night(2))).toEqual([]);
});

test('a replay loads the answers of the configured account only', async () => {
  await syncOn(night(0), { 'X-Account-Id': 'A' });
  await syncOn(night(1), { 'X-Account-Id': 'B' });
  const config = await standing(night(1), { 'X-Account-Id': 'A' });
  // What A has does not cover what B's table does: that stays, and A's is built beside it.
  await replay(config, { asOf: night(1) });
  expect(await daysOfOthers(config, 'B', night(1))).toEqual([]);
  await rm(config.warehouse);
  await replay(config, { asOf: night(1) });
  expect(await daysOfOthers(config, 'A', night(1))).toEqual([]);
});

test('a key in a header that is renewed, a name in other letters or another order changes nothing', async () => {
  await syncOn(night(0), { 'X-Account-Id': 'A', 'X-Key': { secret: 'marked-one' }, 'X-B': 1 });
  const config = await standing(night(0), { 'X-B': 1, 'X-Key': { secret: 'marked-two' }, 'x-account-id': 'A' });
  const before = await contentOf(readable(config), 'daily');
  expect((await plan(config, { asOf: night(0) })).slices[0]?.windows).toEqual([]);
  await syncOn(night(0), { 'X-B': 1, 'X-Key': { secret: 'marked-two' }, 'x-account-id': 'A' });
  expect(await contentOf(readable(config), 'daily')).toEqual(before);
});
