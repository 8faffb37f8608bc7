import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { ask, askReports } from '../support/ask-simulator.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const world = { seed: 1, apps: 2, partners: 4, links: 40, rowsPerDay: 50 } as const;
const DAY_REPORT =
  '/reports-service/report?dimensions=day,app_token,network&metrics=installs,clicks&date_period=2026-01-01:2026-01-07&format_dates=false';

const reportShape = z.object({
  rows: z.array(z.record(z.string(), z.unknown())),
  totals: z.record(z.string(), z.number()),
});

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator({ world, now: NOW });
});

afterEach(async () => {
  await simulator.close();
});

describe('the report endpoint', () => {
  test('answers rows, totals and string metrics as JSON', async () => {
    const told = await askReports(simulator, DAY_REPORT);
    expect(told.status).toBe(200);
    expect(told.headers['content-type']).toBe('application/json; charset=utf-8');
    const report = reportShape.parse(JSON.parse(told.text));
    expect(report.rows.length).toBeGreaterThan(7);
    const installs = report.rows.map((row) => Number(z.string().parse(row['installs'])));
    expect(installs.reduce((sum, count) => sum + count, 0)).toBe(report.totals['installs']);
  });

  test('answers the same bytes under gzip and without', async () => {
    const plain = await askReports(simulator, DAY_REPORT);
    const zipped = await askReports(simulator, DAY_REPORT, { headers: { 'accept-encoding': 'br, gzip' } });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(zipped.bytes.length).toBeLessThan(plain.bytes.length);
    expect(gunzipSync(zipped.bytes).equals(plain.bytes)).toBe(true);
  });

  test('announces the length of a small report and streams one above 64 KiB in chunks, equal under gzip', async () => {
    const path = DAY_REPORT.replace('01-07', '02-28').replace('network', 'network,country_code');
    const [small, large, zipped] = await Promise.all([
      askReports(simulator, DAY_REPORT.replace('01-07', '01-01')),
      askReports(simulator, path),
      askReports(simulator, path, { headers: { 'accept-encoding': 'gzip' } }),
    ]);
    expect(small.headers['content-length']).toBe(String(small.bytes.length));
    expect(large.bytes.length).toBeGreaterThan(65_536);
    expect(large.headers['transfer-encoding']).toBe('chunked');
    expect(gunzipSync(zipped.bytes).equals(large.bytes)).toBe(true);
    expect(reportShape.parse(JSON.parse(large.text)).rows.length).toBeGreaterThan(500);
  });

  test.each(['identity', 'gzip;q=0', 'br'])('does not compress for a caller that accepts %s', async (accepted) => {
    const told = await askReports(simulator, DAY_REPORT, { headers: { 'accept-encoding': accepted } });
    expect(told.headers['content-encoding']).toBeUndefined();
  });

  test('answers 204 without a body for an empty report', async () => {
    const told = await askReports(simulator, `${DAY_REPORT}&app_token__in=nosuchapp123`);
    expect([told.status, told.text]).toEqual([204, '']);
  });

  test('answers 400 naming an unsupported metric', async () => {
    const told = await askReports(simulator, DAY_REPORT.replace('clicks', 'clocks'));
    expect(told.status).toBe(400);
    expect(told.text).toContain('Unsupported metric: clocks');
  });

  test('follows the simulated clock while the Date header follows the real one', async () => {
    const before = Date.now();
    simulator.setNow(new Date('2026-01-02T00:00:00Z'));
    const early = await askReports(simulator, DAY_REPORT);
    simulator.setNow(NOW);
    const late = await askReports(simulator, DAY_REPORT);
    expect(simulator.now()).toEqual(NOW);
    expect(late.text.length).toBeGreaterThan(early.text.length);
    expect(Math.abs(Date.parse(String(late.headers['date'])) - before)).toBeLessThan(60_000);
  });
});

test('the filters-data endpoint answers the filters asked for and 400 without any', async () => {
  const told = await askReports(simulator, '/reports-service/filters_data?required_filters=dimensions,apps');
  const items = z.record(z.string(), z.array(z.object({ id: z.string() }))).parse(JSON.parse(told.text));
  expect(Object.keys(items)).toEqual(['dimensions', 'apps']);
  expect(items['apps']).toHaveLength(2);
  expect((await askReports(simulator, '/reports-service/filters_data')).status).toBe(400);
});

describe('credentials', () => {
  test.each([undefined, 'Bearer wrong', 'Token token=simulator-token', 'simulator-token'])(
    'in the form %s are answered 401 with a reason',
    async (authorization) => {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const told = await ask(simulator, DAY_REPORT, { headers });
      expect(told.status).toBe(401);
      expect(told.text).toContain('auth_error');
    },
  );

  test('that were reset are answered with a bare 401, the new ones with a report', async () => {
    simulator.setToken('second-token');
    const old = await askReports(simulator, DAY_REPORT);
    expect([old.status, old.text]).toEqual([401, '']);
    const renewed = await askReports(simulator, DAY_REPORT, { headers: { authorization: 'Bearer second-token' } });
    expect(renewed.status).toBe(200);
  });

  test('of the account header select the account: none the first one, a wrong one nothing', async () => {
    const own = await startSimulator({ world, now: NOW, accountHeader: { name: 'X-Account', value: 'two' } });
    const asked = (headers: Record<string, string>) => askReports(own, DAY_REPORT, { headers });
    const [second, first, wrong] = await Promise.all([
      asked({ 'x-account': 'two' }),
      asked({}),
      asked({ 'x-account': 'x' }),
    ]);
    await own.close();
    expect([second.status, first.status, wrong.status]).toEqual([200, 200, 403]);
    expect(second.text).toBe((await askReports(simulator, DAY_REPORT)).text);
    expect(second.text).not.toBe(first.text);
  });
});

