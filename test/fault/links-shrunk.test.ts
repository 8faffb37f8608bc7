/** Lists of links and partners that are empty, or end early, for a night. */

import { afterEach, beforeEach, expect, test } from 'vitest';

import { sync } from '../../src/index.ts';
import { column } from '../support/contents.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { json, startScriptedServer, type ScriptedServer } from '../support/scripted-server.ts';

const APP = 'abc123def456';
const night = (day: number): Date => new Date(`2026-06-0${day}T02:30:00Z`);

let scenario: Scenario;
let campaign: ScriptedServer;
let tokens: readonly string[];
let partners: readonly number[];
/** The sub-links of the first link; the others say that they have some, and list none. */
let below: readonly string[];
let beside: Readonly<Record<string, unknown>>;
/** The sub-links of the second link. */
let belowSecond: readonly string[];
/** What the lists say of their length. */
let total: string | null;
/** By how many items the lists of the sub-links of the first link, and of the second, say they are longer. */
let longer: readonly [number, number];

const tokensOf = (length: number): string[] => Array.from({ length }, (_, index) => `net-${index}_x`);
const idsOf = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

beforeEach(async () => {
  [tokens, partners, below, belowSecond, beside, total] = [tokensOf(30), idsOf(30), [], [], {}, null];
  longer = [0, 0];
  campaign = await startScriptedServer(({ path }) => {
    const isPartners = path.includes('/partners');
    const listed = isPartners
      ? partners.map((id) => ({ id, display_name: `Partner ${id}`, supports_cost_data: false }))
      : tokens.map((token) => ({ token, name: token, level: 1, has_subtrackers: true }));
    const isChildren = path.includes('/children');
    const place = tokens.findIndex((token) => path.includes(`/${token}/`));
    const sublinks = [below, belowSecond][place] ?? [];
    const children = sublinks.map((token) => ({ token, name: token, level: 2, has_subtrackers: false }));
    const more = longer[place] ?? 0;
    const said = isChildren ? (more > 0 ? String(children.length + more) : null) : total;
    const paging = said === null ? {} : { total: said, next: null };
    return json({ ...beside, data: { items: isChildren ? children : listed, paging } });
  });
  scenario = await openScenario([], {
    simulator: { world: smallWorld },
    service: { baseUrl: campaign.origin },
  });
});

afterEach(async () => {
  await scenario.close();
  await campaign.close();
});

async function codesOf(day: number, maxLevel = 4): Promise<string[]> {
  const config = { ...scenario.config, partners: true, links: { apps: [APP], maxLevel } };
  const summary = await runNight({ ...scenario, config }, night(day), { service: { baseUrl: campaign.origin } });
  return summary.failures.map(({ code }) => code).toSorted();
}

const stored = (): Promise<unknown[]> =>
  column(scenario, `select (select count(*)::integer from links) || ' ' || (select count(*)::integer from partners)`);

test('30 links, whose tokens hold - and _, and 30 partners stay when both lists are empty for a night, and go when a second night agrees', async () => {
  expect(await codesOf(1)).toEqual([]);
  [tokens, partners] = [[], []];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  expect(await stored()).toEqual(['30 30']);
  expect(await codesOf(3)).toEqual([]);
  expect(await stored()).toEqual(['0 0']);
});

