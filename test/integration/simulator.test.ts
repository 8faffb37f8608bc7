/** The simulator keeps to service-interface.md and its published examples: every other test takes it for the service. */

import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, expect, test } from 'vitest';
import { request } from 'undici';
import * as z from 'zod';

import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

const NOW = new Date('2026-06-01T03:00:00Z');

const small = { seed: 1, apps: 2, partners: 7, links: 60, rowsPerDay: 10 } as const;
const REPORT =
  '/reports-service/report?dimensions=day,network&metrics=installs&date_period=2026-01-01:2026-01-07&format_dates=false';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({ world: small, now: NOW });
});
afterAll(() => simulator.close());

interface Question {
  readonly method?: 'POST' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
interface Told {
  readonly status: number;
  readonly text: string;
}

/** One connection per question, and the whole answer. */
async function ask(path: string, { method, headers = {}, body }: Question = {}): Promise<Told> {
  const answer = await request(new URL(path, simulator.url), {
    method: method ?? 'GET',
    headers,
    body: body ?? null,
    reset: true,
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

const askWith =
  (authorization: string) =>
  (path: string, { headers, ...question }: Question = {}): Promise<Told> =>
    ask(path, { ...question, headers: { authorization, ...headers } });
const askReports = askWith('Bearer simulator-token');
const askCampaign = askWith('Token token=simulator-token');

const app = (): string => simulator.world.apps[0]?.token ?? '';
const trackers = (version = 'v1'): string => `/public/${version}/apps/${app()}/trackers`;
const bearer = { authorization: 'Bearer simulator-token' };
const send = (method: 'POST' | 'PATCH', path: string, fields: unknown): Promise<Told> =>
  askCampaign(path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  });

test.each<[string, number, () => Promise<Told>]>([
  ['an empty report', 204, () => askReports(`${REPORT}&app_token__in=nosuchapp123`)],
  [
    'an unknown metric',
    400,
    () => askReports(`${REPORT}&metrics=clocks`.replace('&metrics=installs', '')),
  ],
  ['filters-data without lists', 400, () => askReports('/reports-service/filters_data')],
  ['no token', 401, () => ask(REPORT)],
  ['the campaign form of the token for a report', 401, () => askCampaign(REPORT)],
  [
    'the report form of the token for partners',
    401,
    () => ask('/public/v1/partners', { headers: bearer }),
  ],
  ['an unknown path', 404, () => askReports('/reports-service/reports')],
  ['an unknown app', 404, () => askCampaign('/public/v2/apps/unknownapp12/trackers')],
  ['another method', 404, () => askReports('/reports-service/report', { method: 'DELETE' })],
  ['a limit of 0', 422, () => askCampaign('/public/v1/partners?limit=0')],
  ['a link without a name', 422, () => send('POST', trackers(), {})],
  [
    'a partner that is none',
    422,
    () =>
      send('PATCH', `${trackers()}/${simulator.links.list(app(), null)[0]?.item.token}`, {
        partner_id: 'three',
      }),
  ],
])('%s is answered %i', async (_, status, asking) => expect((await asking()).status).toBe(status));

/** The keys of a document's envelope, of its paging and of its first item. */
function shapeOf(text: string): unknown {
  const shape = z.object({
    data: z.looseObject({
      paging: z.looseObject({}).default({}),
      items: z.array(z.looseObject({})),
    }),
  });
  const { data } = shape.parse(JSON.parse(text));
  return [data, data.paging, data.items[0] ?? {}].map((of) => Object.keys(of).toSorted());
}

test('every list and write has the shape of its published example', async () => {
  const { links } = simulator;
  const token =
    links.list(app(), null).find(({ item }) => links.list(app(), item.token).length > 1)?.item
      .token ?? '';
  const get = (path: string): Promise<Told> => askCampaign(`${path}?limit=1`);
  for (const [example, told] of [
    ['partners.v1.page', await get('/public/v1/partners')],
    ['trackers.v1.page', await get(trackers())],
    ['trackers.v2.page', await get(trackers('v2'))],
    ['children.v1.page', await get(`${trackers()}/${token}/children`)],
    ['children.v2.page', await get(`${trackers('v2')}/${token}/children`)],
    ['tracker.create', await send('POST', trackers(), { name: 'A' })],
    ['tracker.update', await send('PATCH', `${trackers()}/${token}`, {})],
  ] as const) {
    const published = shapeOf(readFileSync(`test/fixtures/service/${example}.json`, 'utf8'));
    expect([example, shapeOf(told.text)]).toEqual([example, published]);
  }
});

test('of 51 simultaneous calls one is answered 429, and the next is let in', async () => {
  const slow = await startSimulator({ world: small, now: NOW, answerDelayMs: 1500 });
  const path = new URL(REPORT, slow.url).href;
  const told = await Promise.all(Array.from({ length: 51 }, () => askReports(path)));
  expect(told.filter(({ status }) => status === 200).length).toBe(50);
  expect(told.filter(({ status }) => status === 429).length).toBe(1);
  expect((await askReports(path)).status).toBe(200);
  await slow.close();
});