describe('the cap', () => {
  test('answers the 51st of 51 simultaneous calls with 429 and lets the next one in', async () => {
    const slow = await startSimulator({ world, now: NOW, answerDelayMs: 150 });
    const filters = '/reports-service/filters_data?required_filters=apps';
    const told = await Promise.all(
      Array.from({ length: 51 }, (_, index) => askReports(slow, index % 2 === 0 ? DAY_REPORT : filters)),
    );
    const answered = (wanted: number): number => told.filter(({ status }) => status === wanted).length;
    expect([answered(200), answered(429)]).toEqual([50, 1]);
    expect([slow.asked.peak, slow.asked.inFlight]).toEqual([51, 0]);
    expect((await askReports(slow, filters)).status).toBe(200);
    await slow.close();
  });

  test('does not count the campaign API', async () => {
    const narrow = await startSimulator({ world, now: NOW, cap: 1, answerDelayMs: 50 });
    const headers = { authorization: 'Token token=simulator-token' };
    const told = await Promise.all([1, 2, 3].map(() => ask(narrow, '/public/v1/partners', { headers })));
    expect(told.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(narrow.asked.peak).toBe(0);
    await narrow.close();
  });
});

describe('the request log', () => {
  test('tells method, path, query, status, authorization and content type of each request, and counts them', async () => {
    await askReports(simulator, DAY_REPORT);
    await ask(simulator, '/cost?x=1', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
    await ask(simulator, '/nowhere');
    expect(simulator.asked.requests).toMatchObject([
      { method: 'GET', path: '/reports-service/report', status: 200, authorized: true, contentType: null },
      { method: 'POST', path: '/cost', query: 'x=1', status: 401, authorized: false, contentType: 'application/json' },
      { method: 'GET', path: '/nowhere', query: '', status: 404 },
    ]);
    expect(simulator.asked.counts).toMatchObject({ report: 1, cost: 1, unknown: 1, partners: 0 });
    simulator.asked.reset();
    expect([simulator.asked.requests.length, simulator.asked.counts.report, simulator.asked.peak]).toEqual([0, 0, 0]);
  });

  test('never holds the token, not even one sent in the query as it is or encoded', async () => {
    simulator.setToken('to/ken');
    await askReports(simulator, `${DAY_REPORT}&token=to/ken&again=to%2Fken&old=simulator-token`);
    expect(simulator.asked.requests.at(0)?.query).toContain('&token=***&again=***&old=***');
  });
});

test('an unknown path is answered 404 and an unknown method 405', async () => {
  expect((await askReports(simulator, '/reports-service/reports')).status).toBe(404);
  expect((await askReports(simulator, '/reports-service/report', { method: 'DELETE' })).status).toBe(405);
});

test('a port that is taken is a usage failure that names it', async () => {
  await expect(startSimulator({ port: simulator.port })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    facts: { port: simulator.port },
  });
});

test('a world with pages and a night of a shorter catalog is served as it is, page after page on the origin asked', async () => {
  const whole = reportShape.parse(JSON.parse((await askReports(simulator, DAY_REPORT)).text));
  await simulator.close();
  const during = (now: Date): boolean => now > NOW;
  const pages = { size: 20, style: 'v2', last: 'absent', totals: 'whole', misleads: null } as const;
  const catalog = [{ during, kind: 'shortened', lists: ['cost_metrics'], keep: 0 }] as const;
  simulator = await startSimulator({ world: { ...world, quirks: { pages, catalog } }, now: NOW });
  const pageShape = reportShape.extend({ pagination: z.object({ next: z.string().optional() }) });
  const rows: unknown[] = [];
  for (let next: string | undefined = DAY_REPORT; next !== undefined;) {
    const page: z.output<typeof pageShape> = pageShape.parse(JSON.parse((await askReports(simulator, next)).text));
    rows.push(...page.rows);
    next = page.pagination.next;
    expect(next?.startsWith(simulator.url) ?? true).toBe(true);
  }
  expect(rows).toEqual(whole.rows);
  expect(simulator.asked.requests.length).toBe(Math.ceil(whole.rows.length / 20));

  const costs = '/reports-service/filters_data?required_filters=cost_metrics';
  expect((await askReports(simulator, costs)).text).not.toBe('{"cost_metrics":[]}');
  simulator.setNow(new Date('2026-03-02T12:00:00Z'));
  expect((await askReports(simulator, costs)).text).toBe('{"cost_metrics":[]}');
});