test('lists cut to 15 of 30 are refused in 2 nights with a whole one between them; 16 of 30 are believed at once', async () => {
  await codesOf(1);
  for (const day of [2, 4]) {
    [tokens, partners] = [tokensOf(15), idsOf(15)];
    expect(await codesOf(day)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
    expect(await stored()).toEqual(['30 30']);
    [tokens, partners] = [tokensOf(30), idsOf(30)];
    expect(await codesOf(day + 1)).toEqual([]);
  }
  [tokens, partners] = [tokensOf(16), idsOf(16)];
  expect(await codesOf(6)).toEqual([]);
  expect(await stored()).toEqual(['16 16']);
});

test('of 4 links and partners 2 stay until a second night lacks them, too; of 3 any 2 may go at once', async () => {
  [tokens, partners] = [tokensOf(4), idsOf(4)];
  await codesOf(1);
  [tokens, partners] = [tokensOf(2), idsOf(2)];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  expect(await stored()).toEqual(['4 4']);
  [tokens, partners] = [tokensOf(3), idsOf(3)];
  expect(await codesOf(3)).toEqual([]);
  [tokens, partners] = [tokensOf(1), idsOf(1)];
  expect(await codesOf(4)).toEqual([]);
  expect(await stored()).toEqual(['1 1']);
});

test('29 of 30 that say they are 30 are refused for a night, and believed when a second night finds the same', async () => {
  await codesOf(1);
  [tokens, partners, total] = [tokensOf(29), idsOf(29), '30'];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  expect(await stored()).toEqual(['30 30']);
  expect(await codesOf(3)).toEqual([]);
  expect(await stored()).toEqual(['29 29']);
  // As many as are stored are no loss, whatever the total says.
  expect(await codesOf(4)).toEqual([]);
});

const warnings = (): Promise<unknown[]> =>
  column(scenario, `select message from ripen.warnings where code = 'LIST_SHORT' order by message`);

test('a first list of 10 that says it holds 30 is stored, with a warning that is recorded', async () => {
  [tokens, partners, total] = [tokensOf(10), idsOf(10), '30'];
  expect(await codesOf(1)).toEqual([]);
  expect(await stored()).toEqual(['10 10']);
  expect(await warnings()).toEqual([
    `The app ${APP} listed 10 links in a list that said it held 30.`,
    'The service listed 10 partners in a list that said it held 30.',
  ]);
});

test('lists whose total counts one more than they hold lose one a night; they are refused on the night they lack 5 more', async () => {
  total = '31';
  expect(await codesOf(1)).toEqual([]);
  for (const [day, left] of [
    [2, 29],
    [3, 28],
  ] as const) {
    [tokens, partners, total] = [tokensOf(left), idsOf(left), String(left + 1)];
    expect(await codesOf(day)).toEqual([]);
    expect(await stored()).toEqual([`${left} ${left}`]);
  }
  [tokens, partners] = [tokensOf(23), idsOf(23)];
  expect(await codesOf(4)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  [tokens, partners, total] = [tokensOf(27), idsOf(27), '28'];
  expect(await codesOf(5)).toEqual([]);
  expect(await stored()).toEqual(['27 27']);
});

test('a list that is short for the first time and loses 1 is believed on a second night that loses 3', async () => {
  await codesOf(1);
  [tokens, partners, total] = [tokensOf(29), idsOf(29), '30'];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  [tokens, partners] = [tokensOf(27), idsOf(27)];
  expect(await codesOf(3)).toEqual([]);
  expect(await stored()).toEqual(['27 27']);
});

test('29 of 30 that say they are 30 are refused by the sync of the library, too', async () => {
  const config = { ...scenario.config, partners: true, links: { apps: [APP], maxLevel: 4 } };
  const codesAt = async (asOf: Date): Promise<string[]> =>
    (await sync(config, { asOf })).failures.map(({ code }) => code);
  expect(await codesAt(new Date('2024-06-01T02:30:00Z'))).toEqual([]);
  [tokens, partners, total] = [tokensOf(29), idsOf(29), '30'];
  expect(await codesAt(new Date('2024-06-02T02:30:00Z'))).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  expect(await stored()).toEqual(['30 30']);
});

test.each([
  ['empty', 0],
  ['cut to 4', 4],
])(
  '10 sub-links of a link that says it has some stay when their list is %s for a night, though 30 links are there',
  async (_, length) => {
    below = Array.from({ length: 10 }, (__, index) => `sub-${index}`);
    await codesOf(1);
    const whole = below;
    below = whole.slice(0, length);
    expect(await codesOf(2)).toEqual(['DATA_SHRUNK']);
    expect(await stored()).toEqual(['40 30']);
    below = whole;
    expect(await codesOf(3)).toEqual([]);
    below = whole.slice(0, length);
    expect(await codesOf(4)).toEqual(['DATA_SHRUNK']);
    expect(await codesOf(5)).toEqual([]);
    expect(await stored()).toEqual([`${30 + length} 30`]);
  },
);

test('lists that lost most are believed on a second night, too, when items were added or a few more removed meanwhile', async () => {
  await codesOf(1);
  [tokens, partners] = [tokensOf(10), idsOf(10)];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  [tokens, partners] = [
    [...tokensOf(9), 'new'],
    [...idsOf(9), 77],
  ];
  expect(await codesOf(3)).toEqual([]);
  expect(await stored()).toEqual(['10 10']);
});

test('lists that are empty on one night and cut on the next are refused on both', async () => {
  await codesOf(1);
  [tokens, partners] = [[], []];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  [tokens, partners] = [tokensOf(14), idsOf(14)];
  expect(await codesOf(3)).toEqual(['DATA_SHRUNK', 'DATA_SHRUNK']);
  expect(await stored()).toEqual(['30 30']);
});

const sublinksOf = (name: string, length: number): string[] => Array.from({ length }, (_, index) => `${name}-${index}`);

test('a list that is empty on one night and another one on the next are each refused until they are empty twice', async () => {
  const [first, second] = [sublinksOf('first', 10), sublinksOf('second', 10)];
  [below, belowSecond] = [first, second];
  await codesOf(1);
  [below, belowSecond] = [[], second];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK']);
  [below, belowSecond] = [first, []];
  expect(await codesOf(3)).toEqual(['DATA_SHRUNK']);
  expect(await stored()).toEqual(['50 30']);
  expect(await codesOf(4)).toEqual([]);
  expect(await stored()).toEqual(['40 30']);
});

test('the first half of the partners on one night and the second on the next are no two nights that miss the same', async () => {
  const all = idsOf(30);
  await codesOf(1);
  partners = all.slice(0, 15);
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK']);
  partners = all.slice(15);
  expect(await codesOf(3)).toEqual(['DATA_SHRUNK']);
  expect(await stored()).toEqual(['30 30']);
});

test('a list that says it is cut is doubted also beside one that always says it holds more, and each is told', async () => {
  [below, belowSecond, longer] = [sublinksOf('first', 10), sublinksOf('second', 10), [30, 0]];
  expect(await codesOf(1)).toEqual([]);
  [belowSecond, longer] = [sublinksOf('second', 7), [30, 3]];
  expect(await codesOf(2)).toEqual(['DATA_SHRUNK']);
  expect(await stored()).toEqual(['50 30']);
  expect(await codesOf(3)).toEqual([]);
  expect(await warnings()).toEqual([
    `The app ${APP} listed 10 links in a list that said it held 40.`,
    `The app ${APP} listed 10 links in a list that said it held 40; lists that held less than they said: 2.`,
  ]);
});

test('a new list may say as many more than it holds as another one does, while a link goes', async () => {
  [below, longer] = [sublinksOf('first', 10), [1, 1]];
  total = null;
  expect(await codesOf(1)).toEqual([]);
  [below, belowSecond] = [sublinksOf('first', 9), sublinksOf('second', 2)];
  expect(await codesOf(2)).toEqual([]);
  expect(await stored()).toEqual(['41 30']);
});

test('a list below a lowered max_level may say as many more as before once it is read again, while a link of it goes', async () => {
  [below, longer] = [sublinksOf('first', 10), [1, 0]];
  expect(await codesOf(1)).toEqual([]);
  expect(await codesOf(2, 1)).toEqual([]);
  below = sublinksOf('first', 9);
  expect(await codesOf(3)).toEqual([]);
  expect(await stored()).toEqual(['39 30']);
});

test('after a night whose lists could not be read, lists that always say one more may lose one', async () => {
  total = '31';
  await codesOf(1);
  beside = { errors: ['a shard was down'] };
  expect(await codesOf(2)).toEqual(['SOURCE_GARBLED', 'SOURCE_GARBLED']);
  [beside, tokens, partners, total] = [{}, tokensOf(29), idsOf(29), '30'];
  expect(await codesOf(3)).toEqual([]);
  expect(await stored()).toEqual(['29 29']);
});

test('20 of 30 items beside an error are no answer', async () => {
  await codesOf(1);
  [tokens, partners, beside] = [tokensOf(20), idsOf(20), { errors: ['a shard was down'] }];
  expect(await codesOf(2)).toEqual(['SOURCE_GARBLED', 'SOURCE_GARBLED']);
  expect(await stored()).toEqual(['30 30']);
});
