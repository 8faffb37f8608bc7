/** Lists of links and partners that are empty, or end early, for a night. */

import { beforeEach, expect, test } from 'vitest';

import type { RunEvent } from '../../src/events.ts';
import { sync } from '../../src/index.ts';
import { column } from '../support/contents.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { json, startScriptedServer, type ScriptedServer } from '../support/scripted-server.ts';

const APP = 'abc123def456';
const night = (day: number): Date => new Date(Date.UTC(2026, 5, day, 2, 30));

let scenario: Scenario;
let campaign: ScriptedServer;
let tokens: readonly string[];
let partners: readonly number[];

const tokensOf = (length: number): string[] =>
  Array.from({ length }, (_, index) => `net-${index}_x`);
const idsOf = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

beforeEach(async () => {
  [tokens, partners] = [tokensOf(30), idsOf(30)];
  campaign = await startScriptedServer(({ path }) => {
    const listed = path.includes('/partners')
      ? partners.map((id) => ({ id, display_name: `Partner ${id}`, supports_cost_data: false }))
      : tokens.map((token) => ({ token, name: token, level: 1, has_subtrackers: false }));
    return json({ data: { items: listed, paging: {} } });
  });
  scenario = await openScenario([], {
    simulator: { world: smallWorld },
    service: { baseUrl: campaign.origin },
  });
});

/** The codes of the failures and warnings of a night. */
async function codesOf(day: number, everyMs = 0): Promise<string[]> {
  const config = {
    ...scenario.config,
    partners: true,
    links: { apps: [APP], maxLevel: 4, everyMs },
  };
  const codes: string[] = [];
  const emit = (event: RunEvent): void => {
    if (event.type === 'warning') codes.push(event.code);
  };
  const summary = await sync(config, { asOf: night(day), emit });
  return [...codes, ...summary.failures.map(({ code }) => code)].toSorted();
}

const stored = (): Promise<unknown[]> =>
  column(
    scenario,
    `select (select count(*)::integer from links) || ' ' || (select count(*)::integer from partners where is_listed)`,
  );

/** From which day of June to which the versions of the last network were valid. */
const history = (): Promise<unknown[]> =>
  column(
    scenario,
    `select concat_ws(' ', day(valid_from), day(valid_to)) from links_history where token = 'net-29_x' order by valid_from`,
  );

const DOUBTED = ['LIST_SHRUNK', 'LIST_SHRUNK'];

test('30 links, whose tokens hold - and _, and 30 partners stay when both lists are empty for a night, and go when a second night agrees', async () => {
  expect(await codesOf(1)).toEqual([]);
  [tokens, partners] = [[], []];
  expect(await codesOf(2)).toEqual(DOUBTED);
  expect(await stored()).toEqual(['30 30']);
  expect(await history()).toEqual(['1']);
  expect(await codesOf(3)).toEqual([]);
  expect(await stored()).toEqual(['0 0']);
  expect(await history()).toEqual(['1 3']);
});

test('lists cut to 14 of 30 close nothing in 2 nights with a whole one between them; 15 of 30 are believed at once', async () => {
  await codesOf(1);
  for (const day of [2, 4]) {
    [tokens, partners] = [tokensOf(14), idsOf(14)];
    expect(await codesOf(day)).toEqual(DOUBTED);
    expect(await stored()).toEqual(['30 30']);
    [tokens, partners] = [tokensOf(30), idsOf(30)];
    expect(await codesOf(day + 1)).toEqual([]);
  }
  [tokens, partners] = [tokensOf(15), idsOf(15)];
  expect(await codesOf(6)).toEqual([]);
  expect(await stored()).toEqual(['15 15']);
});

test('under every: 7d an app whose list is doubted is crawled again the next night, and then not for a week', async () => {
  const week = 7 * 86_400_000;
  await codesOf(1, week);
  tokens = tokensOf(14);
  expect(await codesOf(8, week)).toEqual(['LIST_SHRUNK']);
  tokens = tokensOf(30);
  expect(await codesOf(9, week)).toEqual([]);
  const crawls = 'select day(crawled_at)::integer from ripen.link_crawls order by crawled_at';
  expect(await column(scenario, crawls)).toEqual(['1', '8', '9']);
  await codesOf(10, week);
  expect(await column(scenario, crawls)).toEqual(['1', '8', '9']);
});
