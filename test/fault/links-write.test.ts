/** Links that are written: what is checked before, what becomes of an answer that is lost, and of one that says otherwise. */

import { describe, expect, test } from 'vitest';

import { type Config, createLink, updateLink } from '../../src/index.ts';
import { httpService, openScenario, type Scenario } from '../support/scenario.ts';
import {
  failureFrom,
  json,
  type Reply,
  type Script,
  startScriptedServer,
} from '../support/scripted-server.ts';

let scene: Scenario;

async function writingScene(): Promise<{
  readonly config: Config;
  readonly app: string;
  readonly network: string;
}> {
  scene = await openScenario([], { simulator: { world: { apps: 2, links: 60 } } });
  const app = scene.simulator.world.apps[0]?.token ?? '';
  const { links } = scene.simulator;
  const network =
    links.list(app, null).find(({ item }) => item.partner_id !== null)?.item.token ?? '';
  return { config: scene.config, app, network };
}

/** A server that answers by the script, and the configuration with its address. */
async function scripted(config: Config, script: Script) {
  const server = await startScriptedServer(script);
  return { server, config: { ...config, service: httpService({ url: server.origin }) } };
}

test('a changed partner and cost data setting are returned as the service has them', async () => {
  const { config, app, network } = await writingScene();
  const partnerId = String(scene.simulator.world.partners[5]?.id);
  const change = { partner: partnerId, costData: true };
  const changed = await updateLink(config, { app, link: network, ...change });
  expect(changed).toMatchObject({ token: network, partnerId, costDataEnabled: true });
  expect(scene.simulator.links.find(network)).toMatchObject({
    partner_id: Number(partnerId),
    cost_data_enabled: true,
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
    const scene = await writingScene();
    const parent = kind === 'network' ? undefined : 'net1';
    const name = parent === undefined ? 'Big sale' : 'Net::Big sale';
    const made: object[] = [];
    const { server, config } = await scripted(scene.config, ({ method }) => {
      if (method === 'GET') return json({ data: { items: made } });
      made.push({
        token: 'new1',
        level: parent === undefined ? 1 : 2,
        name,
        ...(isLabelled ? { label: 'Big sale' } : {}),
      });
      return { status: 0 };
    });
    const wanted = { app: scene.app, name: 'Big sale', parent };
    const failure = await failureFrom(createLink(config, wanted));
    expect([failure.code, failure.facts['outcome']]).toEqual(['SOURCE_UNAVAILABLE', 'unknown']);
    expect(failure.hint).toContain('Run the command again');
    expect(await createLink(config, wanted)).toMatchObject({
      isCreated: false,
      link: { token: 'new1', label: 'Big sale' },
    });
    expect(server.received.filter(({ method }) => method === 'POST')).toHaveLength(1);
  },
);

test('what is wrong before the call is never sent', async () => {
  const { config, app, network } = await writingScene();
  const wrong = [
    () => createLink(config, { app: 'not-a-token!', name: 'x' }),
    () => createLink(config, { app, name: ' \u00A0' }),
    () => createLink(config, { app, name: '  x  ' }),
    () => createLink(config, { app, name: 'a\u0007b' }),
    () => createLink(config, { app, name: 'x', parent: '../partners' }),
    () => updateLink(config, { app, link: network }),
    () => updateLink(config, { app, link: '../x', costData: true }),
  ];
  for (const call of wrong) expect((await failureFrom(call())).code).toBe('USAGE_INVALID');
  expect(scene.simulator.requested.requests).toEqual([]);
});

describe('an answer that says something else than what was asked for', () => {
  /** The scene, written to through a server that answers so, and lists no links. */
  async function answering(written: (body: unknown) => Reply) {
    const scene = await writingScene();
    const { config } = await scripted(scene.config, ({ method, body }) =>
      method === 'GET' ? json({ data: { items: [] } }) : written(JSON.parse(body)),
    );
    return { ...scene, config };
  }
  const item = (change: object): Reply => json({ data: { items: [change] } });

  test('to an update that was ignored fails with both values', async () => {
    const { config, app, network } = await answering(() =>
      item({ token: network, level: 1, partner_id: 4321, cost_data_enabled: false }),
    );
    const change = { app, link: network, partner: '174', costData: true };
    const failure = await failureFrom(updateLink(config, change));
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
    const { config, app } = await answering(() => json(document));
    const failure = await failureFrom(createLink(config, { app, name: 'New' }));
    expect([failure.code, failure.facts['outcome']]).toEqual(['SOURCE_UNAVAILABLE', 'unknown']);
    expect(failure.message).toContain(said);
  });
});
