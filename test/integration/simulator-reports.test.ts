import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Simulator, startSimulator } from '../support/simulator/simulator.ts';
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
