/** The simulator keeps to service-interface.md and its published examples: every other test takes it for the service. */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { catalogFilters, metricFilterNames } from '../../src/model/catalog.ts';
import { dimensions } from '../../src/model/dimension.ts';
import { metrics } from '../../src/simulator/world/metrics.ts';
import { ask, askCampaign, askReports, type Told } from '../support/ask-simulator.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../support/simulator/simulator.ts';
import { createWorld, type Report } from '../support/simulator/world.ts';

const NOW = new Date('2026-06-01T03:00:00Z');
const DAY_MS = 86_400_000;
const world = createWorld({ rowsPerDay: 60 });

function report(parameters: Readonly<Record<string, string>>, of = world, at = NOW): Report | null {
  const usual = { dimensions: 'day', metrics: 'installs', date_period: '2026-01-01:2026-01-07', format_dates: 'false' };
  return of.report(new URLSearchParams({ ...usual, attribution_type: 'all', ...parameters }), at);
}

/** A cell as text, whichever of its forms it has. */
const textOf = (cell: unknown): string => (typeof cell === 'string' || typeof cell === 'number' ? String(cell) : '');
const rowsOf = (parameters: Readonly<Record<string, string>>): Report['rows'] => report(parameters)?.rows ?? [];
const total = (metric: string, parameters: Readonly<Record<string, string>> = {}): number =>
  report({ metrics: metric, ...parameters })?.totals[metric] ?? 0;
const sum = (metric: string, each: readonly Readonly<Record<string, string>>[]): number =>
  each.reduce((all, parameters) => all + total(metric, parameters), 0);

describe('a report', () => {
  test('of the same options is the same, byte for byte; of another seed it is another', () => {
    const asked = { dimensions: 'hour,campaign', metrics: 'installs,cost,roas_d7,skad_installs' };
    expect(JSON.stringify(report(asked, createWorld({ rowsPerDay: 60 })))).toBe(JSON.stringify(report(asked)));
    expect(report({}, createWorld({ seed: 2 }))?.totals).not.toEqual(report({})?.totals);
  });

  test('has rows with attr_dependency, then every dimension and metric in the order requested', () => {
    const [row] = rowsOf({ dimensions: dimensions.join(','), metrics: 'cost,installs' });
    expect(Object.keys(row ?? {})).toEqual(['attr_dependency', ...dimensions, 'cost', 'installs']);
  });

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

  test('of closed parameters, and of opposite filters, has parts that make the whole', () => {
    const of = (name: string, ...values: string[]) => values.map((value) => ({ [name]: value }));
    const systems = [...new Set(rowsOf({ dimensions: 'os_name' }).map((row) => textOf(row['os_name'])))];
    expect(sum('installs', of('attribution_type', 'click', 'impression'))).toBe(total('installs'));
    expect(sum('installs', of('reattributed', 'true', 'false'))).toBe(total('installs'));
    expect(sum('installs', of('os_names', ...systems))).toBe(total('installs'));
    for (const [one, other, value] of [
      ['in', 'not_in', 'US,DE'],
      ['contains', 'exclude', 'S'],
      ['starts_with', 'not_starts_with', 'd'],
      ['ends_with', 'not_ends_with', 'e'],
    ] as const) {
      const parts = [{ [`country_code__${one}`]: value }, { [`country_code__${other}`]: value }];
      expect([one, sum('installs', parts)]).toEqual([one, total('installs')]);
    }
    expect(total('cost', { ad_spend_mode: 'network' })).toBe(total('network_cost'));
    expect(total('cost', { currency: 'EUR' }) / total('cost')).toBeCloseTo(0.92, 4);
    expect(total('installs', { attribution_source: 'first' })).toBe(total('installs'));
    expect(total('installs', { sandbox: 'true' })).toBeLessThan(total('installs'));
  });

  test('under mature withholds values of incomplete cohorts, in rows and totals', () => {
    const asked = { metrics: 'revenue_total_d7', date_period: '2026-05-20:2026-05-31' };
    const [open, mature] = [report(asked), report({ ...asked, cohort_maturity: 'mature' })];
    const withheld = (mature?.rows ?? []).map(({ revenue_total_d7: value }) => value === '0.0' || value === null);
    expect(withheld).toEqual([...Array<boolean>(4).fill(false), ...Array<boolean>(8).fill(true)]);
    expect(mature?.totals['revenue_total_d7']).toBeLessThan(open?.totals['revenue_total_d7'] ?? 0);
  });

  test.each([
    ['before 2022', '2021-12-01:2021-12-31'],
    ['after now', '2026-06-02:2026-06-30'],
  ])('does not exist %s', (_, period) => expect(report({ date_period: period })).toBeNull());
});

