/** Links that are written: what is checked before, what becomes of an answer that is lost, and of one that says otherwise. */

import { describe, expect, test } from 'vitest';

import { createLink, updateLink, type LinkWriting } from '../../src/account/write-link.ts';
import type { Service } from '../../src/service/service.ts';
import { openLinksScene, type LinksScene } from '../support/links-scene.ts';
import { failureFrom, json, type Reply, useService } from '../support/scripted-server.ts';

let scene: LinksScene;

async function writingScene(): Promise<{
  readonly writing: LinkWriting;
  readonly app: string;
  readonly network: string;
}> {
  scene = await openLinksScene({ world: { apps: 2, links: 60 } });
  const { signal } = scene.run('2026-06-01T02:30:00Z');
  const writing: LinkWriting = { service: scene.service, signal };
  const app = scene.simulator.world.apps[0]?.token ?? '';
  const { links } = scene.simulator;
  const network =
    links.list(app, null).find(({ item }) => item.partnerId !== null)?.item.token ?? '';
  return { writing, app, network };
}

test('a changed partner and cost data setting are returned as the service has them', async () => {
  const { writing, app, network } = await writingScene();
  const partnerId = String(scene.simulator.world.partners[5]?.id);
  const changed = await updateLink(writing, app, network, { partnerId, costDataEnabled: true });
  expect(changed).toMatchObject({ token: network, partnerId, costDataEnabled: true });
  expect(scene.simulator.links.find(network)).toMatchObject({
    partnerId: Number(partnerId),
    costDataEnabled: true,
  });
});

test.each([
  ['network', true],
  ['sub-link', true],
  ['network', false],
  ['sub-link', false],
])(
  'a %s whose creation was taken and not answered is found by a rerun, where lists state labels: %s',
  async (kind, isLabelled) => {
    const { writing, app } = await writingScene();
    const parent = kind === 'network' ? null : 'net1';
    const name = parent === null ? 'Big sale' : 'Net::Big sale';
    const made: object[] = [];
    const { server, connection } = await useService(({ method }) => {
      if (method === 'GET') return json({ data: { items: made } });
      made.push({
        token: 'new1',
        level: parent === null ? 1 : 2,
        name,
        ...(isLabelled ? { label: 'Big sale' } : {}),
      });
      return { status: 0 };
    });
    const wanted = { appToken: app, name: 'Big sale', parent };
    const through = { ...writing, service: connection.service };
    const failure = await failureFrom(createLink(through, wanted));
    expect([failure.code, failure.facts['outcome']]).toEqual(['SOURCE_UNAVAILABLE', 'unknown']);
    expect(failure.hint).toContain('Run the command again');
    expect(await createLink(through, wanted)).toMatchObject({
      isCreated: false,
      link: { token: 'new1', label: 'Big sale' },
    });
    expect(server.received.filter(({ method }) => method === 'POST')).toHaveLength(1);
  },
);

test('what is wrong before the call is never sent', async () => {
  const { writing, app, network } = await writingScene();
  const wrong = [
    () => createLink(writing, { appToken: 'not-a-token!', name: 'x', parent: null }),
    () => createLink(writing, { appToken: app, name: ' \u00A0', parent: null }),
    () => createLink(writing, { appToken: app, name: '  x  ', parent: null }),
    () => createLink(writing, { appToken: app, name: 'a\u0007b', parent: null }),
    () => createLink(writing, { appToken: app, name: 'x', parent: '../partners' }),
    () => updateLink(writing, app, network, {}),
    () => updateLink(writing, app, '../x', { costDataEnabled: true }),
  ];
  for (const call of wrong) expect((await failureFrom(call())).code).toBe('USAGE_INVALID');
  expect(scene.simulator.requested.requests).toEqual([]);
});

describe('an answer that says something else than what was asked for', () => {
  /** The scene, written to through a service that answers so, and lists no links. */
  async function answering(written: (body: unknown) => Reply) {
    const { writing, app, network } = await writingScene();
    const { connection } = await useService(({ method, body }) =>
      method === 'GET' ? json({ data: { items: [] } }) : written(JSON.parse(body)),
    );
    const partners: Service['partners'] = (signal) => scene.service.partners(signal);
    return {
      writing: { ...writing, service: { ...connection.service, partners } },
      app,
      network,
    };
  }
  const item = (change: object): Reply => json({ data: { items: [change] } });

  test('to an update that was ignored fails with both values', async () => {
    const { writing, app, network } = await answering(() =>
      item({ token: network, level: 1, partner_id: 4321, cost_data_enabled: false }),
    );
    const change = { partnerId: '174', costDataEnabled: true };
    const failure = await failureFrom(updateLink(writing, app, network, change));
    expect([failure.code, failure.message]).toEqual([
      'SOURCE_REFUSED',
      `The link ${network} was not changed as requested: partner 174 was requested, and it has 4321; cost data on was requested, and it is off`,
    ]);
  });

  test.each([
    [
      'a link of another name',
      { data: { items: [{ token: 'other1', level: 1, label: 'Other' }] } },
      '"Other" (other1)',
    ],
    [
      'a link of another level',
      { data: { items: [{ token: 'other1', level: 2, label: 'New' }] } },
      'of level 2',
    ],
    [
      'a link beside an error',
      { errors: ['no'], data: { items: [{ token: 'n', level: 1, label: 'New' }] } },
      '["no"]',
    ],
  ])('to a creation, %s, leaves it unknown', async (_, document, said) => {
    const { writing, app } = await answering(() => json(document));
    const failure = await failureFrom(
      createLink(writing, { appToken: app, name: 'New', parent: null }),
    );
    expect([failure.code, failure.facts['outcome']]).toEqual(['SOURCE_UNAVAILABLE', 'unknown']);
    expect(failure.message).toContain(said);
  });
});
