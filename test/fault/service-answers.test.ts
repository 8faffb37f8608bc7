/** FAULTS 1 to 7, 9 to 12, 30, 47 to 50: what the service answers to a report, and what becomes of it on its way. */

import { mkdir, readdir, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { crc32, deflateRawSync, gunzipSync, gzipSync } from 'node:zlib';

import { beforeEach, describe, expect, test } from 'vitest';

import type { HttpService } from '../../src/config/config.ts';
import type { FailureCode } from '../../src/errors.ts';
import type { SavedBody } from '../../src/service/service.ts';
import { textWith } from '../support/matching.ts';
import {
  type Connection,
  failureFrom,
  json,
  markedToken,
  type Reply,
  savePage,
  type Script,
  type ScriptedServer,
  startScriptedServer,
  useDirectory,
  useService,
} from '../support/scripted-server.ts';

const report = {
  rows: Array.from({ length: 60 }, (_, row) => ({
    day: '2026-02-01',
    network: 'a 😀',
    installs: `${row}`,
  })),
};
const whole = JSON.stringify(report);
const headers = { 'content-type': 'application/json' };
let directory: string;
let server: ScriptedServer;
let connection: Connection;

beforeEach(async () => {
  directory = await useDirectory();
});

async function serve(script: Script, settings: Partial<HttpService> = {}): Promise<Connection> {
  ({ server, connection } = await useService(script, settings));
  return connection;
}

function ask(name = 'a', signal = connection.signal): Promise<SavedBody | null> {
  return savePage({ ...connection, signal }, join(directory, name));
}

/** Asks so many times at once; what was saved, and the codes of what failed. */
async function askAll(count: number) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, (_, index) => ask(String(index))),
  );
  const codes = outcomes.flatMap((each) =>
    each.status === 'rejected' ? [Object(each.reason).code as unknown] : [],
  );
  return { saved: count - codes.length, codes: new Set(codes) };
}

type Answer = ReturnType<Script>;
/** These, and then the report. */
const once =
  (...answers: readonly Answer[]): Script =>
  (_, count) =>
    answers[count - 1] ?? json(report);
const statuses = (...codes: readonly number[]): Script =>
  once(...codes.map((status) => ({ status })));
const always =
  (answer: Answer): Script =>
  () =>
    answer;
/** Bytes in place of an HTTP response. */
const raw =
  (bytes: string): Answer =>
  (response) =>
    void response.socket?.end(bytes);
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n';
/** Writes a piece over and over until the connection ends, or 100 MB are written. */
function flood(response: ServerResponse, piece: string, written = { bytes: 0 }): void {
  while (!response.destroyed && written.bytes < 100_000_000) {
    written.bytes += piece.length;
    if (!response.write(piece))
      return void response.once('drain', () => flood(response, piece, written));
  }
}
const endless: Answer = (response) => {
  response.writeHead(200, headers).write('{');
  flood(response, ' '.repeat(10_000));
};
const zipped = (body: string | Buffer, more: Reply = {}): Reply => ({
  headers: { ...headers, 'content-encoding': 'gzip' },
  body,
  ...more,
});
const typed = (type: string, body = whole): Reply => ({ headers: { 'content-type': type }, body });

/** Ends with the report where it has no code. */
interface Expected {
  readonly tries: number;
  readonly code?: FailureCode;
  readonly says?: string;
  readonly slept?: readonly number[];
  readonly settings?: Partial<HttpService>;
}
type Row = readonly [name: string, script: Script, expected: Expected];

const ok = (tries: number, ...slept: readonly number[]): Expected => ({ tries, slept });
const fails = (
  code: FailureCode,
  tries: number,
  says = '',
  settings: Partial<HttpService> = {},
): Expected => ({ code, tries, says, settings });
const refusedBy = (codes: readonly number[], code: FailureCode, body = ''): Row[] =>
  codes.map((status) => [`${status}`, always({ status, body }), fails(code, 1, body)]);
