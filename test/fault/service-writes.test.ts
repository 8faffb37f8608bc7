/** FAULTS 34, 47 and what else may never be sent twice: ad spend, and links created. */

import { describe, expect, test } from 'vitest';

import { type FailureCode } from '../../src/errors.ts';
import {
  type Connection,
  failureFrom,
  json,
  type Reply,
  type Script,
  type ScriptedServer,
  useService,
} from '../support/scripted-server.ts';

const line = {
  cost_id: 'cost-id-0001',
  cost_type: 'cpi',
  cost_currency: 'EUR',
  cost_amount: '1.50',
  tag: 'a b&c+d',
};
const link = {
  name: 'N',
  token: 'abc123',
  label: 'N',
  level: 1,
  archived: false,
  has_subtrackers: false,
  partner_id: 3,
};
const created = json({ data: { items: [link] } });
let server: ScriptedServer;
let connection: Connection;

async function serve(script: Script, requestTimeoutMs = 5000): Promise<void> {
  ({ server, connection } = await useService(script, { requestTimeoutMs }));
}

const spend = () => connection.service.submitSpend(line, connection.signal);
const create = () => connection.service.createLink('4zb92bmajmrd', 'N', null, connection.signal);

describe('ad spend', () => {
  test('is sent form-encoded with the cost headers and without the token', async () => {
    await serve(() => ({ status: 200 }));
    expect(await spend()).toEqual({ outcome: 'accepted' });
    const [request] = server.received;
    const body =
      'cost_type=cpi&cost_currency=EUR&cost_id=cost-id-0001&cost_amount=1.50&tag=a+b%26c%2Bd';
    expect(request).toMatchObject({ method: 'POST', target: '/cost', body });
    const type = 'application/x-www-form-urlencoded';
    expect(request?.headers).toMatchObject({
      authorization: 'Partner cost-key-marked',
      'content-type': type,
    });
  });

  test.each([400, 403])('answered %i is rejected with the words of the service', async (status) => {
    await serve(() => ({ status, body: '{"message":"currency not known"}' }));
    expect(await spend()).toEqual({ outcome: 'rejected', status, reason: 'currency not known' });
    expect(server.received).toHaveLength(1);
  });

  test('answered 401 stops this line and every later one, but not the reports', async () => {
    await serve((request) => (request.path === '/cost' ? { status: 401 } : json({ apps: [] })));
    for (const _ of ['this', 'later']) {
      const failure = await failureFrom(spend());
      expect(failure).toMatchObject({ code: 'CREDENTIALS_REFUSED', facts: { status: 401 } });
      expect(failure.hint).toBe('Set service.cost_headers to the credential of the ad spend API.');
    }
    expect(server.received).toHaveLength(1);
    expect(await connection.service.filtersData({ filters: ['apps'] }, connection.signal)).toEqual(
      [],
    );
  });

  const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' };
  const unknown: readonly (readonly [string, Reply | 'hang', string])[] = [
    ['a connection lost after sending', { status: 0 }, ''],
    ['no answer within the deadline', 'hang', ''],
    ...[
      201, 202, 204, 301, 302, 303, 408, 409, 418, 423, 425, 499, 500, 501, 502, 503, 504, 520, 522,
      524,
    ].map((status) => [String(status), { status, headers: { location: '/thanks' } }, ''] as const),
    [
      '422',
      { status: 422, body: '{"message":"cost_id is known"}' },
      '422, a status that the interface does not document: cost_id is',
    ],
    ['200 with a web page', page, 'with a web page'],
    [
      '200 with a page that says it is text',
      json({}, { body: '\ufeff\n<!doctype html><p>Sign in' }),
      'with a web page',
    ],
    ['200 with more than 64 KiB', { body: ' '.repeat(65 * 1024) }, 'not be read to its end'],
    [
      '200 with text called gzip',
      { body: 'OK', headers: { 'content-encoding': 'gzip' } },
      'not be read to its end',
    ],
    [
      '200 with JSON that was cut',
      { body: '{"error":"no such campaign"}', cutAfter: 12 },
      'not be read to its end',
    ],
    ['200 with broken JSON', { body: '{"error":"no such' }, 'with broken JSON'],
    ['200 with an error', { body: '\ufeff{"error":"no"}' }, 'with an error: no'],
    [
      '200 with an error in a list',
      json({ data: { items: [{}, { error: 'no' }] } }),
      'with an error: no',
    ],
    [
      '200 with success: false',
      json({ success: false, message: 'not stored' }),
      'with an error: not stored',
    ],
    [
      '200 with status: 422',
      json({ status: 422, message: 'not stored' }),
      'with an error: not stored',
    ],
    [
      '200 with plain words of an error',
      { body: 'ERROR: rejected' },
      'with an error: ERROR: rejected',
    ],
    ['200 with a JSON text of an error', json('Unauthorized'), 'with an error: Unauthorized'],
  ];
  test.each(unknown)('answered with %s is unknown and not sent again', async (_, reply, reason) => {
    await serve(() => reply, 300);
    const outcome = await spend();
    expect(outcome.outcome === 'unknown' ? outcome.reason : outcome).toContain(reason);
    expect(server.received).toHaveLength(1);
  });

  test.each<[number, FailureCode]>([
    [307, 'SOURCE_REDIRECTED'],
    [308, 'SOURCE_REDIRECTED'],
    [404, 'SOURCE_MISSING'],
    [410, 'SOURCE_MISSING'],
  ])(
    'answered %i came to no ad spend API at all: %s, sent once and not accepted',
    async (status, code) => {
      await serve(() => ({ status }));
      expect(await failureFrom(spend())).toMatchObject({ code, facts: { status } });
      expect(server.received).toHaveLength(1);
    },
  );

  test('answered 429, and so certainly not accepted, is sent again; without a connection 6 times, and certainly not sent', async () => {
    await serve((_, count) => (count <= 2 ? { status: 429, body: 'later' } : { status: 200 }));
    expect(await spend()).toEqual({ outcome: 'accepted' });
    expect(server.received).toHaveLength(3);
    await server.close();
    expect(await failureFrom(spend())).toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
      facts: { attempts: 6 },
    });
  });

  test('aborted on the wire is unknown, aborted before is not sent', async () => {
    await serve(() => 'hang');
    const controller = new AbortController();
    const sent = connection.service.submitSpend(line, controller.signal);
    setTimeout(() => controller.abort(new Error('SIGTERM')), 60);
    expect(await sent).toMatchObject({ outcome: 'unknown' });
    await expect(connection.service.submitSpend(line, controller.signal)).rejects.toThrow(
      'SIGTERM',
    );
    expect(server.received).toHaveLength(1);
  });

  const document = {
    success: true,
    status: 'ok',
    error: null,
    errors: [],
    data: [{ id: 1 }],
    detail: '',
  };
  test.each<[string, Reply]>([
    ['nothing, encoded', { headers: { 'content-encoding': 'gzip' } }],
    ['nothing, of the type of a page', { headers: { 'content-type': 'text/html' } }],
    ['OK', { body: 'OK' }],
    ['words that speak of no error first', { body: 'Success: 0 errors' }],
    ['a document', json(document)],
    ['a document behind a byte order mark', { body: '\ufeff{"status":"accepted"}', gzip: true }],
  ])('answered 200 with %s is accepted', async (_, reply) => {
    await serve(() => reply);
    expect(await spend()).toEqual({ outcome: 'accepted' });
  });
});

