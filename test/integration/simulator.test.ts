/** The simulator keeps to service-interface.md and its published examples: every other test takes it for the service. */

import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { metrics } from '../../src/simulator/world/metrics.ts';
import { ask, askCampaign, askReports, type Told } from '../support/ask-simulator.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { createWorld, type Report } from '../support/simulator/world.ts';

const NOW = new Date('2026-06-01T03:00:00Z');
const world = createWorld({ rowsPerDay: 60 });

function report(parameters: Readonly<Record<string, string>>, of = world, at = NOW): Report | null {
  const usual = { dimensions: 'day', metrics: 'installs', date_period: '2026-01-01:2026-01-07', format_dates: 'false' };
  return of.report(new URLSearchParams({ ...usual, attribution_type: 'all', ...parameters }), at);
}

const rowsOf = (parameters: Readonly<Record<string, string>>): Report['rows'] => report(parameters)?.rows ?? [];
const total = (metric: string, parameters: Readonly<Record<string, string>> = {}): number =>
  report({ metrics: metric, ...parameters })?.totals[metric] ?? 0;
describe('a report', () => {
  test.each([
    ['hour', '2026-01-01T00:00:00', /^01\/01\/2026 \d\d:00$/],
    ['day', '2026-01-01', /^01\/01\/2026$/],
    ['week', '2025-12-29 - 2026-01-04', /^12\/29\/2025 - 01\/04\/2026$/],
    ['month', '2026-01', /^January 2026$/],
    ['quarter', 'Q1 2026', /^Q1 2026$/],
    ['year', '2026', /^2026$/],
  ])(
    'labels the first %s of 2026 %s, each once, and for people unless format_dates is false',
    (name, label, people) => {
      const labels = rowsOf({ dimensions: name }).map((row) => row[name]);
      expect([labels[0], new Set(labels).size]).toEqual([label, labels.length]);
      expect(rowsOf({ dimensions: name, format_dates: 'true' })[0]?.[name]).toMatch(people);
      expect(total('installs', { dimensions: name })).toBe(total('installs'));
    },
  );

  test('has no two rows of one key, and adds up to its totals, of every additive metric', () => {
    for (const names of ['app', 'campaign', 'creative', 'hour,campaign', 'partner_name,creative']) {
      const keys = rowsOf({ dimensions: names }).map((row) =>
        JSON.stringify([row['attr_dependency'], ...names.split(',').map((name) => row[name])]),
      );
      expect([names, new Set(keys).size]).toEqual([names, keys.length]);
    }
    const additive = [...metrics.values()].filter((metric) => metric.additive).map(({ id }) => id);
    const found = report({ dimensions: 'country', metrics: additive.join(','), date_period: '2026-01-10:2026-01-10' });
    const wrong = additive.filter((id) => {
      const rows = (found?.rows ?? []).reduce((all, row) => all + Math.round(Number(row[id]) * 1e6), 0);
      return rows !== Math.round((found?.totals[id] ?? 0) * 1e6);
    });
    expect([additive.length > 4000, wrong]).toEqual([true, []]);
  });

  test('under mature withholds values of incomplete cohorts, in rows and totals', () => {
    const asked = { metrics: 'revenue_total_d7', date_period: '2026-05-20:2026-05-31' };
    const [open, mature] = [report(asked), report({ ...asked, cohort_maturity: 'mature' })];
    const withheld = (mature?.rows ?? []).map(({ revenue_total_d7: value }) => value === '0.0' || value === null);
    expect(withheld).toEqual([...Array<boolean>(4).fill(false), ...Array<boolean>(8).fill(true)]);
    expect(mature?.totals['revenue_total_d7']).toBeLessThan(open?.totals['revenue_total_d7'] ?? 0);
  });
});

const small = { seed: 1, apps: 2, partners: 7, links: 60, rowsPerDay: 10 } as const;
const REPORT =
  '/reports-service/report?dimensions=day,network&metrics=installs&date_period=2026-01-01:2026-01-07&format_dates=false';

/** Starts one for the tests of a block. */
function useSimulator(options: Partial<SimulatorOptions> = {}): () => Simulator {
  let simulator: Simulator | null = null;
  beforeAll(async () => {
    simulator = await startSimulator({ world: small, now: NOW, ...options });
  });
  afterAll(() => simulator?.close());
  return () => {
    if (simulator === null) throw new Error('The simulator has not started.');
    return simulator;
  };
}

describe('on the wire', () => {
  const simulator = useSimulator();
  const app = (): string => simulator().world.apps[0]?.token ?? '';
  const trackers = (version = 'v1'): string => `/public/${version}/apps/${app()}/trackers`;
  const bearer = { authorization: 'Bearer simulator-token' };
  const send = (method: 'POST' | 'PATCH', path: string, fields: unknown): Promise<Told> =>
    askCampaign(simulator(), path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });

  test.each<[string, number, () => Promise<Told>]>([
    ['an empty report', 204, () => askReports(simulator(), `${REPORT}&app_token__in=nosuchapp123`)],
    [
      'an unknown metric',
      400,
      () => askReports(simulator(), `${REPORT}&metrics=clocks`.replace('&metrics=installs', '')),
    ],
    ['filters-data without lists', 400, () => askReports(simulator(), '/reports-service/filters_data')],
    ['no token', 401, () => ask(simulator(), REPORT)],
    ['the campaign form of the token for a report', 401, () => askCampaign(simulator(), REPORT)],
    [
      'the report form of the token for partners',
      401,
      () => ask(simulator(), '/public/v1/partners', { headers: bearer }),
    ],
    ['an unknown path', 404, () => askReports(simulator(), '/reports-service/reports')],
    ['an unknown app', 404, () => askCampaign(simulator(), '/public/v2/apps/unknownapp12/trackers')],
    ['another method', 405, () => askReports(simulator(), '/reports-service/report', { method: 'DELETE' })],
    ['a limit of 0', 422, () => askCampaign(simulator(), '/public/v1/partners?limit=0')],
    ['a link without a name', 422, () => send('POST', trackers(), {})],
    [
      'a partner that is none',
      422,
      () =>
        send('PATCH', `${trackers()}/${simulator().links.list(app(), null)[0]?.item.token}`, { partner_id: 'three' }),
    ],
  ])('%s is answered %i', async (_, status, asking) => expect((await asking()).status).toBe(status));

  /** The keys of a document's envelope, of its paging and of its first item. */
  function shapeOf(text: string): unknown {
    const shape = z.object({
      data: z.looseObject({ paging: z.looseObject({}).default({}), items: z.array(z.looseObject({})) }),
    });
    const { data } = shape.parse(JSON.parse(text));
    return [data, data.paging, data.items[0] ?? {}].map((of) => Object.keys(of).toSorted());
  }

  test('every list and write has the shape of its published example', async () => {
    const { links } = simulator();
    const token =
      links.list(app(), null).find(({ item }) => links.list(app(), item.token).length > 1)?.item.token ?? '';
    const get = (path: string): Promise<Told> => askCampaign(simulator(), `${path}?limit=1`);
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
    const told = await Promise.all(Array.from({ length: 51 }, () => askReports(slow, REPORT)));
    expect(told.filter(({ status }) => status === 200).length).toBe(50);
    expect(told.filter(({ status }) => status === 429).length).toBe(1);
    expect((await askReports(slow, REPORT)).status).toBe(200);
    await slow.close();
  });
});