const refused = { status: 429, headers: { 'retry-after': '120' } };
const dated = {
  date: 'Sun, 01 Feb 2015 00:00:00 GMT',
  'retry-after': 'Sun, 01 Feb 2015 00:01:30 GMT',
};
const maintenance = { status: 503, body: '<html><title>Maintenance</title></html>' };
const unreachable = fails('SOURCE_UNAVAILABLE', 0, '(try 6)', { reportsUrl: 'http://127.0.0.1:1' });
const unsupported =
  '{"error_code":"request_error","error_desc":"Unsupported metric: x loc=metrics","error_desc_details":null}';

/** Beyond what a timer holds. */
const late = { requestTimeoutMs: 1e12 * 86_400_000 };

const refusals: readonly Row[] = [
  ['a deadline in 1e12 days', once(json(report)), { tries: 1, settings: late }],
  ['429 with Retry-After: 120', once(refused), ok(2, 120_000)],
  ['429 with a date 90 s after its own Date', once({ status: 429, headers: dated }), ok(2, 90_000)],
  [
    '429 for an hour',
    once({ status: 429, headers: { 'retry-after': '3600' } }, { status: 429 }),
    ok(3, 300_000, 1500),
  ],
  ['429 for ever', always({ status: 429 }), fails('SOURCE_OVERLOADED', 12)],
  [
    '429 among five 503',
    statuses(429, 429, 503, 429, 503, 429, 429, 503, 429, 503, 429, 503, 429),
    ok(14),
  ],
  [
    'a sixth 503',
    statuses(429, 503, 429, 503, 429, 503, 503, 503, 503),
    fails('SOURCE_UNAVAILABLE', 9),
  ],
  ['500, 502 and 503', statuses(500, 502, 503), ok(4, 500, 1000, 2000)],
  [
    '503 for ever',
    always(maintenance),
    fails('SOURCE_UNAVAILABLE', 6, 'report was answered 503: Maintenance (try 6)'),
  ],
  ['no connection', always({}), { ...unreachable, says: 'ECONNREFUSED' }],
  [
    'a name DNS does not know',
    always({}),
    { ...unreachable, settings: { reportsUrl: 'http://reports.invalid' } },
  ],
  ...refusedBy([504, 524], 'SOURCE_TOO_HEAVY'),
  [
    'no headers',
    always('hang'),
    fails('SOURCE_TIMEOUT', 1, 'an answer within 0.1 s', { requestTimeoutMs: 100 }),
  ],
  [
    '400',
    always({ status: 400, body: unsupported, gzip: true, headers }),
    fails('SOURCE_REFUSED', 1, 'x loc=metrics'),
  ],
  ...refusedBy([404], 'SOURCE_MISSING', 'teapot'),
  ...refusedBy([304, 422], 'SOURCE_REFUSED'),
  ...refusedBy([403], 'ACCESS_FORBIDDEN'),
  ...[202, 206, 501, 599].map((status): Row => [
    `${status}, twice`,
    once(json({}, { status }), json({}, { status })),
    ok(3),
  ]),
  [
    '202 for ever',
    always({ status: 202, body: 'wait' }),
    fails('SOURCE_UNAVAILABLE', 6, '202: wait'),
  ],
];

