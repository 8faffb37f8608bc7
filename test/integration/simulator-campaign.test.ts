import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Simulator, type SimulatorOptions, startSimulator } from '../support/simulator/simulator.ts';
import { ask, askCampaign, type Told } from '../support/ask-simulator.ts';

const world = { seed: 1, apps: 2, partners: 7, links: 60, rowsPerDay: 10 } as const;

const link = z.object({
  name: z.string(),
  token: z.string(),
  label: z.string(),
  level: z.number(),
  archived: z.boolean(),
  has_subtrackers: z.boolean(),
  partner_id: z.number().nullable(),
});
const linkPage = z.object({
  data: z.object({
    paging: z.object({ next: z.string().nullish(), cursor: z.string().nullish() }).loose(),
    items: z.array(link),
  }),
});
const partnerPage = z.object({
  data: z.object({
    paging: z.object({
      page_size: z.string(),
      collection_size: z.string(),
      total: z.string(),
      previous: z.string().nullable(),
      cursors: z.object({ after: z.string().nullable(), before: z.string().nullable() }),
    }),
    items: z.array(z.object({ id: z.number(), display_name: z.string(), supports_cost_data: z.boolean() })),
  }),
});

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator({ world });
});

afterEach(async () => {
  await simulator.close();
});

const appToken = (): string => simulator.world.apps.at(0)?.token ?? '';

function send(method: 'POST' | 'PATCH', path: string, fields: unknown): Promise<Told> {
  const headers = { 'content-type': 'application/json' };
  return askCampaign(simulator, path, { method, headers, body: JSON.stringify(fields) });
}

function linkOf(told: Told): z.infer<typeof link> {
  const [only] = z.object({ data: z.object({ items: z.tuple([link]) }) }).parse(JSON.parse(told.text)).data.items;
  return only;
}

/** Every link on all pages, by following `next`. */
async function crawl(path: string): Promise<{ links: z.infer<typeof link>[]; sizes: number[] }> {
  const links: z.infer<typeof link>[] = [];
  const sizes: number[] = [];
  for (let next: string | null | undefined = path; typeof next === 'string' && next !== '';) {
    const { data } = linkPage.parse(JSON.parse((await askCampaign(simulator, next)).text));
    links.push(...data.items);
    sizes.push(data.items.length);
    next = data.paging.next;
  }
  return { links, sizes };
}

/** The keys of a document's first `data.items` element, of its paging and of its envelope. */
function shapeOf(text: string): unknown {
  const shape = z.object({
    data: z.looseObject({ paging: z.looseObject({}).optional(), items: z.array(z.looseObject({})) }),
  });
  const { data } = shape.parse(JSON.parse(text));
  return [Object.keys(data), Object.keys(data.paging ?? {}), Object.keys(data.items.at(0) ?? {})].map((keys) =>
    keys.sort(),
  );
}

const example = (name: string): string => readFileSync(`test/fixtures/service/${name}`, 'utf8');

describe('the partner list', () => {
  test('comes in pages of 3, 3 and 1 by cursors.after, with counts as strings', async () => {
    const sizes: string[] = [];
    const ids: number[] = [];
    for (let after: string | null = ''; after !== null;) {
      const told = await askCampaign(simulator, `/public/v1/partners?limit=3&after=${after}`);
      const { data } = partnerPage.parse(JSON.parse(told.text));
      expect([data.paging.page_size, data.paging.total]).toEqual(['3', '7']);
      sizes.push(data.paging.collection_size);
      ids.push(...data.items.map(({ id }) => id));
      after = data.paging.cursors.after;
    }
    expect(sizes).toEqual(['3', '3', '1']);
    expect(ids).toEqual(simulator.world.partners.map(({ id }) => id));
  });

  test.each(['limit=0', 'limit=ten', 'after=???'])('answers 422 for %s', async (query) => {
    expect((await askCampaign(simulator, `/public/v1/partners?${query}`)).status).toBe(422);
  });

  test('wants the campaign form of the token', async () => {
    const headers = { authorization: 'Bearer simulator-token' };
    expect((await ask(simulator, '/public/v1/partners', { headers })).status).toBe(401);
  });
});

test('every list and write has the shape of its published example', async () => {
  const root = `/public/v1/apps/${appToken()}/trackers`;
  const parent = simulator.links
    .list(appToken(), null)
    .find(({ item }) => simulator.links.list(appToken(), item.token).length > 1);
  const token = parent?.item.token ?? '';
  const told = async (path: string): Promise<unknown> => shapeOf((await askCampaign(simulator, path)).text);
  expect(await told('/public/v1/partners?limit=1')).toEqual(shapeOf(example('partners.v1.page.json')));
  expect(await told(`${root}?limit=1`)).toEqual(shapeOf(example('trackers.v1.page.json')));
  expect(await told(`${root.replace('v1', 'v2')}?limit=1`)).toEqual(shapeOf(example('trackers.v2.page.json')));
  expect(await told(`${root}/${token}/children?limit=1`)).toEqual(shapeOf(example('children.v1.page.json')));
  expect(await told(`${root.replace('v1', 'v2')}/${token}/children?limit=1`)).toEqual(
    shapeOf(example('children.v2.page.json')),
  );
  expect(shapeOf((await send('POST', root, { name: 'A' })).text)).toEqual(shapeOf(example('tracker.create.json')));
  expect(shapeOf((await send('PATCH', `${root}/${token}`, {})).text)).toEqual(shapeOf(example('tracker.update.json')));
});