describe('a link', () => {
  test('that is created is returned', async () => {
    await serve(() => created);
    expect(await create()).toMatchObject({ token: 'abc123', partnerId: '3', level: 1, url: null });
    const target = '/public/v1/apps/4zb92bmajmrd/trackers';
    expect(server.received[0]).toMatchObject({ method: 'POST', target, body: '{"name":"N"}' });
  });

  test('answered 429, and so certainly not created, is sent again', async () => {
    await serve((_, count) => (count <= 2 ? { status: 429 } : created));
    expect(await create()).toMatchObject({ token: 'abc123' });
    expect(server.received).toHaveLength(3);
  });

  const moved = { location: '/links' };
  test.each<[string, Reply | 'hang', FailureCode, outcome: string | undefined, says: string]>([
    [
      'a connection lost after sending',
      { status: 0 },
      'SOURCE_UNAVAILABLE',
      'unknown',
      'It is unknown whether',
    ],
    [
      'no answer within the deadline',
      'hang',
      'SOURCE_UNAVAILABLE',
      'unknown',
      'It is unknown whether',
    ],
    [
      '503',
      { status: 503 },
      'SOURCE_UNAVAILABLE',
      'unknown',
      'It is unknown whether the link "N" was created',
    ],
    [
      '499',
      { status: 499 },
      'SOURCE_UNAVAILABLE',
      'unknown',
      'It is unknown whether the link "N" was created',
    ],
    ['303', { status: 303, headers: moved }, 'SOURCE_UNAVAILABLE', 'unknown', 'was redirected to '],
    [
      'an answer that is cut',
      { ...created, cutAfter: 20 },
      'SOURCE_UNAVAILABLE',
      'unknown',
      'It is unknown',
    ],
    [
      'an answer without a link',
      json({ data: { items: [] } }),
      'SOURCE_UNAVAILABLE',
      'unknown',
      'It is unknown',
    ],
    ['307', { status: 307, headers: moved }, 'SOURCE_REDIRECTED', undefined, ''],
    ['423', { status: 423, body: 'taken' }, 'SOURCE_REFUSED', undefined, 'taken'],
  ])(
    'whose creation is answered with %s: sent once, %3$s',
    async (_, reply, code, outcome, says) => {
      await serve(() => reply, 300);
      const failure = await failureFrom(create());
      expect([failure.code, failure.facts['outcome']]).toEqual([code, outcome]);
      expect(failure.message).toContain(says);
      expect(server.received).toHaveLength(1);
    },
  );

  test('is updated again after a lost connection, a 502 and a 503, every digit of the partner id as the integer it is', async () => {
    await serve(
      (_, count) => [{ status: 0 }, { status: 502 }, { status: 503 }][count - 1] ?? created,
    );
    const change = { partnerId: '9007199254740993', costDataEnabled: false };
    const updated = connection.service.updateLink(
      '4zb92bmajmrd',
      'abc123',
      change,
      connection.signal,
    );
    expect(await updated).toMatchObject({ token: 'abc123' });
    const sent = 'PATCH {"partner_id":9007199254740993,"cost_data_enabled":false}';
    expect(server.received.map(({ method, body }) => `${method} ${body}`)).toEqual(
      Array(4).fill(sent),
    );
  });

  test('under a token that would leave its path, or with a partner id that is no integer, is refused unsent', async () => {
    await serve(() => created);
    const { service, signal } = connection;
    for (const call of [
      service.createLink('../x', 'N', null, signal),
      service.updateLink('4zb92bmajmrd', 'abc123', { partnerId: '1,"x":1' }, signal),
    ]) {
      expect((await failureFrom(call)).code).toBe('USAGE_INVALID');
    }
    expect(server.received).toHaveLength(0);
  });
});