/** Days after the end of a day after which its value of a metric must not change (PRODUCT: Maturity). */
function horizonDays(id: string): number {
  if (/^(skad_|conversion_value)/.test(id)) return 42;
  const floor = /^(cost|adjust_cost|(install|click|impression|event)_cost|network_.*|ecp.*|roas_.*)$/.test(id) ? 14 : 7;
  const [, unit = '', age = '0'] = /_([dwm])(\d+)(?:_(?:events|conversions)_cohort)?$/.exec(id) ?? [];
  const next = Number(age) + 1;
  return Math.max(floor, { d: next, w: 7 * next + 1, m: 30 * next + 1 }[unit] ?? 0);
}

describe('the numbers of a day', () => {
  const DAY = '2026-01-10';
  const tried = [...metrics.keys()].filter(
    (id) =>
      !['cohort_size', 'cohort_revenue', 'cohort_ad_revenue', 'roas'].includes(id) &&
      (!/_[dwm]\d+(_|$)/.test(id) || /_(d0|d1|d7|d14|d60|w1|m1)(_|$)/.test(id)),
  );
  const at = (ids: readonly string[], day: string, days: number, offset = '+00:00'): Report | null => {
    const end = Date.parse(`${day}T00:00:00${offset}`) + DAY_MS;
    const asked = {
      dimensions: 'day,os_name',
      metrics: ids.join(','),
      date_period: `${day}:${day}`,
      utc_offset: offset,
    };
    return report(asked, world, new Date(end + days * DAY_MS));
  };

  test.each(['+00:00', '+05:30'])('in %s never change after their horizon', (offset) => {
    for (const horizon of new Set(tried.map((id) => horizonDays(id)))) {
      const ids = tried.filter((id) => horizonDays(id) === horizon);
      expect(at(ids, DAY, horizon + 400, offset)).toEqual(at(ids, DAY, horizon, offset));
    }
  });

  test.each([
    ['installs', 7],
    ['cost', 14],
    ['skad_installs', 42],
    ['revenue_total_d13', 14],
    ['revenue_total_m1', 60],
  ])('of %s still move on the last of %i days', (id, horizon) => {
    const tenDays = (days: number): unknown[] =>
      Array.from({ length: 10 }, (_, nth) => at([id], `2026-01-${10 + nth}`, days)?.totals[id]);
    expect(tenDays(horizon - 1 + 1 / 24)).not.toEqual(tenDays(horizon));
  });
});

