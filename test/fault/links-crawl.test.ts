import { describe, expect, test } from 'vitest';

import { refreshLinks } from '../../src/account/refresh-links.ts';
import { MS_PER_DAY } from '../../src/model/calendar.ts';
import type { Fault } from '../support/simulator/faults.ts';
import type { WorldOptions } from '../support/simulator/world.ts';
import { refreshPartners } from '../../src/account/refresh-partners.ts';
import { textWith } from '../support/matching.ts';
import { passingDeadline } from '../support/night.ts';
import { connectTo, json, type Reply, startScriptedServer } from '../support/scripted-server.ts';
import { openLinksScene, storedTree, trueTree, type LinksScene } from '../support/links-scene.ts';

let scene: LinksScene;

const firstNight = '2026-06-01T02:30:00Z';
const secondNight = '2026-06-02T02:30:00Z';
const refused: Fault = { kind: 'status', status: 400, message: 'no such page' };

/** Crawls once, then removes a network, adds one and renames one in every app; returns the first two apps' tokens. */
async function crawledAndChanged(
  world: Partial<WorldOptions> = { apps: 2, links: 160 },
): Promise<readonly [string, string]> {
  scene = await openLinksScene({ world });
  await scene.crawl(firstNight);
  const { links } = scene.simulator;
  for (const { token } of scene.simulator.world.apps) {
    const [first, second] = links.list(token, null).map(({ item }) => item.token);
    links.remove(first ?? '');
    links.rename(second ?? '', 'renamed');
    links.add(token, null, { name: 'new', children: [{ name: 'below' }] });
  }
  scene.simulator.requested.reset();
  const [first = '', second = ''] = scene.simulator.world.apps.map(({ token }) => token);
  return [first, second];
}

const ofApp = (app: string) => (link: Readonly<Record<string, unknown>>) =>
  link['app_token'] === app;

test('one failed page of many leaves its app as it was and nothing closed; the other app is replaced', async () => {
  const [broken, whole] = await crawledAndChanged();
  const before = await storedTree(scene);
  const history = await scene.rows(
    `select * from main.links_history where app_token = '${broken}' order by all`,
  );
  let children = 0;
  const stop = scene.simulator.script({
    match: ({ path }) => path.includes(broken) && path.endsWith('/children') && (children += 1) > 5,
    times: 1,
    fault: refused,
  });

  const result = await scene.crawl(secondNight);
  expect(result.map(({ code, facts }) => [code, facts['app_token']])).toEqual([
    ['SOURCE_REFUSED', broken],
  ]);
  const stored = await storedTree(scene);
  expect(stored.filter(ofApp(broken))).toEqual(before.filter(ofApp(broken)));
  expect(stored.filter(ofApp(whole))).toEqual(trueTree(scene).filter(ofApp(whole)));
  expect(
    await scene.rows(`select * from main.links_history where app_token = '${broken}' order by all`),
  ).toEqual(history);
  expect(await scene.rows('select token from ripen_internal.staged_links')).toEqual([]);

  stop();
  scene.simulator.requested.reset();
  expect(await scene.crawl(secondNight)).toEqual([]);
  expect(await storedTree(scene)).toEqual(trueTree(scene));
  expect(scene.simulator.requested.requests.every(({ path }) => path.includes(broken))).toBe(true);
});

/** Lists in pages of 5 by their offset, and removes an item once the first page was read. */
function shiftingServer(
  items: { links: string[]; partners: number[] },
  removes: { links: string; partners: number } | null,
) {
  const pageOf = <T>(all: readonly T[], after: number, shown: (item: T) => object): Reply => {
    const end = after + 5;
    const next = end < all.length ? `?after=${end}` : null;
    return json({
      data: { items: all.slice(after, end).map((item) => shown(item)), paging: { next } },
    });
  };
  return startScriptedServer(({ path, query }) => {
    const after = Number(query.get('after') ?? 0);
    const isLinks = path.endsWith('/trackers');
    const reply = isLinks
      ? pageOf(items.links, after, (token) => ({
          token,
          label: token,
          level: 1,
          has_subtrackers: token === 'n6',
        }))
      : path.endsWith('/partners')
        ? pageOf(items.partners, after, (id) => ({ id, display_name: `P${id}` }))
        : json({
            data: { items: [{ token: 'below', label: 'below', level: 2, has_subtrackers: false }] },
          });
    const isPartners = path.endsWith('/partners');
    if (isLinks) items.links = items.links.filter((token) => token !== removes?.links);
    if (isPartners) items.partners = items.partners.filter((id) => id !== removes?.partners);
    return reply;
  });
}