const chunked = `${HEAD}transfer-encoding: chunked\r\n\r\n`;
const broken: readonly (readonly [string, Answer])[] = [
  ['reset before any header', { status: 0 }],
  ['reset in mid-body', { headers, body: whole, cutAfter: 700 }],
  ['cut under 200', { headers, body: whole.slice(0, 690) }],
  ['cut in gzip', zipped(gzipSync(whole).subarray(0, 90))],
  [
    'shorter than its length',
    { headers: { ...headers, 'content-length': '99999' }, body: whole, cutAfter: 999 },
  ],
  ['of chunks without size', raw(`${chunked}zz\r\n${whole}`)],
];
const others: readonly (readonly [string, Answer, string])[] = [
  [
    'a web page',
    typed('text/html', `<h1>Sign\u001b[31m in</h1> ${markedToken}`),
    'text/html instead of JSON: <h1>Sign [31m in</h1> ***',
  ],
  [
    'a web page called JSON',
    typed('application/json', '<h1>Sign in</h1>'),
    'not a JSON object: <h1>Sign in</h1>',
  ],
  ['no object', typed('text/plain', '[1,2]'), '[1,2]'],
  ['a report called a web page', typed('text/html; charset=json'), 'text/html'],
  ['an empty body', typed('application/json', ''), 'an empty body'],
  ['a blank body', typed('application/json', ' \n '), 'an empty body'],
  [
    'an encoding that was not requested',
    { headers: { ...headers, 'content-encoding': 'br' }, body: 'x' },
    'encoding "br"',
  ],
];
const dripping = { headers, body: whole, dripMs: 10 };
const bodies: readonly Row[] = [
  ...broken.map(([name, answer]): Row => [`an answer ${name}, twice`, once(answer, answer), ok(3)]),
  [
    'a cut body for ever',
    always({ headers, body: whole.slice(0, 690) }),
    fails('SOURCE_GARBLED', 6, 'ended early, after '),
  ],
  [
    'a reset for ever',
    always({ headers, body: whole, cutAfter: 700 }),
    fails('SOURCE_UNAVAILABLE', 6),
  ],
  [
    'no HTTP for ever',
    always(raw('SSH-2.0\r\n')),
    fails('SOURCE_UNAVAILABLE', 6, 'does not match the HTTP/1.1 protocol'),
  ],
  ...others.map(([name, answer, says]): Row => [
    name,
    always(answer),
    fails('SOURCE_GARBLED', 2, says),
  ]),
  [
    'a body that drips',
    always(dripping),
    fails('SOURCE_TIMEOUT', 1, 'answer within 0.15 s', { requestTimeoutMs: 150 }),
  ],
  [
    'a body that never ends',
    always(endless),
    fails('SOURCE_OVERSIZED', 1, '', { maxResponseBytes: 100_000 }),
  ],
  [
    'a gzip bomb of 20 MB',
    always(zipped(gzipSync(Buffer.alloc(20_000_000, ' ')))),
    fails('SOURCE_OVERSIZED', 1),
  ],
];

/** A gzip member with every header field there is (RFC 1952). */
function memberWithAllFields(plain: string): Buffer {
  const fields = [
    Buffer.from([0x1f, 0x8b, 8, 0x1f, 0, 0, 0, 0, 0, 3, 4, 0]),
    Buffer.from('EXTRreport.json\0a comment\0'),
  ];
  const header = Buffer.concat(fields);
  const check = Buffer.alloc(2);
  check.writeUInt16LE(crc32(header) & 0xffff);
  const end = Buffer.alloc(8);
  end.writeUInt32LE(crc32(plain), 0);
  end.writeUInt32LE(Buffer.byteLength(plain), 4);
  return Buffer.concat([header, check, deflateRawSync(plain), end]);
}

const [start, rest] = [gzipSync(whole.slice(0, 9)), gzipSync(whole.slice(9))];
const sound: readonly (readonly [string, Answer])[] = [
  ['as text/plain', typed('text/plain; charset=utf-8')],
  ['without a type', { body: whole }],
  ['in gzip with every header field', zipped(memberWithAllFields(whole))],
  ['in 2 gzip members, byte by byte', zipped(Buffer.concat([start, rest]), { dripMs: 1 })],
  [
    'in gzip between an empty member and 20 zeros',
    zipped(Buffer.concat([gzipSync(''), gzipSync(whole), Buffer.alloc(20)])),
  ],
  ['that ends with its connection', raw(`${HEAD}\r\n${whole}`)],
  ['behind a byte order mark', typed('application/json', `\ufeff${whole}`)],
];
const reports = sound.map(([name, answer]): Row => [`a report ${name}`, once(answer), ok(1)]);

test.each([...refusals, ...bodies, ...reports])('%s', async (_, script, expected) => {
  const { clock } = await serve(script, expected.settings);
  const outcome = await ask().catch((error: unknown) => error);
  const files = await readdir(directory);
  const bytes = files.length === 0 ? Buffer.alloc(0) : await readFile(join(directory, 'a'));
  const plain = bytes[0] === 0x1f ? gunzipSync(bytes) : bytes;
  const { code, tries, says = '', slept = [] } = expected;
  const saved = new TextDecoder().decode(plain);
  expect([saved, server.received.length]).toEqual([code === undefined ? whole : '', tries]);
  expect(outcome).toMatchObject(
    code === undefined ? { path: join(directory, 'a') } : { code, message: textWith(says) },
  );
  expect(clock.slept.slice(0, slept.length)).toEqual(slept);
  expect(clock.slept.length).toBe(tries === 0 ? 5 : tries - 1);
});

