/** Crawls of links and lists of partners, night after night: which apps, what is stored, what gets a new version. */

import { expect, test } from 'vitest';

import { refreshLinks } from '../../src/account/refresh-links.ts';
import { storeRows } from '../support/ledger-rows.ts';
import {
  changedTokens,
  openLinksScene,
  storedTree,
  trueTree,
  type LinksScene,
} from '../support/links-scene.ts';
import { completePartners, refreshPartners } from '../../src/account/refresh-partners.ts';
import type { Partner } from '../../src/model/link.ts';
import type { Service } from '../../src/service/service.ts';

let scene: LinksScene;

const firstNight = '2026-06-01T02:30:00Z';
const secondNight = '2026-06-02T02:30:00Z';
const thirdNight = '2026-06-03T02:30:00Z';

/** Pages of 50 that listing the whole tree takes: one per app at least, and those of each link with sub-links. */
function pagesNeeded({ simulator }: LinksScene): number {
  const { links, world } = simulator;
  const below = (app: string, parent: string | null): number => {
    const children = links.list(app, parent);
    const own =
      parent === null
        ? Math.max(1, Math.ceil(children.length / 50))
        : Math.ceil(children.length / 50);
    return children.reduce((sum, { item }) => sum + below(app, item.token), own);
  };
  return world.apps.reduce((sum, app) => sum + below(app.token, null), 0);
}

test(
  '1500 links of 2 apps in 4 levels are stored exactly, then changed ones only get new versions',
  { timeout: 240_000 },
  async () => {
    scene = await openLinksScene({ world: { apps: 2, partners: 12, links: 1500 } });
    const { links, requested, world } = scene.simulator;

    const first = await scene.crawl(firstNight);
    expect(first).toEqual([]);
    const before = trueTree(scene);
    expect(before).toHaveLength(1500);
    expect(await storedTree(scene)).toEqual(before);
    expect(requested.counts.links + requested.counts.children).toBe(pagesNeeded(scene));

    requested.reset();
    expect(await scene.crawl(firstNight)).toEqual([]);
    expect(requested.counts.links + requested.counts.children).toBe(0);

    const app = world.apps[0]?.token ?? '';
    const [renamed, archived, moved, removed] = links.list(app, null).map(({ item }) => item.token);
    links.rename(renamed ?? '', 'Renamed "network"; --');
    links.archive(archived ?? '');
    links.change(moved ?? '', { partner_id: world.partners[3]?.id ?? 0, cost_data_enabled: true });
    const gone = trueTree(scene).filter((link) => link['root_token'] === removed);
    links.remove(removed ?? '');
    const grown = {
      name: 'Grown',
      partnerId: 1,
      children: [{ name: 'c', children: [{ name: 'a' }, { name: 'b' }] }],
    };
    links.add(app, null, grown);
    const after = trueTree(scene);
    const changed = changedTokens(before, after);

    const ofOneApp = { apps: [app], maxLevel: 4, everyMs: 0 };
    const second = await refreshLinks(scene.run(secondNight), ofOneApp);
    expect(second).toEqual([]);
    expect(scene.events.at(-1)).toMatchObject({ type: 'links_loaded', removed: gone.length });
    expect(await storedTree(scene)).toEqual(after);
    const stayed = new Set(after.map((link) => String(link['token'])));
    const twice = before
      .map((link) => String(link['token']))
      .filter((token) => changed.has(token) && stayed.has(token));
    expect(twice.length).toBeLessThan(700);
    const versions =
      'select token from main.links_history group by token having count(*) > 1 order by token';
    expect((await scene.rows(versions)).map(({ token }) => token)).toEqual(twice.toSorted());

    const history = await scene.rows('from main.links_history order by all');
    await refreshLinks(scene.run(thirdNight), ofOneApp);
    expect(await scene.rows('from main.links_history order by all')).toEqual(history);
  },
);

test('max_level 2 asks nothing below campaigns, and raising it to 4 at the same instant crawls again', async () => {
  scene = await openLinksScene({ world: { apps: 2, links: 200 } });
  await scene.crawl(firstNight, 2);
  expect(await storedTree(scene)).toEqual(trueTree(scene, 2));
  const withCampaigns = trueTree(scene, 1).filter((link) => link['has_subtrackers']).length;
  expect(scene.simulator.requested.counts.children).toBe(withCampaigns);
  await scene.crawl(firstNight, 4);
  expect(await storedTree(scene)).toEqual(trueTree(scene));
});