test('of 12 links and 12 partners, one that slips to a page that was read, as another is removed, stays; the removed one goes, too, once no list has it', async () => {
  const numbers = Array.from({ length: 12 }, (_, index) => index + 1);
  const items = { links: numbers.map((number) => `n${number}`), partners: numbers };
  const campaign = await shiftingServer(items, null);
  scene = await openLinksScene({}, { baseUrl: campaign.origin });
  const links = { apps: ['abc123def456'], maxLevel: 4, everyMs: 0 };
  const night = async (day: number, service = scene.service): Promise<readonly unknown[]> => {
    const run = { ...scene.run(`2026-06-0${day}T02:30:00Z`), service };
    await refreshPartners(run);
    return refreshLinks(run, links);
  };
  const closed = (): Promise<unknown> =>
    scene.rows(
      `select token as gone from main.links_history where valid_to is not null
       union all select partner_id from main.partners_history where valid_to is not null and is_listed order by 1`,
    );
  expect(await night(1)).toEqual([]);
  const shifting = await shiftingServer(items, { links: 'n3', partners: 3 });
  const other = connectTo(shifting.origin);
  expect(await night(2, other.service)).toEqual([]);
  await other.service.close();
  await shifting.close();
  // The list that the first crawl began with still had them.
  expect(await closed()).toEqual([]);
  expect(await scene.rows('select count(*)::integer as n from main.links')).toEqual([{ n: 13 }]);
  const requested = campaign.received.length;
  expect(await night(3)).toEqual([]);
  expect(await closed()).toEqual([{ gone: '3' }, { gone: 'n3' }]);
  // 3 pages each, twice, and the sub-links of one.
  expect(campaign.received.length - requested).toBe(13);
  expect(await night(4)).toEqual([]);
  expect(campaign.received.length - requested).toBe(20);
});

test('a token that is reset mid-crawl ends the refresh, and no app is half replaced', async () => {
  await crawledAndChanged();
  const before = await storedTree(scene);
  scene.simulator.script({
    match: () => true,
    times: 10_000,
    fault: { kind: 'revoked_token', afterRequests: 12 },
  });
  await expect(scene.crawl(secondNight)).rejects.toMatchObject({ code: 'CREDENTIALS_REFUSED' });
  expect(await storedTree(scene)).toEqual(before);
});

test('a link that vanishes between the list it is in and its own list leaves its app as it was, until a later run', async () => {
  const [broken] = await crawledAndChanged();
  let path = '';
  scene.simulator.script({
    match: (request) => {
      if (path === '' && request.path.includes(broken) && request.path.endsWith('/children'))
        path = request.path.slice(11);
      return path !== '' && request.path.endsWith(path);
    },
    times: 2,
    fault: { kind: 'status', status: 404, message: 'no such link' },
  });
  const failures = await scene.crawl(secondNight);
  expect(failures.map(({ code, facts }) => [code, facts['app_token']])).toEqual([
    ['SOURCE_UNAVAILABLE', broken],
  ]);
  expect(await scene.crawl(secondNight)).toEqual([]);
  expect(await storedTree(scene)).toEqual(trueTree(scene));
});

describe('a campaign API that accepts requests and never answers', () => {
  const apps = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => letter.repeat(12));

  const after = (days: number) =>
    new Date(Date.parse(firstNight) + days * MS_PER_DAY).toISOString();

  async function crawl(answered: string, requestTimeoutMs = 60, night = firstNight) {
    scene = await openLinksScene();
    const silent = await startScriptedServer(({ path }) =>
      answered.includes(path.split('/')[4]?.[0] ?? '') ? json({ data: { items: [] } }) : 'hang',
    );
    const { service } = connectTo(silent.origin, { requestTimeoutMs });
    const failed = new Set<string>();
    const links = { apps, maxLevel: 4, everyMs: 0 };
    const failures = await refreshLinks({ ...scene.run(night), service }, links, failed);
    await Promise.all([service.close(), silent.close()]);
    return { failures, failed: [...failed], requests: silent.received.length };
  }

  test('ends a crawl after 3 apps in a row, with one failure that counts the apps which were not requested, and begins with another app the next day', async () => {
    const { failures, failed, requests } = await crawl('b');
    expect(failures.map(({ message }) => message)).toEqual([
      textWith(
        'The links of 3 apps in a row were not updated, and those of 2 more apps not requested: ',
      ),
    ]);
    // So that rows which name a link of theirs begin no other crawl of them.
    expect(failed.map((app) => app[0])).toEqual(['c', 'd', 'e', 'f', 'a']);
    expect(requests).toBe(1 + 3 * 3);
    const next = await crawl('b', 60, after(1));
    expect(next.failed[0]).toBe('c'.repeat(12));
    const third = await crawl('b', 60, after(2));
    expect(third.failed[0]).toBe('d'.repeat(12));
  });

  test('but for some apps leaves the other ones crawled', async () => {
    const { failures, failed } = await crawl('cf');
    expect(failures.map(({ facts }) => facts['app_token'])).toEqual(failed);
    expect(failed.map((app) => app[0])).toEqual(['b', 'd', 'e', 'a']);
  });

  test('has no advice to raise a time limit that no setting raises', async () => {
    expect((await crawl('b')).failures[0]?.hint).toContain('raise service.request_timeout');
    passingDeadline(120_000).abort();
    const { failures } = await crawl('', 1_000_000);
    expect(failures).toMatchObject([{ code: 'SOURCE_TIMEOUT', hint: textWith('Run again later') }]);
  });
});