describe('many calls at once', () => {
  test('a storm of 429 sinks 10 calls to the 2 that are left; all succeed in the end, and the limit recovers', async () => {
    let open = 0;
    const { service, events } = await serve(() => {
      if (open >= 2) return { status: 429, afterMs: 5 };
      open += 1;
      return (response) => {
        setTimeout(() => {
          open -= 1;
          response.writeHead(200, headers).end(whole);
        }, 5);
      };
    });
    expect((await askAll(30)).saved).toBe(30);
    const limits = events.flatMap((event) =>
      event.type === 'concurrency_changed' ? [event.to] : [],
    );
    expect(Math.min(...limits)).toBeLessThanOrEqual(2);
    const recovery = { type: 'concurrency_changed', because: 'recovery' };
    expect(events).toContainEqual(expect.objectContaining(recovery));
    expect(server.peak()).toBeLessThanOrEqual(10);
    expect(service.statistics().peakConcurrency).toBe(10);
  });

  test('429 for ever costs 60 calls no more than the budget of 40 retries', async () => {
    const { service } = await serve(always({ status: 429 }));
    expect((await askAll(60)).codes).toEqual(new Set(['SOURCE_OVERLOADED']));
    expect(service.statistics()).toMatchObject({ requests: 100, retries: 40 });
  });

  test('429 for ever from the campaign API leaves reports their own budget of retries', async () => {
    let reports = 0;
    const { service, signal } = await serve(({ path }) => {
      if (!path.endsWith('/report')) return { status: 429 };
      reports += 1;
      return reports === 1 ? { status: 503 } : json(report);
    });
    const lists = Array.from({ length: 8 }, async () =>
      failureFrom(service.links('abc123def456', null, signal).next()),
    );
    for (const failure of await Promise.all(lists))
      expect(failure.message).toContain('budget of 40 retries');
    expect(await ask()).not.toBeNull();
  });

  test('503 for ever opens the breaker: 40 calls end in few probes, not in 240 requests, and later ones are not sent', async () => {
    const { events } = await serve(always({ status: 503 }));
    expect((await askAll(40)).codes).toEqual(new Set(['SOURCE_UNAVAILABLE']));
    // At most the round that was in flight when it opened, and one probe after each of its six waits.
    expect(server.received.length).toBeLessThanOrEqual(10 + 10 + 6);
    expect(events.filter(({ type }) => type === 'breaker_opened')).toHaveLength(6);
    const requested = server.received.length;
    expect((await failureFrom(ask())).message).toContain('stayed unavailable');
    expect(server.received).toHaveLength(requested);
  });

  test('503 for ever to what does not count, such as control totals, opens no breaker', async () => {
    const { service, signal, events } = await serve(always({ status: 503 }));
    const readPage = async () => ({ rows: 0, rowsDigest: '', pagination: null });
    const pathFor = () => '/nowhere';
    const request = { parameters: { metrics: 'installs' }, pathFor, readPage, isCounted: false };
    for (let call = 0; call < 3; call += 1)
      expect(await failureFrom(service.report(request, signal))).toMatchObject({
        code: 'SOURCE_UNAVAILABLE',
      });
    expect(events.filter(({ type }) => type === 'breaker_opened')).toEqual([]);
  });

  test('a service that comes back closes the breaker and every call succeeds', async () => {
    const { events } = await serve((_, count) => (count <= 11 ? { status: 502 } : json(report)));
    expect((await askAll(20)).saved).toBe(20);
    expect(events).toContainEqual({ type: 'breaker_closed' });
  });

  test('a 401 mid-run cancels the queue: of 200 calls only those in flight see it, and later ones fail unsent', async () => {
    const { service } = await serve(
      (_, count) => (count <= 5 ? json(report) : { status: 401, afterMs: 5 }),
      { maxConcurrency: 5 },
    );
    expect((await askAll(200)).saved).toBe(5);
    expect(server.received.length).toBeLessThanOrEqual(10);
    const requested = server.received.length;
    const campaign = await failureFrom(service.partners(connection.signal).next());
    expect([(await failureFrom(ask())).code, campaign.code]).toEqual([
      'CREDENTIALS_REFUSED',
      'CREDENTIALS_REFUSED',
    ]);
    expect(server.received).toHaveLength(requested);
  });
});

