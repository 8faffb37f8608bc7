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