test('after max_level is lowered to 2, deeper links stay as they are until a link above them is removed', async () => {
  scene = await openLinksScene({ world: { apps: 1, links: 0 } });
  const { links, world } = scene.simulator;
  const app = world.apps[0]?.token ?? '';
  const below = (name: string) => ({ name, children: [{ name, children: [{ name }] }] });
  links.add(app, null, { name: 'network', children: ['a', 'b', 'c'].map(below) });
  await scene.crawl(firstNight);
  const stored = async () =>
    (await scene.rows('select level from main.links order by 1')).map(({ level }) => level);
  const all = [1, 2, 2, 2, 3, 3, 3, 4, 4, 4];
  expect(await stored()).toEqual(all);
  await scene.crawl(secondNight, 2);
  expect(await stored()).toEqual(all);
  const network = links.list(app, null)[0]?.item.token ?? '';
  links.remove(links.list(app, network)[0]?.item.token ?? '');
  await scene.crawl(thirdNight, 2);
  expect(await stored()).toEqual([1, 2, 2, 3, 3, 4, 4]);
});

test('hostile names and URLs are stored byte for byte; half a surrogate pair becomes U+FFFD', async () => {
  scene = await openLinksScene({ world: { apps: 1, links: 0 } });
  const { links, world } = scene.simulator;
  const app = world.apps[0]?.token ?? '';
  const names = [
    "'; drop table main.links; --",
    'a\u0000b',
    'x::y',
    ' ',
    '\u202Ertl',
    '$1',
    '"}]',
    'ﬁ 🚀',
    '\\u0041',
  ];
  for (const name of names) links.add(app, null, { name, children: [{ name }] });
  await scene.crawl(firstNight);
  expect(await storedTree(scene)).toEqual(trueTree(scene));
  links.add(app, null, { name: 'half \uD83D pair' });
  expect(await scene.crawl(secondNight)).toEqual([]);
  expect(await scene.rows(`select label from main.links where label like 'half%'`)).toEqual([
    { label: 'half \uFFFD pair' },
  ]);
});

async function catalogOf(tokens: readonly string[]): Promise<void> {
  await scene.warehouse.run('delete from ripen.catalog');
  await storeRows(scene.warehouse, 'ripen.catalog', ...tokens.map((id) => ({ id })));
}

test('all apps are those of the catalog; the links of an app that it no longer lists stay', async () => {
  scene = await openLinksScene({ world: { apps: 3, links: 90 } });
  const [first = '', second = '', third = ''] = scene.simulator.world.apps.map(
    ({ token }) => token,
  );
  await catalogOf([first, second, third]);
  const all = { apps: 'all', maxLevel: 4, everyMs: 0 } as const;
  expect(await refreshLinks(scene.run(firstNight), all)).toEqual([]);
  expect(await storedTree(scene)).toEqual(trueTree(scene));

  await catalogOf([second]);
  const before = await storedTree(scene);
  scene.simulator.links.remove(scene.simulator.links.list(first, null)[0]?.item.token ?? '');
  expect(await refreshLinks(scene.run(secondNight), all)).toEqual([]);
  expect(await storedTree(scene)).toEqual(before);
});

test('an app that the catalog no longer lists is no failure where the configuration names it and the service does not know it', async () => {
  const token = 'zzzzzzzzzzzz';
  scene = await openLinksScene({ world: { apps: 1, links: 10 } });
  await storeRows(scene.warehouse, 'ripen.runs', { run_id: 'run', run_number: 1 });
  await storeRows(scene.warehouse, 'ripen.schema_changes', {
    object: 'catalog',
    name: `apps ${token}`,
    change: 'item vanished',
  });
  const links = { apps: [token], maxLevel: 4, everyMs: 0 };
  expect(await refreshLinks(scene.run(firstNight), links)).toEqual([]);
  const warnings = scene.events.filter(({ type }) => type === 'warning');
  expect(warnings).toMatchObject([{ code: 'ACCESS_LOST' }]);
  expect(JSON.stringify(warnings)).toContain(`The app ${token} is no longer listed`);
});

test('an app the configuration names and the service does not know is a failure that names it', async () => {
  scene = await openLinksScene({ world: { apps: 1, links: 10 } });
  const known = scene.simulator.world.apps[0]?.token ?? '';
  const result = await refreshLinks(scene.run(firstNight), {
    apps: ['zzzzzzzzzzzz', known, known],
    maxLevel: 4,
    everyMs: 0,
  });
  expect(await scene.rows('from main.links')).toHaveLength(10);
  expect(result.map(({ code, facts }) => [code, facts['app_token']])).toEqual([
    ['SOURCE_MISSING', 'zzzzzzzzzzzz'],
  ]);
  expect(result[0]?.message).toMatch(/^The links of the app zzzzzzzzzzzz were not updated: /);
});

