import { expect, test } from 'vitest';

import { refreshLinks } from '../../src/links/refresh-links.ts';
import { openLinksScene, storedTree, trueTree, type LinksScene } from '../support/links-scene.ts';

let scene: LinksScene;

const firstNight = '2026-06-01T02:30:00Z';
const secondNight = '2026-06-02T02:30:00Z';

async function catalogOf(tokens: readonly string[]): Promise<void> {
  await scene.warehouse.run('delete from ripen.catalog');
  for (const token of tokens) {
    await scene.warehouse.run(
      `insert into ripen.catalog (filter, id, name, short_name, section, formatting, description, seen_at) values ('apps', $1, '', '', '', '', '', timestamp '2026-06-01')`,
      [token],
    );
  }
}

const warnings = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  scene.rows('select code, message from ripen.warnings');

test('all apps are those of the catalog and of loaded rows; an app nothing names any more is left as it is, and said', async () => {
  scene = await openLinksScene({ world: { apps: 3, links: 90 } });
  const [first = '', second = '', third = ''] = scene.simulator.world.apps.map(({ token }) => token);
  await catalogOf([first, second]);
  await scene.warehouse.run(`create table loaded as
    select unnest(['${third}', 'unknown', '', 'zzzzzzzzzzzz']) as app_token, '{}'::json as attr_dependency`);
  await scene.warehouse.run(
    `insert into ripen.slice_tables (slice, fingerprint, table_name, state, created_at)
     values ('loaded', 'f', 'main."loaded"', 'live', now())`,
  );
  const all = { apps: 'all', maxLevel: 4 } as const;
  expect(await refreshLinks(scene.run(firstNight), all)).toEqual({ rows: 90, removed: 0, failures: [] });
  expect(await storedTree(scene)).toEqual(trueTree(scene));
  const told = await warnings();
  expect(told.map(({ code }) => code)).toEqual(['LINKS_APP_UNKNOWN']);
  expect(String(told[0]?.['message'])).toContain('zzzzzzzzzzzz');

  await catalogOf([second]);
  await scene.warehouse.run('delete from loaded');
  const before = await storedTree(scene);
  scene.simulator.links.remove(scene.simulator.links.list(first, null)[0]?.item.token ?? '');
  const result = await refreshLinks(scene.run(secondNight), all);
  expect(result).toEqual({ rows: 90, removed: 0, failures: [] });
  expect(await storedTree(scene)).toEqual(before);
  const left = (await warnings()).find(({ code }) => code === 'LINKS_APPS_LEFT');
  expect(String(left?.['message'])).toContain([first, third].toSorted().join(', '));
});

test('an app the configuration names and the service does not know is a failure that names it', async () => {
  scene = await openLinksScene({ world: { apps: 1, links: 10 } });
  const known = scene.simulator.world.apps[0]?.token ?? '';
  const result = await refreshLinks(scene.run(firstNight), { apps: ['zzzzzzzzzzzz', known, known], maxLevel: 4 });
  expect(result.rows).toBe(10);
  expect(result.failures.map(({ code, facts }) => [code, facts['app_token']])).toEqual([
    ['SOURCE_MISSING', 'zzzzzzzzzzzz'],
  ]);
  expect(result.failures[0]?.message).toMatch(/^The links of the app zzzzzzzzzzzz stayed as they were: /);
});

test('an app is crawled every 7 days if that is said, also where a night begins 20 minutes early, and again at once to another depth', async () => {
  scene = await openLinksScene({ world: { apps: 1, partners: 3, links: 20 } });
  const { links, asked, world } = scene.simulator;
  const [app] = world.apps;
  const crawl = async (asOf: string, maxLevel = 3): Promise<number> => {
    asked.reset();
    const settings = { apps: [app?.token ?? ''], maxLevel, everyMs: 7 * 86_400_000 };
    expect((await refreshLinks(scene.run(asOf), settings)).failures).toEqual([]);
    return asked.counts.links;
  };
  expect(await crawl('2026-06-01T02:30:00Z')).toBeGreaterThan(0);
  links.rename(links.list(app?.token ?? '', null)[0]?.item.token ?? '', 'Renamed');
  expect(await crawl('2026-06-07T02:30:00Z')).toBe(0);
  expect(await crawl('2026-06-08T02:10:00Z')).toBeGreaterThan(0);
  expect(await storedTree(scene)).toEqual(trueTree(scene, 3));
  expect(await crawl('2026-06-09T02:30:00Z', 4)).toBeGreaterThan(0);
});