describe('the link lists', () => {
  const styles: Partial<SimulatorOptions>[] = [
    {},
    { paging: { v2Next: 'after', v2End: 'absent' } },
    { paging: { v2End: 'empty', shortPages: true } },
  ];

  test.each(styles)('give the same tree in v1 and v2, in the style %j', async (options) => {
    await simulator.close();
    simulator = await startSimulator({ world, ...options });
    const expected = simulator.links.list(appToken(), null).map(({ item }) => item.token);
    expect(expected.length).toBeGreaterThan(3);
    for (const version of ['v1', 'v2']) {
      const { links } = await crawl(`/public/${version}/apps/${appToken()}/trackers?limit=3`);
      expect(links.map(({ token }) => token)).toEqual(expected);
      expect(links.every(({ level }) => level === 1)).toBe(true);
    }
  });

  test('give the sub-links of a link, with a null partner and names below their parent’s', async () => {
    const { links } = await crawl(`/public/v2/apps/${appToken()}/trackers`);
    const parent = links.find(({ has_subtrackers: has }) => has);
    const below = await crawl(`/public/v2/apps/${appToken()}/trackers/${parent?.token}/children`);
    expect(below.links.length).toBeGreaterThan(0);
    for (const child of below.links) {
      expect(child).toMatchObject({ level: 2, partner_id: null, name: `${parent?.name}::${child.label}` });
    }
  });

  test('have pages short by one that are not the last, when told to', async () => {
    await simulator.close();
    simulator = await startSimulator({ world, paging: { shortPages: true } });
    const { sizes } = await crawl(`/public/v1/apps/${appToken()}/trackers?limit=3`);
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.slice(0, -1).every((size) => size === 2)).toBe(true);
  });

  test('of v2 are answered 404 where v2 is absent, of v1 200', async () => {
    await simulator.close();
    simulator = await startSimulator({ world, paging: { v2: false } });
    const statuses = await Promise.all(
      ['v2', 'v1'].map(
        async (version) => (await askCampaign(simulator, `/public/${version}/apps/${appToken()}/trackers`)).status,
      ),
    );
    expect(statuses).toEqual([404, 200]);
  });

  test.each([
    ['an app token of 11 characters', 'shorttoken1', 422],
    ['an unknown app', 'unknownapp12', 404],
  ])('answer %s with %i', async (_, token, status) => {
    expect((await askCampaign(simulator, `/public/v2/apps/${token}/trackers`)).status).toBe(status);
  });

  test('answer a link of another app with 404', async () => {
    const other = simulator.world.links.find((known) => known.appToken !== appToken());
    const path = `/public/v1/apps/${appToken()}/trackers/${other?.token}/children`;
    expect((await askCampaign(simulator, path)).status).toBe(404);
  });
});

describe('writing links', () => {
  test('creates a link, a sub-link below it, and lists both', async () => {
    const path = `/public/v1/apps/${appToken()}/trackers`;
    const created = linkOf(await send('POST', path, { name: 'Fresh' }));
    expect(created).toMatchObject({ name: 'Fresh', label: 'Fresh', level: 1, archived: false, has_subtrackers: false });
    const child = linkOf(await send('POST', path, { name: 'Spring', parent_token: created.token }));
    expect(child).toMatchObject({ name: 'Fresh::Spring', label: 'Spring', level: 2 });
    const { links } = await crawl(path);
    expect(links.find(({ token }) => token === created.token)).toMatchObject({ has_subtrackers: true });
  });

  test('attaches a partner, which a sub-link shows in its own update but not in listings', async () => {
    const path = `/public/v1/apps/${appToken()}/trackers`;
    const partnerId = simulator.world.partners.at(1)?.id;
    const top = simulator.links.add(appToken(), null, { name: 'Top', children: [{ name: 'Below' }] });
    const below = simulator.links.list(appToken(), top.token).at(0)?.item.token;
    const updated = await send('PATCH', `${path}/${top.token}`, { partner_id: partnerId, cost_data_enabled: true });
    expect(updated.text).toContain('"cost_data_enabled":true');
    expect(linkOf(updated).partner_id).toBe(partnerId);
    expect(linkOf(await send('PATCH', `${path}/${below}`, {})).partner_id).toBe(partnerId);
    expect((await crawl(`${path}/${top.token}/children`)).links).toMatchObject([{ partner_id: null }]);
  });

  test.each([
    [{}, 422],
    [{ name: ' ' }, 422],
    [{ name: 'x', parent_token: 'nothing' }, 422],
    [['x'], 400],
  ])('refuses to create %j with %i', async (fields, status) => {
    expect((await send('POST', `/public/v1/apps/${appToken()}/trackers`, fields)).status).toBe(status);
  });

  test.each([
    [{ partner_id: 'three' }, 422],
    [{ partner_id: 999_999 }, 422],
    [{ cost_data_enabled: 'yes' }, 422],
  ])('refuses to update with %j by %i', async (fields, status) => {
    const token = simulator.links.list(appToken(), null).at(0)?.item.token;
    expect((await send('PATCH', `/public/v1/apps/${appToken()}/trackers/${token}`, fields)).status).toBe(status);
  });

  test('refuses a fifth level, another content type, and v2', async () => {
    const path = `/public/v1/apps/${appToken()}/trackers`;
    let token = simulator.links.add(appToken(), null, { name: 'One' }).token;
    for (const name of ['Two', 'Three', 'Four']) token = simulator.links.add(appToken(), token, { name }).token;
    expect((await send('POST', path, { name: 'Five', parent_token: token })).status).toBe(422);
    expect((await askCampaign(simulator, path, { method: 'POST', body: '{"name":"x"}' })).status).toBe(415);
    expect((await send('POST', path.replace('v1', 'v2'), { name: 'x' })).status).toBe(405);
  });
});
