/** The campaign API: each parameter, field, paging form and status of partners, links and sub-links. */

import { describe, expect, test } from 'vitest';

import type { Link, Partner } from '../../src/model/link.ts';
import {
  type Connection,
  json,
  markedToken,
  type Reply,
  type Script,
  type ScriptedServer,
  useService,
} from '../support/scripted-server.ts';

const APP = 'gwzpeepw8uf8';

let server: ScriptedServer;
let connection: Connection;

async function serve(script: Script): Promise<void> {
  ({ server, connection } = await useService(script));
}

async function partners(): Promise<Partner[]> {
  const found: Partner[] = [];
  for await (const page of connection.service.partners(connection.signal)) found.push(...page);
  return found;
}

async function links(parent: string | null): Promise<Link[]> {
  const found: Link[] = [];
  for await (const page of connection.service.links(APP, parent, connection.signal))
    found.push(...page);
  return found;
}

const partner = (id: number): object => ({
  id,
  display_name: `Partner ${id}`,
  supports_cost_data: id % 2 === 0,
});
const link = (token: string, change: object = {}): object => ({
  name: `Above::${token}`,
  token,
  label: token,
  level: 2,
  archived: true,
  has_subtrackers: false,
  partner_id: null,
  cost_data_enabled: true,
  url: `https://a.example.com/${token}`,
  click_url: `https://a.example.com/${token}?c={campaign_name}&i=[idfa]&l=a b&d=http%3A%2F%2Fx%3D%%M%%`,
  impression_url: `https://i.example.com/${token}?i={idfa}`,
  ...change,
});

/** The envelope of v1, paging as in v1. */
function v1(items: readonly object[], next: string | null, after: string | null): Reply {
  const [counts, cursors] = [
    { page_size: '50', collection_size: '49', total: '199' },
    { after, before: null },
  ];
  const envelope = { api_version: '1', request_id: 'd3b0', timestamp: '2026-02-14T02:30:00Z' };
  return json({
    data: { ...envelope, paging: { ...counts, next, previous: null, cursors }, items },
  });
}

describe('GET partners', () => {
  test('reads id, display_name and supports_cost_data', async () => {
    await serve(() => v1([partner(174), partner(175)], null, null));
    expect(await partners()).toEqual([
      { id: '174', displayName: 'Partner 174', supportsCostData: true },
      { id: '175', displayName: 'Partner 175', supportsCostData: false },
    ]);
    expect(server.received[0]?.headers.authorization).toBe(`Token token=${markedToken}`);
  });

  test('starts without after, before and limit, and follows next with the after and limit it carries', async () => {
    await serve(({ query, path }) =>
      query.has('after')
        ? v1([partner(2)], null, null)
        : v1([partner(1)], `${server.origin}${path}?after=g2w%2B&limit=50`, 'g2w+'),
    );
    expect((await partners()).map(({ id }) => id)).toEqual(['1', '2']);
    expect(server.received.map(({ target }) => target)).toEqual([
      '/public/v1/partners',
      '/public/v1/partners?after=g2w%2B&limit=50',
    ]);
  });
});

const lists = [
  ['apps/{app_token}/trackers', null],
  ['apps/{app_token}/trackers/{link_token}/children', 'abc123'],
] as const;

describe.each(lists)('GET %s', (template, parent) => {
  const path = template.replace('{app_token}', APP).replace('{link_token}', parent ?? '');

  test('is asked for in v2 without cursor and limit, and reads all 11 fields of a link byte for byte', async () => {
    await serve(() =>
      json({
        data: { paging: { cursor: null, next: null }, items: [link('t1', { partner_id: 174 })] },
      }),
    );
    expect(await links(parent)).toEqual([
      {
        name: 'Above::t1',
        token: 't1',
        label: 't1',
        level: 2,
        archived: true,
        hasSubtrackers: false,
        partnerId: '174',
        costDataEnabled: true,
        url: 'https://a.example.com/t1',
        clickUrl:
          'https://a.example.com/t1?c={campaign_name}&i=[idfa]&l=a b&d=http%3A%2F%2Fx%3D%%M%%',
        impressionUrl: 'https://i.example.com/t1?i={idfa}',
      },
    ]);
    expect(server.received.map(({ target }) => target)).toEqual([`/public/v2/${path}`]);
  });

  test('reads a link whose name is null under its label, without one under an empty name, and the link beside it', async () => {
    const unnamed = [
      link('t1', { name: null }),
      link('t2', { name: null, label: null }),
      link('t3'),
    ];
    await serve(() => json({ data: { paging: { cursor: null, next: null }, items: unnamed } }));
    expect((await links(parent)).map(({ token, name }) => [token, name])).toEqual([
      ['t1', 't1'],
      ['t2', ''],
      ['t3', 'Above::t3'],
    ]);
  });

  test.each([
    ['cursor', null],
    ['cursor', ''],
    ['after', undefined],
  ])(
    'in v2 follows a next that carries %s and the limit, to an end that is %j',
    async (parameter, end) => {
      await serve((request) =>
        json({
          data: request.query.has(parameter)
            ? { paging: { cursor: end, next: end }, items: [link('t2')] }
            : {
                paging: {
                  cursor: 'g2w',
                  next: `${server.origin}${request.path}?${parameter}=g2w&limit=50`,
                },
                items: [link('t1')],
              },
        }),
      );
      expect((await links(parent)).map(({ token }) => token)).toEqual(['t1', 't2']);
      expect(server.received.map(({ target }) => target)).toEqual([
        `/public/v2/${path}`,
        `/public/v2/${path}?${parameter}=g2w&limit=50`,
      ]);
    },
  );

  test('in v1, where v2 is absent, follows a next that carries after and limit', async () => {
    await serve((request) => {
      if (request.path.startsWith('/public/v2/')) return { status: 404 };
      return request.query.has('after')
        ? v1([link('t2')], null, null)
        : v1([link('t1')], `${server.origin}${request.path}?after=g2w&limit=50`, 'g2w');
    });
    expect((await links(parent)).map(({ token, partnerId }) => [token, partnerId])).toEqual([
      ['t1', null],
      ['t2', null],
    ]);
    expect(server.received.map(({ target }) => target)).toEqual([
      `/public/v2/${path}`,
      `/public/v1/${path}`,
      `/public/v1/${path}?after=g2w&limit=50`,
    ]);
  });
});

test('of 30 lists asked for at once no more are in flight than the limit of the campaign API, which is its own', async () => {
  await serve(() => ({ ...json({ data: { items: [link('t1')] } }), afterMs: 5 }));
  const { service, signal } = connection;
  const listed = Array.from({ length: 30 }, async (_, index) =>
    service.links(APP, `parent${index}`, signal).next(),
  );
  expect((await Promise.all(listed)).every(({ value }) => Array.isArray(value))).toBe(true);
  expect(server.received).toHaveLength(30);
  // Of reports 10 are allowed here.
  expect(server.peak()).toBeLessThanOrEqual(4);
  expect(server.peak()).toBeGreaterThan(1);
});