describe('filters-data', () => {
  const listed = (parameters: Record<string, string>) => world.filtersData(new URLSearchParams(parameters));

  test('answers each of the lists with items of all fields, each id once', () => {
    const lists = listed({ required_filters: catalogFilters.join(',') });
    expect(Object.keys(lists)).toEqual(catalogFilters);
    const fields = 'id name short_name section formatting description increase_is_negative'.split(' ');
    for (const [name, items] of Object.entries(lists)) {
      expect([name, new Set(items.map(({ id }) => id)).size, items.length > 0]).toEqual([name, items.length, true]);
      expect(Object.keys(items[0] ?? {})).toEqual(fields);
    }
  });

  test('lists no metric that cannot be reported as a number, empty or null', () => {
    const ids = [...new Set(metricFilterNames.flatMap((name) => listed({ required_filters: name })[name] ?? []))];
    const names = ids.map(({ id }) => id);
    const [row = {}] = rowsOf({ metrics: names.join(','), dimensions: 'country_code', country_code__in: 'US' });
    expect(names.filter((id) => !/^(-?\d+(\.\d+)?(e-\d+)?)?$/.test(textOf(row[id])))).toEqual([]);
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

  test('a report is the same bytes under gzip and without', async () => {
    const plain = await askReports(simulator(), REPORT, { headers: { 'accept-encoding': 'gzip;q=0' } });
    const zipped = await askReports(simulator(), REPORT, { headers: { 'accept-encoding': 'br, gzip' } });
    expect([plain.status, plain.headers['content-encoding'], zipped.headers['content-encoding']]).toEqual([
      200,
      undefined,
      'gzip',
    ]);
    expect(gunzipSync(zipped.bytes).equals(plain.bytes)).toBe(true);
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

  test('a sub-link shows its inherited partner in its own update, and none in lists', async () => {
    const partner = simulator().world.partners[1]?.id;
    const top = simulator().links.add(app(), null, { name: 'Top', children: [{ name: 'Below' }] });
    const below = simulator().links.list(app(), top.token)[0]?.item.token;
    await send('PATCH', `${trackers()}/${top.token}`, { partner_id: partner });
    expect((await send('PATCH', `${trackers()}/${below}`, {})).text).toContain(`"partner_id":${partner}`);
    expect((await askCampaign(simulator(), `${trackers()}/${top.token}/children`)).text).toContain('"partner_id":null');
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

test('v1 and v2 list the same links, page by page', async () => {
  const simulator = await startSimulator({ world: small });
  const shape = z.object({
    data: z.object({
      paging: z.object({ next: z.string().nullish() }),
      items: z.array(z.object({ token: z.string() })),
    }),
  });
  const token = simulator.world.apps[0]?.token ?? '';
  for (const version of ['v1', 'v2']) {
    const found: string[] = [];
    for (let next: string | null = `/public/${version}/apps/${token}/trackers?limit=3`; next !== null;) {
      const { data } = shape.parse(JSON.parse((await askCampaign(simulator, next)).text));
      found.push(...data.items.map((item) => item.token));
      next = data.paging.next ?? null;
    }
    expect(found).toEqual(simulator.links.list(token, null).map(({ item }) => item.token));
  }
  await simulator.close();
});

describe('ad spend', () => {
  const simulator = useSimulator();
  const good = { cost_type: 'cpc', cost_currency: 'USD', cost_amount: '0.25', cost_id: 'sender-00001', tag: 'spring' };
  const submit = (fields: Record<string, string>, credential = 'Partner simulator'): Promise<Told> =>
    ask(simulator(), '/cost', {
      method: 'POST',
      headers: { authorization: credential, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });

  test.each([
    [{}, 200],
    [{ cost_id: 'y'.repeat(256), tag: 'x'.repeat(128) }, 200],
    [{ cost_type: '' }, 400],
    [{ cost_currency: 'QQQ' }, 400],
    [{ cost_id: 'x'.repeat(11) }, 400],
    [{ cost_id: 'x'.repeat(257) }, 400],
    [{ tag: 'x'.repeat(129) }, 400],
    [{ cost_amount: '1,5' }, 400],
  ])('with %j is answered %i', async (change, status) => {
    expect((await submit({ ...good, ...change })).status).toBe(status);
  });

  test('counts a repeated Cost ID, and refuses a wrong credential', async () => {
    const before = simulator().acceptedSpend.get(good.cost_id) ?? 0;
    await submit(good);
    expect(simulator().acceptedSpend.get(good.cost_id)).toBe(before + 1);
    expect((await submit(good, 'Partner other')).status).toBe(403);
  });
});
