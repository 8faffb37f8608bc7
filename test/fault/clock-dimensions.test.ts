/** Partners and links on a machine whose clock is wrong: nothing is stored under an instant that an answer contradicts, and the newest version is the current one. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { column } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { json, startScriptedServer, type ScriptedServer } from '../support/scripted-server.ts';

const APP = 'abc123def456';
const DAY_MS = 86_400_000;

let scenario: Scenario;
let campaign: ScriptedServer;
let links: Readonly<Record<string, string>>;
let partners: Readonly<Record<string, string>>;
/** What the answers say of the time; null: nothing. */
let told: 'now' | null;
let listed: number;

beforeEach(async () => {
  [links, partners, told, listed] = [{ aaa: 'A', bbb: 'B' }, { 1: 'One', 2: 'Two' }, 'now', 0];
  campaign = await startScriptedServer(({ path, method }) => {
    const headers: Record<string, string> = told === null ? { date: 'none' } : {};
    const linkOf = ([token, name]: readonly [string, string]): unknown => {
      return { token, name, label: name, level: 1, has_subtrackers: false, cost_data_enabled: true };
    };
    if (method !== 'GET') return json({ data: { items: [linkOf(['aaa', 'New'])] } }, { headers });
    if (!path.includes('/partners')) listed += 1;
    const items = path.includes('/partners')
      ? Object.entries(partners).map(([id, name]) => ({
          id: Number(id),
          display_name: name,
          supports_cost_data: false,
        }))
      : Object.entries(links).map(linkOf);
    return json({ data: { items, paging: {} } }, { headers });
  });
  scenario = await openScenario([], { simulator: { world: smallWorld }, service: { baseUrl: campaign.origin } });
});

afterEach(async () => {
  vi.useRealTimers();
  await scenario.close();
  await campaign.close();
});

/** Syncs now, on a machine whose clock is so many days ahead; returns the codes of what failed. */
async function syncWith(daysAhead: number, says: 'now' | null = 'now'): Promise<string[]> {
  told = says;
  const isUndone =
    says === null
      ? scenario.simulator.script({ match: () => true, times: Infinity, fault: { kind: 'date_skew', ms: NaN } })
      : () => {};
  if (daysAhead !== 0) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + daysAhead * DAY_MS });
  try {
    const config = { ...scenario.config, partners: true, links: { apps: [APP], maxLevel: 4 } };
    const service = { baseUrl: campaign.origin };
    const summary = await runNight({ ...scenario, config }, 'now', { service });
    return summary.failures.map(({ code }) => code);
  } finally {
    vi.useRealTimers();
    isUndone();
  }
}

test('of a service that never tells the time, links are crawled again after a night with a clock 30 days ahead, and the newest version is the current one', async () => {
  expect(await syncWith(30, null)).toEqual([]);
  [links, partners] = [
    { aaa: 'A2', bbb: 'B' },
    { 1: 'Uno', 2: 'Two' },
  ];
  const before = listed;
  expect(await syncWith(0, null)).toEqual([]);
  expect(listed).toBe(before + 1);
  expect(await column(scenario, "select label from links where token = 'aaa'")).toEqual(['A2']);
  const current = 'where valid_to is null';
  expect(await column(scenario, `select label from links_history ${current} order by label`)).toEqual(['A2', 'B']);
  expect(await column(scenario, `select display_name from partners_history ${current} order by all`)).toEqual([
    'Two',
    'Uno',
  ]);
});

test.each([3, -3])(
  'a clock %d hours ahead is seen by the list of partners, or of links, where the catalog is not asked for, and neither is stored',
  async (hours) => {
    await runNight(scenario, 'now');
    for (const kind of ['partners', 'links'] as const) {
      const config = {
        ...scenario.config,
        partners: kind === 'partners',
        links: kind === 'links' ? { apps: [APP], maxLevel: 4 } : null,
      };
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + (hours / 24) * DAY_MS });
      const summary = await runNight({ ...scenario, config }, 'now', { service: { baseUrl: campaign.origin } });
      vi.useRealTimers();
      expect(summary.failures).toMatchObject([{ code: 'CLOCK_UNTRUSTED' }]);
      expect(summary.failures[0]?.message).toMatch(/^This machine's clock was 180 minutes/);
      expect(await column(scenario, `select count(*) from ${kind}_history`)).toEqual(['0']);
    }
    expect(scenario.simulator.asked.counts).toMatchObject({ filters_data: 1 });
  },
);
