import { expect, test } from 'vitest';

import { refreshLinks } from '../../src/links/refresh-links.ts';
import { changedTokens, openLinksScene, storedTree, trueTree, type LinksScene } from '../support/links-scene.ts';

let scene: LinksScene;

const firstNight = '2026-06-01T02:30:00Z';
const secondNight = '2026-06-02T02:30:00Z';
const thirdNight = '2026-06-03T02:30:00Z';

/** Pages of 50 that listing the whole tree takes: one per app at least, and those of each link with sub-links. */
function pagesNeeded({ simulator }: LinksScene): number {
  const { links, world } = simulator;
  const below = (app: string, parent: string | null): number => {
    const children = links.list(app, parent);
    const own = parent === null ? Math.max(1, Math.ceil(children.length / 50)) : Math.ceil(children.length / 50);
    return children.reduce((sum, { item }) => sum + below(app, item.token), own);
  };
  return world.apps.reduce((sum, app) => sum + below(app.token, null), 0);
}

test(
  '1500 links of 2 apps in 4 levels are stored exactly, then changed ones only get new versions',
  { timeout: 240_000 },
  async () => {
    scene = await openLinksScene({ world: { apps: 2, partners: 12, links: 1500 } });
    const { links, asked, world } = scene.simulator;

    const first = await scene.crawl(firstNight);
    expect(first).toEqual({ rows: 1500, removed: 0, failures: [] });
    const before = trueTree(scene);
    expect(before).toHaveLength(1500);
    expect(await storedTree(scene)).toEqual(before);
    expect(asked.counts.links + asked.counts.children).toBe(pagesNeeded(scene));

    asked.reset();
    expect(await scene.crawl(firstNight)).toEqual({ rows: 1500, removed: 0, failures: [] });
    expect(asked.counts.links + asked.counts.children).toBe(0);

    const app = world.apps[0]?.token ?? '';
    const [renamed, archived, moved, removed] = links.list(app, null).map(({ item }) => item.token);
    links.rename(renamed ?? '', 'Renamed "network"; --');
    links.archive(archived ?? '');
    links.change(moved ?? '', { partnerId: world.partners[3]?.id ?? 0, costDataEnabled: true });
    const gone = trueTree(scene).filter((link) => link['root_token'] === removed);
    links.remove(removed ?? '');
    const grown = { name: 'Grown', partnerId: 1, children: [{ name: 'c', children: [{ name: 'a' }, { name: 'b' }] }] };
    links.add(app, null, grown);
    const after = trueTree(scene);
    const changed = changedTokens(before, after);

    const ofOneApp = { apps: [app], maxLevel: 4 };
    const second = await refreshLinks(scene.run(secondNight), ofOneApp);
    expect(second).toEqual({ rows: after.length, removed: gone.length, failures: [] });
    expect(await storedTree(scene)).toEqual(after);
    const stayed = new Set(after.map((link) => String(link['token'])));
    const twice = before
      .map((link) => String(link['token']))
      .filter((token) => changed.has(token) && stayed.has(token));
    expect(twice.length).toBeLessThan(700);
    const versions = 'select token from main.links_history group by token having count(*) > 1 order by token';
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
  expect(scene.simulator.asked.counts.children).toBe(withCampaigns);
  await scene.crawl(firstNight, 4);
  expect(await storedTree(scene)).toEqual(trueTree(scene));
});

test('hostile names and URLs are stored byte for byte; half a surrogate pair becomes U+FFFD', async () => {
  scene = await openLinksScene({ world: { apps: 1, links: 0 } });
  const { links, world } = scene.simulator;
  const app = world.apps[0]?.token ?? '';
  const names = ["'; drop table main.links; --", 'a\u0000b', 'x::y', ' ', '\u202Ertl', '$1', '"}]', 'ﬁ 🚀', '\\u0041'];
  for (const name of names) links.add(app, null, { name, children: [{ name }] });
  await scene.crawl(firstNight);
  expect(await storedTree(scene)).toEqual(trueTree(scene));
  links.add(app, null, { name: 'half \uD83D pair' });
  expect(await scene.crawl(secondNight)).toMatchObject({ failures: [] });
  expect(await scene.rows(`select label from main.links where label like 'half%'`)).toEqual([
    { label: 'half \uFFFD pair' },
  ]);
});
