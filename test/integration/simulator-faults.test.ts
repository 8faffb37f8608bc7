import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { byteEdits } from '../../src/simulator/mutations.ts';
import { errorBodyForms } from '../../src/simulator/error-body.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { ask, askCampaign, askReports } from '../support/ask-simulator.ts';
import { limitedRows, replacedValue } from '../support/report-mutations.ts';

const world = { seed: 1, apps: 1, partners: 5, links: 20, rowsPerDay: 20 } as const;
const REPORT =
  '/reports-service/report?dimensions=day,network&metrics=installs&date_period=2026-01-01:2026-01-03&format_dates=false';

let simulator: Simulator;
let good: string;

beforeEach(async () => {
  simulator = await startSimulator({ world, now: new Date('2026-03-01T12:00:00Z') });
  good = (await askReports(simulator, REPORT)).text;
});

afterEach(async () => {
  await simulator.close();
});

/** Lets every request from now on meet a fault. */
function always(fault: Fault): void {
  simulator.script({ match: () => true, times: Infinity, fault });
}

const gzipped = { headers: { 'accept-encoding': 'gzip' } };

describe('an answer instead', () => {
  test.each(errorBodyForms)('of 500 speaks in the form %s', async (body) => {
    always({ kind: 'status', status: 500, body, message: 'it broke' });
    const told = await askReports(simulator, REPORT);
    expect(told.status).toBe(500);
    expect(told.text.includes('it broke')).toBe(body !== 'empty');
  });

  test('of 429 says when to come back, in seconds or as a date', async () => {
    const rule = { match: () => true, times: 1 };
    const status = { kind: 'status', status: 429 } as const;
    simulator.script({ ...rule, fault: { ...status, retryAfter: { seconds: 7, form: 'seconds' } } });
    expect((await askReports(simulator, REPORT)).headers['retry-after']).toBe('7');
    simulator.script({ ...rule, fault: { ...status, retryAfter: { seconds: 90, form: 'date' } } });
    const inMs = Date.parse(String((await askReports(simulator, REPORT)).headers['retry-after'])) - Date.now();
    expect(Math.abs(inMs - 90_000)).toBeLessThan(30_000);
    expect((await askReports(simulator, REPORT)).text).toBe(good);
  });

  test.each([
    ['HTML', { status: 200, body: 'html' }, /^<html>/],
    ['nothing', { status: 200, body: 'empty' }, /^$/],
    ['an error document', { status: 200, body: 'error', message: 'no' }, /^\{"error":"no"\}$/],
    ['any text', { status: 200, body: { text: '[]', contentType: 'text/csv' } }, /^\[\]$/],
  ] as const)('with 200 is %s', async (_, answered, expected) => {
    always({ kind: 'status', ...answered });
    const told = await askReports(simulator, REPORT);
    expect(told.status).toBe(200);
    expect(told.text).toMatch(expected);
  });

  test('is a redirect of the same path to another origin', async () => {
    always({ kind: 'redirect', origin: 'https://other.example.com' });
    const told = await askReports(simulator, REPORT);
    expect([told.status, told.headers['location']]).toEqual([302, `https://other.example.com${REPORT}`]);
  });

  test('is a reset, noted without a status', async () => {
    always({ kind: 'reset' });
    await expect(askReports(simulator, REPORT)).rejects.toThrow('ECONNRESET');
    expect(simulator.asked.requests.at(-1)?.status).toBeNull();
  });

  test.each([
    [true, 1],
    [false, undefined],
  ])('is a reset whose effect (%s) leaves a Cost ID accepted %s times', async (effect, times) => {
    always({ kind: 'reset', effect });
    const line = { cost_type: 'cpc', cost_currency: 'USD', cost_id: 'sender-00001', tag: 't' };
    const headers = { authorization: 'Partner simulator', 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams(line).toString();
    await expect(ask(simulator, '/cost', { method: 'POST', headers, body })).rejects.toThrow('ECONNRESET');
    expect(simulator.acceptedSpend.get('sender-00001')).toBe(times);
  });

  test('is silence, in which no headers come', async () => {
    always({ kind: 'silence' });
    const dispatcher = new Agent({ headersTimeout: 200 });
    const headers = { authorization: 'Bearer simulator-token' };
    await expect(request(simulator.url + REPORT, { dispatcher, headers })).rejects.toMatchObject({
      code: 'UND_ERR_HEADERS_TIMEOUT',
    });
    await dispatcher.destroy();
    await expect.poll(() => simulator.asked.inFlight).toBe(0);
  });
});

test('closing drops a connection that still waits for its answer', async () => {
  const silent = await startSimulator({ world });
  silent.script({ match: () => true, times: 1, fault: { kind: 'silence' } });
  const dropped = askReports(silent, REPORT).catch((reason: unknown) => reason);
  await expect.poll(() => silent.asked.inFlight).toBe(1);
  await silent.close();
  expect(await dropped).toMatchObject({ message: 'other side closed' });
});

describe('bytes on the wire', () => {
  test.each([
    ['length', 'length does not match'],
    ['chunked', 'Invalid EOF'],
  ] as const)('cut in half under %s framing fail the read', async (framing, reason) => {
    always({ kind: 'cut', afterBytes: 'half', framing });
    await expect(askReports(simulator, REPORT)).rejects.toThrow(reason);
    await expect(askReports(simulator, REPORT, gzipped)).rejects.toThrow(reason);
  });

  test('cut after 20 bytes where the end of the connection ends the body look complete', async () => {
    always({ kind: 'cut', afterBytes: 20, framing: 'close' });
    const told = await askReports(simulator, REPORT);
    expect(told.text).toBe(good.slice(0, 20));
    expect(told.headers).toMatchObject({ connection: 'close' });
    expect([told.headers['content-length'], told.headers['transfer-encoding']]).toEqual([undefined, undefined]);
  });

  test('cut after 0 bytes fail the read', async () => {
    always({ kind: 'cut', afterBytes: 0, framing: 'length' });
    await expect(askReports(simulator, REPORT)).rejects.toThrow('length does not match');
  });

  test('fewer than announced fail the read', async () => {
    always({ kind: 'wrong_length', by: 10 });
    await expect(askReports(simulator, REPORT)).rejects.toThrow('length does not match');
  });

  test('more than announced are cut off by the client at the length announced', async () => {
    always({ kind: 'wrong_length', by: -10 });
    expect((await askReports(simulator, REPORT)).text).toBe(good.slice(0, -10));
  });

  test('drip, and arrive at last', async () => {
    always({ kind: 'drip', bytes: Math.ceil(good.length / 5), everyMs: 5 });
    expect((await askReports(simulator, REPORT)).text).toBe(good);
  });

  test('never end, and stop when the client hangs up', async () => {
    always({ kind: 'endless_body' });
    const headers = { authorization: 'Bearer simulator-token' };
    const dispatcher = new Agent();
    const answer = await request(simulator.url + REPORT, { dispatcher, headers });
    let bytes = 0;
    for await (const chunk of answer.body) {
      bytes += Buffer.from(chunk).length;
      if (bytes > 10_000_000) break;
    }
    expect(bytes).toBeGreaterThan(10_000_000);
    await dispatcher.destroy();
    await expect.poll(() => simulator.asked.inFlight).toBe(0);
  });

  test('explode from less than 100 kB to more than 20 MB under gzip', async () => {
    always({ kind: 'gzip_bomb', plainBytes: 20_000_000 });
    const told = await askReports(simulator, REPORT);
    expect(told.headers['content-encoding']).toBe('gzip');
    expect(told.bytes.length).toBeLessThan(100_000);
    expect(gunzipSync(told.bytes).length).toBeGreaterThan(20_000_000);
  });

  test.each(['middle', 'checksum'] as const)('under gzip are corrupt in the %s', async (where) => {
    always({ kind: 'corrupt_gzip', where });
    const told = await askReports(simulator, REPORT);
    expect(() => gunzipSync(told.bytes)).toThrow(/incorrect|invalid/);
  });

  test.each(['truncated', 'bom', 'two_documents'] as const)('are %s under a correct length', async (edit) => {
    always({ kind: 'garbled', edit });
    const told = await askReports(simulator, REPORT);
    expect(told.bytes.equals(byteEdits[edit](Buffer.from(good)))).toBe(true);
    expect(told.headers['content-length']).toBe(String(told.bytes.length));
    expect(gunzipSync((await askReports(simulator, REPORT, gzipped)).bytes).equals(told.bytes)).toBe(true);
  });
});

describe('a spoilt answer', () => {
  test('has a metric replaced in the second report only', async () => {
    simulator.script({
      match: ({ path, ordinal }) => path === '/reports-service/report' && ordinal === 3,
      times: Infinity,
      fault: { kind: 'report', mutate: replacedValue(0, 'installs', 'NaN') },
    });
    const texts = [await askReports(simulator, REPORT), await askReports(simulator, REPORT)].map(({ text }) => text);
    expect(texts[0]).toBe(good);
    expect(texts[1]).toContain('"installs":"NaN"');
  });

  test('meets several faults at once, in order', async () => {
    always({ kind: 'report', mutate: limitedRows(1, 'limited') });
    always({ kind: 'too_heavy', maxRows: 1 });
    always({ kind: 'content_type', contentType: 'text/plain' });
    const told = await askReports(simulator, REPORT);
    expect([told.status, told.headers['content-type']]).toEqual([200, 'text/plain']);
    expect(told.text).toContain('"limited"');
  });

  test('is 504 when the report is too heavy, and the report itself for a smaller question', async () => {
    const rows = z.object({ rows: z.array(z.unknown()) }).parse(JSON.parse(good)).rows.length;
    always({ kind: 'too_heavy', maxRows: rows - 1 });
    expect((await askReports(simulator, REPORT)).status).toBe(504);
    expect((await askReports(simulator, REPORT.replace('01-03', '01-01'))).status).toBe(200);
  });

  test('is dated 3 hours late', async () => {
    always({ kind: 'date_skew', ms: -10_800_000 });
    const skewMs = Date.parse(String((await askReports(simulator, REPORT)).headers['date'])) - Date.now();
    expect(Math.abs(skewMs + 10_800_000)).toBeLessThan(60_000);
  });

  test('is refused once the token is revoked, and where the query holds the forbidden text', async () => {
    always({ kind: 'forbidden', queryContains: '2026-01-02' });
    always({ kind: 'revoked_token', afterRequests: 2 });
    const last = (day: string): string => REPORT.replace('01-03', day);
    const statuses: number[] = [];
    for (const day of ['01-02', '01-03', '01-03']) statuses.push((await askReports(simulator, last(day))).status);
    expect(statuses).toEqual([403, 200, 401]);
  });
});

describe('a false next link', () => {
  const nextOf = z.object({ data: z.object({ paging: z.object({ next: z.string() }), items: z.array(z.unknown()) }) });

  async function follow(count: number): Promise<string[]> {
    const links: string[] = [];
    let path = '/public/v1/partners?limit=2';
    for (let page = 0; page < count; page += 1) {
      const { data } = nextOf.parse(JSON.parse((await askCampaign(simulator, path)).text));
      expect(data.items).toHaveLength(2);
      links.push(data.paging.next);
      path = data.paging.next;
    }
    return links;
  }

  test('loops over one page', async () => {
    always({ kind: 'next_link', link: { to: 'start' } });
    expect(new Set(await follow(5)).size).toBe(1);
  });

  test('goes on for ever by new cursors', async () => {
    always({ kind: 'next_link', link: { to: 'endless' } });
    expect(new Set(await follow(8)).size).toBe(8);
  });

  test('leaves the origin', async () => {
    always({ kind: 'next_link', link: { to: 'other_origin', origin: 'https://other.example.com' } });
    expect(await follow(1)).toEqual([
      expect.stringMatching(/^https:\/\/other\.example\.com\/public\/v1\/partners\?after=/),
    ]);
  });
});

test('a mutation that throws is answered 500 with its reason, and the simulator lives on', async () => {
  simulator.script({
    match: () => true,
    times: 1,
    fault: {
      kind: 'report',
      mutate: () => {
        throw new RangeError('scripted badly');
      },
    },
  });
  const told = await askReports(simulator, REPORT);
  expect(told.status).toBe(500);
  expect(told.text).toContain('scripted badly');
  expect(simulator.asked.requests.at(-1)?.status).toBe(500);
  expect((await askReports(simulator, REPORT)).text).toBe(good);
});