describe('one call', () => {
  test('a redirect is not followed and named by its origin only', async () => {
    const elsewhere = await startScriptedServer(always(json(report)));
    await serve(
      always({ status: 302, headers: { location: `${elsewhere.origin}/login?ticket=secret` } }),
    );
    const failure = await failureFrom(ask());
    expect(failure.code).toBe('SOURCE_REDIRECTED');
    expect(failure.message).toContain(`redirected to ${elsewhere.origin} (302)`);
    expect(JSON.stringify([failure.message, failure.facts])).not.toContain('ticket');
    expect(elsewhere.received).toHaveLength(0);
  });

  test('an endless body of a 400 is read to 64 KiB and no further, and the token it echoes is not shown', async () => {
    const written = { bytes: 0 };
    await serve(
      always((response) => {
        response.writeHead(400, { 'content-type': 'text/plain' });
        flood(response, `bad ${markedToken} `.padEnd(10_000, 'x'), written);
      }),
    );
    const failure = await failureFrom(ask());
    expect(failure.message).toContain('bad *** xxx');
    expect(JSON.stringify(failure.facts)).not.toContain(markedToken);
    expect(written.bytes).toBeLessThan(100_000_000);
  });

  test('a list of filter items is read behind a byte order mark as text/plain; one that drips is requested 3 times', async () => {
    const body = `\ufeff${String.raw`{"apps":[{"id":"a","name":"x\ud83d"}]}`}`;
    await serve(always(typed('text/plain', body)), { requestTimeoutMs: 200 });
    const items = connection.service.filtersData({ filters: ['apps'] }, connection.signal);
    expect(await items).toMatchObject([{ id: 'a', name: 'x\ud83d' }]);
    await serve(always({ headers, body: '{"apps":[]}', dripMs: 50 }), { requestTimeoutMs: 60 });
    const requested = connection.service.filtersData({ filters: ['apps'] }, connection.signal);
    expect(await failureFrom(requested)).toMatchObject({
      code: 'SOURCE_TIMEOUT',
      facts: { attempts: 3 },
    });
  });

  test.each([
    ['2 hours behind', -7_200_000, {}, 200, -7_200_000],
    ['5 minutes ahead, of a refusal', 300_000, {}, 400, 300_000],
    [
      '2 hours behind with an Age of 2 hours, of a cached answer',
      -7_200_000,
      { age: '7200' },
      200,
      0,
    ],
  ])('the clock of an answer that is %s is seen to 2 s', async (_, ms, more, status, skew) => {
    const date = new Date(Date.now() + ms).toUTCString();
    await serve(always(json(report, { status, headers: { date, ...more } })));
    expect(connection.service.clockSkewMs()).toBeNull();
    await ask().catch(() => null);
    expect(Math.abs((connection.service.clockSkewMs() ?? Infinity) - skew)).toBeLessThan(2000);
    expect(server.received[0]?.headers['cache-control']).toBe('no-cache');
  });

  test('an abort, or closing the connection, ends a call under way, which is not repeated and leaves no file', async () => {
    await serve(always({ headers, body: whole, dripMs: 20 }));
    const controller = new AbortController();
    const requested = ask('a', controller.signal);
    setTimeout(() => controller.abort(new Error('SIGTERM')), 60);
    await expect(requested).rejects.toThrow('SIGTERM');
    const closed = failureFrom(ask('b'));
    await connection.service.close();
    expect((await closed).message).toBe('The connection was used after it was closed');
    expect(server.received.length).toBeLessThanOrEqual(2);
    expect(await readdir(directory)).toEqual([]);
  });

  test('a place that cannot be written is STORAGE_FAILED and is not requested again', async () => {
    await serve(always(json(report)));
    await mkdir(join(directory, 'a'));
    expect(await failureFrom(ask())).toMatchObject({
      code: 'STORAGE_FAILED',
      facts: { path: join(directory, 'a') },
    });
    expect(server.received).toHaveLength(1);
  });
});
