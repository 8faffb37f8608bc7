/** Links that are written: what is checked before, what becomes of an answer that is lost, and of one that says otherwise. */

import { afterEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { createLink, updateLink, type LinkWriting } from '../../src/links/write-link.ts';
import { refreshLinks } from '../../src/links/refresh-links.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { openLinksScene, storedTree, trueTree, type LinksScene } from '../support/links-scene.ts';
import { failureFrom, json, type Reply } from '../support/scripted-server.ts';
import { useService } from '../support/use-service.ts';

let scene: LinksScene;

afterEach(() => scene.close());

const night = '2026-06-01T02:30:00Z';

async function crawledScene(): Promise<{
  readonly writing: LinkWriting;
  readonly app: string;
  readonly network: string;
}> {
  scene = await openLinksScene({ world: { apps: 2, links: 60 } });
  await scene.crawl(night);
  scene.simulator.asked.reset();
  const { service, warehouse } = scene;
  const { clock, emit, signal } = scene.run(night);
  const writing: LinkWriting = { service, clock, warehouse, at: new Date('2026-06-01T12:00:00Z'), emit, signal };
  const app = scene.simulator.world.apps[0]?.token ?? '';
  const { links } = scene.simulator;
  const network = links.list(app, null).find(({ item }) => item.partnerId !== null)?.item.token ?? '';
  return { writing, app, network };
}

const warnings = (): readonly string[] =>
  scene.events.flatMap((event) => (event.type === 'warning' ? [event.code] : []));

const onPost = (fault: Fault): void => {
  scene.simulator.script({ match: ({ method }) => method === 'POST', times: 1, fault });
};

test('a created network and sub-link are returned and stored as the next crawl finds them', async () => {
  const { writing, app, network } = await crawledScene();
  const created = await createLink(writing, { appToken: app, name: 'Fresh (1)', parent: null });
  expect(created).toMatchObject({ isStored: true, link: { label: 'Fresh (1)', level: 1 } });
  const below = await createLink(writing, { appToken: app, name: 'Below', parent: network });
  expect(below.link.level).toBe(2);
  const beneath = await createLink(writing, { appToken: app, name: 'Beneath', parent: created.link.token });
  expect(beneath.link.name).toBe('Fresh (1)::Beneath');
  expect(await storedTree(scene)).toEqual(trueTree(scene));
  expect(scene.simulator.asked.counts.create_link).toBe(3);

  const versions = 'select * from main.links_history order by all';
  const before = await scene.rows(versions);
  await scene.crawl('2026-06-02T02:30:00Z');
  expect(await scene.rows(versions)).toEqual(before);
});

test('a changed partner is stored for the link and for all that inherit it', async () => {
  const { writing, app, network } = await crawledScene();
  const partner = scene.simulator.world.partners[5]?.id ?? 0;
  const change = { partnerId: String(partner), costDataEnabled: true };
  const { link, isStored } = await updateLink(writing, app, network, change);
  expect([link.partnerId, link.costDataEnabled, isStored]).toEqual([String(partner), true, true]);
  const sublink = scene.simulator.links.list(app, network)[0]?.item.token ?? '';
  await updateLink(writing, app, sublink, { costDataEnabled: true });
  expect(await storedTree(scene)).toEqual(trueTree(scene));
  const night = await scene.rows(
    `select count(*) as n from main.links_history where token = '${network}' and valid_to = timestamp '2026-06-01 12:00'`,
  );
  expect(night).toEqual([{ n: '1' }]);
});

test('a lost answer to a creation that took place is looked up: one POST, the link returned and stored', async () => {
  const { writing, app, network } = await crawledScene();
  scene.simulator.links.add(app, network, { name: 'Twice' });
  onPost({ kind: 'reset', effect: true });
  const { link } = await createLink(writing, { appToken: app, name: 'Twice', parent: network, evenIfTaken: true });
  const listed = scene.simulator.links.list(app, network).map(({ item }) => item);
  expect(listed.filter(({ label }) => label === 'Twice').map(({ token }) => token)[1]).toBe(link.token);
  expect(scene.simulator.asked.counts.create_link).toBe(1);
  expect(warnings()).toEqual(['LINK_NAME_TAKEN', 'LINK_FOUND']);
  expect((await storedTree(scene)).map(({ token }) => token)).toContain(link.token);
});

test('a creation killed after the service took it, and run again, returns that link and stores it with its sub-links', async () => {
  const { writing, app, network } = await crawledScene();
  // What a killed run leaves: a link that the service lists and the warehouse does not.
  scene.simulator.links.add(app, network, { name: 'Killed' });
  const again = await createLink(writing, { appToken: app, name: 'Killed', parent: network });
  expect(again).toMatchObject({ isCreated: false, isStored: true, link: { label: 'Killed', level: 2 } });
  const below = await createLink(writing, { appToken: app, name: 'Below', parent: again.link.token });
  expect(below).toMatchObject({ isCreated: true, isStored: true });
  await createLink(writing, { appToken: app, name: 'Killed', parent: network });
  expect(scene.simulator.asked.counts.create_link).toBe(1);
  expect(await storedTree(scene)).toEqual(trueTree(scene));
});

const openEnds: readonly [string, Fault][] = [
  ['a lost answer', { kind: 'reset' }],
  ['an answer of 202, of which nothing is documented,', { kind: 'status', status: 202 }],
  ['an answer of 520, of which nothing is documented,', { kind: 'status', status: 520 }],
];

test.each(openEnds)(
  '%s to a creation that is not listed is looked up and stays unknown, as lists may lag; it is not sent again',
  async (_, fault) => {
    const { writing, app } = await crawledScene();
    const before = await storedTree(scene);
    onPost(fault);
    const failure = await failureFrom(createLink(writing, { appToken: app, name: 'Lost', parent: null }));
    expect([failure.code, failure.facts['outcome']]).toEqual(['SOURCE_UNAVAILABLE', 'unknown']);
    expect(failure.message).toMatch(/^It is unknown whether the link "Lost" was created: .*; it is not listed yet$/);
    expect(failure.hint).toContain('before creating it again');
    expect(scene.simulator.asked.counts.create_link).toBe(1);
    expect(await storedTree(scene)).toEqual(before);
  },
);

test('a lost answer that cannot be looked up either stays unknown', async () => {
  const { writing, app } = await crawledScene();
  onPost({ kind: 'reset', effect: true });
  let lists = 0;
  scene.simulator.script({
    match: ({ method }) => method === 'GET' && (lists += 1) > 1,
    times: 10,
    fault: { kind: 'status', status: 400 },
  });
  const failure = await failureFrom(createLink(writing, { appToken: app, name: 'Lost', parent: null }));
  expect([failure.code, failure.facts['outcome']]).toEqual(['SOURCE_UNAVAILABLE', 'unknown']);
  expect(scene.simulator.asked.counts.create_link).toBe(1);
});

test('what is wrong before the call is never sent', async () => {
  const { writing, app, network } = await crawledScene();
  const wrong = [
    () => createLink(writing, { appToken: 'not-a-token!', name: 'x', parent: null }),
    () => createLink(writing, { appToken: app, name: ' \u00A0', parent: null }),
    () => createLink(writing, { appToken: app, name: '  x  ', parent: null }),
    () => createLink(writing, { appToken: app, name: 'a\u0007b', parent: null }),
    () => createLink(writing, { appToken: app, name: 'x', parent: '../partners' }),
    () => updateLink(writing, app, network, {}),
    () => updateLink(writing, app, network, { partnerId: '1.5' }),
    () => updateLink(writing, app, '../x', { costDataEnabled: true }),
  ];
  for (const call of wrong) expect((await failureFrom(call())).code).toBe('USAGE_INVALID');
  expect(scene.simulator.asked.requests).toEqual([]);
});

test('a parent the service does not know is its answer, before any POST; a refused one leaves the store alone', async () => {
  const { writing, app } = await crawledScene();
  const missing = await failureFrom(createLink(writing, { appToken: app, name: 'x', parent: 'nobody1' }));
  expect(missing.code).toBe('SOURCE_MISSING');
  expect(scene.simulator.asked.counts.create_link).toBe(0);
  const before = await storedTree(scene);
  onPost({ kind: 'status', status: 422, message: 'name is taken' });
  const refused = await failureFrom(createLink(writing, { appToken: app, name: 'x', parent: null }));
  expect(refused.message).toContain('name is taken');
  expect(await storedTree(scene)).toEqual(before);
});

test('an id that is not in the stored partner list warns with the nearest, a name or a part of it fails with its id', async () => {
  const { writing, app, network } = await crawledScene();
  const insert = `insert into main.partners values ('1741', 'Kumo', true, true), ('-300', 'Organic', null, false)`;
  await scene.warehouse.run(insert);
  const refused = await failureFrom(updateLink(writing, app, network, { partnerId: '1742' }));
  expect(refused.code).toBe('SOURCE_REFUSED');
  const told = scene.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(told).toEqual(['The partner id 1742 is not in the stored list of 1 partners; the nearest is 1741 (Kumo).']);
  const named = await failureFrom(updateLink(writing, app, network, { partnerId: 'kuma' }));
  expect(named.hint).toBe('Give 1741, the id of Kumo.');
  await scene.warehouse.run(`insert into main.partners values ('1750', 'Halcyon Social', true, true)`);
  const partly = await failureFrom(updateLink(writing, app, network, { partnerId: 'halcyon' }));
  expect(partly.hint).toBe('Give 1750, the id of Halcyon Social.');
});

test.each([
  ['abcdefghij', 10],
  ['short', 5],
])(
  'an app token such as %s, of %i characters instead of 12, warns and is asked for all the same',
  async (token, length) => {
    const { writing } = await crawledScene();
    const failure = await failureFrom(createLink(writing, { appToken: token, name: 'x', parent: null }));
    expect([failure.code, failure.facts['status']]).toEqual(['SOURCE_REFUSED', 422]);
    expect(warnings()).toEqual(['APP_TOKEN_UNUSUAL']);
    const told = scene.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
    expect(told).toEqual([`The app token ${token} had ${length} characters instead of 12.`]);
  },
);

test('nothing is stored for an app that was never crawled, nor without a warehouse', async () => {
  const { writing, app } = await crawledScene();
  await scene.warehouse.run('delete from ripen.link_crawls');
  const before = await storedTree(scene);
  const created = await createLink(writing, { appToken: app, name: 'Fresh', parent: null });
  expect(created.isStored).toBe(false);
  const other = await createLink({ ...writing, warehouse: null }, { appToken: app, name: 'Other', parent: null });
  expect(other.isStored).toBe(false);
  expect(await storedTree(scene)).toEqual(before);
});

test('a link whose name differs in blanks and in its Unicode form alone is the one that is wanted', async () => {
  const { writing, app } = await crawledScene();
  scene.simulator.links.add(app, null, { name: 'Caf\u00e9 au lait' });
  const again = await createLink(writing, { appToken: app, name: 'Cafe\u0301  au\u00a0lait', parent: null });
  expect([again.isCreated, again.link.label]).toEqual([false, 'Caf\u00e9 au lait']);
  expect(scene.simulator.asked.counts.create_link).toBe(0);
});

describe('a list of 4 links that ends after 2', () => {
  const listed = (name: string, archived = false): object => ({ token: `${name}1`, level: 1, label: name, archived });
  /** The scene, written to through a service whose list is short, and how many creations that was sent. */
  async function shortList(items: readonly object[]) {
    const { writing, app } = await crawledScene();
    const { server, connection } = await useService(({ method }) =>
      method === 'GET'
        ? json({ data: { items, paging: { total: '4', next: null } } })
        : json({ data: { items: [{ token: 'new1', level: 1, label: 'New' }] } }),
    );
    const posts = (): number => server.received.filter(({ method }) => method === 'POST').length;
    return { writing: { ...writing, service: connection.service }, app, posts };
  }

  test.each([
    ['lacks the name', [listed('One'), listed('Two')]],
    ['has it on an archived link', [listed('One'), listed('New', true)]],
  ])('and %s refuses a creation before it is sent, but for one even if taken', async (_, items) => {
    const { writing, app, posts } = await shortList(items);
    const wanted = { appToken: app, name: 'New', parent: null };
    const failure = await failureFrom(createLink(writing, wanted));
    expect([failure.code, failure.message, failure.hint]).toEqual([
      'DATA_INCOMPLETE',
      'The link "New" was not created: the list it would stand in held 2 links, and the service said that there are 4',
      'Try again later, or give --even-if-taken if no link beside it has the name.',
    ]);
    expect(posts()).toBe(0);
    expect(await createLink(writing, { ...wanted, evenIfTaken: true })).toMatchObject({ isCreated: true });
    expect(posts()).toBe(1);
  });

  test('and has the name shows that link', async () => {
    const { writing, app, posts } = await shortList([listed('One'), listed('New')]);
    const found = await createLink(writing, { appToken: app, name: 'New', parent: null });
    expect(found).toMatchObject({ isCreated: false, link: { token: 'New1' } });
    expect(posts()).toBe(0);
  });
});

describe('the partner of a sub-link that it was given', () => {
  /** Of the network, of 2 sub-links and of a link below the first, as the lists and the answer to a change state it. */
  let listed: Readonly<Record<'net' | 'one' | 'two' | 'leaf', string | null>>;
  let answered: string;
  let below: Readonly<Record<'trackers' | keyof typeof listed, readonly (keyof typeof listed)[]>>;

  async function given(): Promise<{
    readonly change: (change: object) => Promise<unknown>;
    /** Of each sub-link, after the crawls until a day of June. */
    readonly partners: (day: number) => Promise<unknown>;
  }> {
    scene = await openLinksScene({ world: { apps: 1, links: 0 } });
    [listed, answered] = [{ net: '10', one: null, two: null, leaf: null }, '20'];
    below = { trackers: ['net'], net: ['one', 'two'], one: ['leaf'], two: [], leaf: [] };
    const item = (token: keyof typeof listed, level: number): object => ({
      token,
      label: token,
      level,
      has_subtrackers: below[token].length > 0,
      partner_id: listed[token],
    });
    const { connection } = await useService(({ method, path }) => {
      if (method === 'PATCH') return json({ data: { items: [{ token: 'one', level: 2, partner_id: answered }] } });
      const parent = z.enum(['trackers', 'net', 'one', 'two', 'leaf']).parse(/(\w+)(?:\/children)?$/.exec(path)?.[1]);
      const level = { trackers: 1, net: 2, one: 3, two: 3, leaf: 4 }[parent];
      return json({ data: { items: below[parent].map((token) => item(token, level)) } });
    });
    const { service } = connection;
    const app = 'abc123def456';
    const crawl = async (day: number): Promise<void> => {
      const run = { ...scene.run(`2026-06-0${day}T02:30:00Z`), service };
      expect((await refreshLinks(run, { apps: [app], maxLevel: 4 })).failures).toEqual([]);
    };
    const { warehouse } = scene;
    const { clock, emit, signal } = scene.run(night);
    const writing = { service, clock, warehouse, at: new Date('2026-06-01T12:00:00Z'), emit, signal };
    await crawl(1);
    return {
      change: async (change) => updateLink(writing, app, 'one', change),
      partners: async (day) => {
        if (day > 1) await crawl(day);
        const rows = await scene.rows(
          `select coalesce(partner_id, inherited_partner_id) as partner from main.links where level > 1 order by token`,
        );
        return rows.map(({ partner }) => partner);
      },
    };
  }

  test('stays, also for the links below it, while lists name none of any sub-link', async () => {
    const { change, partners } = await given();
    await change({ partnerId: '20' });
    expect(await partners(1)).toEqual(['20', '20', '10']);
    expect(await partners(2)).toEqual(['20', '20', '10']);
    expect(
      await scene.rows(`select valid_to from main.links_history where token = 'leaf' and valid_to is null`),
    ).toHaveLength(1);
  });

  test('stays when another link goes, for which the app is crawled twice', async () => {
    const { change, partners } = await given();
    await change({ partnerId: '20' });
    below = { ...below, net: ['one'] };
    expect(await partners(2)).toEqual(['20', '20']);
    expect(await partners(3)).toEqual(['20', '20']);
  });

  test('that lists gave it goes once they name none of any sub-link', async () => {
    const { partners } = await given();
    listed = { ...listed, one: '30' };
    expect(await partners(2)).toEqual(['30', '30', '10']);
    listed = { ...listed, one: null };
    expect(await partners(3)).toEqual(['10', '10', '10']);
  });

  test('goes when the answer to another change states the one it inherits', async () => {
    const { change, partners } = await given();
    await change({ partnerId: '20' });
    answered = '10';
    await change({ costDataEnabled: true });
    expect(await partners(2)).toEqual(['10', '10', '10']);
  });

  test('goes when lists that name those of sub-links name it no more', async () => {
    const { change, partners } = await given();
    await change({ partnerId: '20' });
    listed = { ...listed, one: '20', two: '30' };
    expect(await partners(2)).toEqual(['20', '20', '30']);
    listed = { ...listed, one: null };
    expect(await partners(3)).toEqual(['10', '10', '30']);
  });
});

describe('an answer that says something else than what was asked for', () => {
  /** The scene, written to through a service that answers as told; its lists are empty until something is created. */
  async function answering(written: (body: unknown) => Reply, listed: () => readonly object[] = () => []) {
    const { writing, app, network } = await crawledScene();
    const { connection } = await useService(({ method, body }) =>
      method === 'GET' ? json({ data: { items: listed() } }) : written(JSON.parse(body)),
    );
    const sublink = scene.simulator.links.list(app, network)[0]?.item.token ?? '';
    const stored = async (token: string) => (await storedTree(scene)).find((link) => link['token'] === token);
    return { writing: { ...writing, service: connection.service }, app, network, sublink, stored };
  }
  const item = (change: object): Reply => json({ data: { items: [change] } });

  test('to an update that was ignored fails with both values and stores the one the service states', async () => {
    const { writing, app, network, stored } = await answering(() =>
      item({ token: network, level: 1, partner_id: 4321, cost_data_enabled: false }),
    );
    const change = { partnerId: '174', costDataEnabled: true };
    const failure = await failureFrom(updateLink(writing, app, network, change));
    expect([failure.code, failure.message]).toEqual([
      'SOURCE_REFUSED',
      `The link ${network} was not changed as asked: partner 174 was asked for, and it has 4321; cost data on was asked for, and it is off`,
    ]);
    expect(await stored(network)).toMatchObject({ partner_id: '4321', cost_data_enabled: false });
  });

  test('to an update with fewer fields leaves the stored ones as they are', async () => {
    const { writing, app, network, stored } = await answering((body) =>
      item({ token: network, level: 1, ...z.object({}).loose().parse(body) }),
    );
    const before = await stored(network);
    const { link, isStored } = await updateLink(writing, app, network, { partnerId: '174' });
    expect([link.partnerId, link.label, isStored]).toEqual(['174', before?.['label'], true]);
    expect(await stored(network)).toEqual({ ...before, partner_id: '174' });
  });

  test('to an update of a sub-link, the inherited partner, is no partner of its own', async () => {
    const { writing, app, sublink, stored } = await answering(() => item({ token: sublink, level: 2, partner_id: 3 }));
    const before = await stored(sublink);
    await updateLink(writing, app, sublink, { costDataEnabled: true });
    expect(await stored(sublink)).toEqual({ ...before, cost_data_enabled: true });
    const refused = await failureFrom(updateLink(writing, app, sublink, { partnerId: '174' }));
    expect(refused.message).toContain('partner 174 was asked for, and it has 3');
    expect((await stored(sublink))?.['partner_id']).toBeNull();
  });

  test.each([
    ['another link', { data: { items: [{ token: 'other1', level: 1, partner_id: 174 }] } }, 'expected the link'],
    [
      'the link beside an error',
      { error: 'not allowed', data: { items: [{ token: 'NETWORK', level: 1 }] } },
      'stated "not allowed"',
    ],
  ])('to an update, %s, is SOURCE_GARBLED and stores nothing', async (_, document, said) => {
    const { writing, app, network } = await answering(() => ({
      body: JSON.stringify(document).replace('NETWORK', network),
    }));
    const before = await storedTree(scene);
    const failure = await failureFrom(updateLink(writing, app, network, { partnerId: '174' }));
    expect([failure.code, failure.message]).toEqual(['SOURCE_GARBLED', expect.stringContaining(said)]);
    expect(await storedTree(scene)).toEqual(before);
  });

  test.each([
    [
      'a link of another name',
      { data: { items: [{ token: 'other1', level: 1, label: 'Other' }] } },
      '"Other" (other1)',
    ],
    ['a link of another level', { data: { items: [{ token: 'other1', level: 2, label: 'New' }] } }, 'of level 2'],
    ['a link beside an error', { errors: ['no'], data: { items: [{ token: 'n', level: 1, label: 'New' }] } }, '["no"]'],
  ])('to a creation, %s, leaves it unknown', async (_, document, said) => {
    const { writing, app } = await answering(() => json(document));
    const failure = await failureFrom(createLink(writing, { appToken: app, name: 'New', parent: null }));
    expect([failure.code, failure.facts['outcome']]).toEqual(['SOURCE_UNAVAILABLE', 'unknown']);
    expect(failure.message).toContain(said);
  });

  test('to a creation whose answer was lost, the list with blanks made one, finds the link, and so does a rerun', async () => {
    const made: object[] = [];
    const { writing, app } = await answering(
      () => {
        made.push({ token: 'new1', level: 1, label: 'Big sale' });
        return { status: 0 };
      },
      () => made,
    );
    const wanted = { appToken: app, name: 'Big  sale', parent: null };
    expect(await createLink(writing, wanted)).toMatchObject({ isCreated: true, link: { token: 'new1' } });
    expect(await createLink(writing, wanted)).toMatchObject({ isCreated: false, link: { token: 'new1' } });
    expect(made).toHaveLength(1);
  });
});