test('an app is crawled every 7 days if that is said, also where a night begins 20 minutes early, and again at once to another depth', async () => {
  scene = await openLinksScene({ world: { apps: 1, partners: 3, links: 20 } });
  const { links, requested, world } = scene.simulator;
  const [app] = world.apps;
  const crawl = async (asOf: string, maxLevel = 3): Promise<number> => {
    requested.reset();
    const settings = { apps: [app?.token ?? ''], maxLevel, everyMs: 7 * 86_400_000 };
    expect(await refreshLinks(scene.run(asOf), settings)).toEqual([]);
    return requested.counts.links;
  };
  expect(await crawl('2026-06-01T02:30:00Z')).toBeGreaterThan(0);
  links.rename(links.list(app?.token ?? '', null)[0]?.item.token ?? '', 'Renamed');
  expect(await crawl('2026-06-07T02:30:00Z')).toBe(0);
  expect(await crawl('2026-06-08T02:10:00Z')).toBeGreaterThan(0);
  expect(await storedTree(scene)).toEqual(trueTree(scene, 3));
  expect(await crawl('2026-06-09T02:30:00Z', 4)).toBeGreaterThan(0);
});

const current = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  scene.rows('select * from main.partners order by partner_id');
/** Id, name and whether it is listed. */
const said = async (): Promise<unknown[]> =>
  (await current()).map((row) => [row['partner_id'], row['display_name'], row['is_listed']]);
const history = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  scene.rows('select * from main.partners_history order by partner_id, valid_from');

/** The service, with another partner list. */
function listing(pages: readonly (readonly Partner[])[]): Service {
  return {
    ...scene.service,
    async *partners() {
      yield* pages;
    },
  };
}

/** The whole of a night: the service's list, then what rows carry. */
async function refreshed(asOf: string, service: Service): Promise<void> {
  await refreshPartners({ ...scene.run(asOf), service });
  await completePartners(scene.warehouse, new Date(asOf));
}

/** A live slice whose rows, brought by the loads 1 and 2, name two partners. */
async function carryingRows(): Promise<void> {
  await scene.warehouse.alter(
    `create table carrying as
     select '3' as partner_id, 'Three' as partner_name, '{}'::json as attr_dependency, 1::bigint as _load_id
     union all select null, null, '{"partner_id":["-300"]}'::json, 2`,
  );
  await storeRows(scene.warehouse, 'ripen.slice_tables', { slice: 'carrying' });
  await storeRows(scene.warehouse, 'ripen.loads', { slice: 'carrying', load_id: 2 });
}

test('a failed second page leaves the partners as they were', async () => {
  scene = await openLinksScene({ world: { partners: 60 } });
  await refreshPartners(scene.run(firstNight));
  const before = await history();
  const match = ({ query }: { readonly query: URLSearchParams }): boolean => query.has('after');
  scene.simulator.script({ match, times: 1, fault: { kind: 'status', status: 400 } });
  await expect(refreshPartners(scene.run(secondNight))).rejects.toThrow('400');
  expect(await history()).toEqual(before);
});

test('a renamed partner gets a second version, one that is listed no more stays as not listed, as does one that rows alone carry', async () => {
  scene = await openLinksScene();
  await carryingRows();
  const partner = (id: string, displayName: string): Partner => ({
    id,
    displayName,
    supportsCostData: false,
  });
  const before = listing([
    [partner('1', 'One'), partner('2', 'Two')],
    [partner('3', 'Three'), partner('1', 'Uno')],
  ]);
  await refreshed(firstNight, before);
  expect(await said()).toEqual([
    ['-300', '', false],
    ['1', 'Uno', true],
    ['2', 'Two', true],
    ['3', 'Three', true],
  ]);

  await refreshed(secondNight, listing([[partner('1', 'Ein'), partner('2', 'Two')]]));
  expect(await said()).toEqual([
    ['-300', '', false],
    ['1', 'Ein', true],
    ['2', 'Two', true],
    ['3', 'Three', false],
  ]);
  const [first, second] = ['2026-06-01 02:30:00', '2026-06-02 02:30:00'];
  expect(
    (await history()).map((row) => [row['partner_id'], row['valid_from'], row['valid_to']]),
  ).toEqual([
    ['-300', first, null],
    ['1', first, second],
    ['1', second, null],
    ['2', first, null],
    ['3', first, second],
    ['3', second, null],
  ]);
});
