/** Faults, row 34, and what else may never be sent twice: ad spend, and links created. */

import { describe, expect, test } from 'vitest';
import {
  type Connection,
  failureFrom,
  json,
  type Reply,
  type Script,
  type ScriptedServer,
} from '../support/scripted-server.ts';
import { useService } from '../support/use-service.ts';

const line = { costId: 'cost-id-0001', costType: 'cpi', costCurrency: 'EUR', costAmount: '1.50', tag: 'a b&c+d' };
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
const update = () => connection.service.updateLink('4zb92bmajmrd', 'abc123', { partnerId: '174' }, connection.signal);

describe('row 34: ad spend', () => {
  test('is sent form-encoded with the cost headers and without the token', async () => {
    await serve(() => ({ status: 200 }));
    expect(await spend()).toEqual({ outcome: 'accepted' });
    const [request] = server.received;
    expect(request).toMatchObject({
      method: 'POST',
      target: '/cost',
      body: 'cost_type=cpi&cost_currency=EUR&cost_id=cost-id-0001&cost_amount=1.50&tag=a+b%26c%2Bd',
    });
    expect(request?.headers).toMatchObject({
      authorization: 'Partner cost-key-marked',
      'content-type': 'application/x-www-form-urlencoded',
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
    const asked = connection.service.filtersData({ filters: ['apps'] }, connection.signal);
    expect(await asked).toEqual([]);
  });

  const lost: readonly [string, Reply | 'hang'][] = [
    ['a connection lost after sending', { status: 0 }],
    ['no answer within the deadline', 'hang'],
    ['500', { status: 500 }],
    ['502', { status: 502 }],
    ['504', { status: 504 }],
    ['201', { status: 201 }],
    ['202', { status: 202 }],
    ['204', { status: 204 }],
    ['408', { status: 408 }],
    ['409', { status: 409 }],
    ['418', { status: 418 }],
    ['422', { status: 422 }],
    ['501', { status: 501 }],
    ['503', { status: 503, body: 'upstream connect error' }],
    ['520', { status: 520 }],
    ['200 with a web page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' }],
  ];
  test.each(lost)('%s leaves the outcome unknown and is not sent again', async (_, reply) => {
    await serve(() => reply, 300);
    expect(await spend()).toMatchObject({ outcome: 'unknown' });
    expect(server.received).toHaveLength(1);
  });

  test.each([
    [307, 'SOURCE_REDIRECTED'],
    [308, 'SOURCE_REDIRECTED'],
    [404, 'SOURCE_MISSING'],
    [410, 'SOURCE_MISSING'],
  ])('answered %i came to no ad spend API at all: %s, sent once and not accepted', async (status, code) => {
    await serve(() => ({ status }));
    expect(await failureFrom(spend())).toMatchObject({ code, facts: { status } });
    expect(server.received).toHaveLength(1);
  });

  test('answered with a status nobody documented tells the words of the service beside the doubt', async () => {
    await serve(() => ({ status: 422, body: '{"message":"cost_id is known"}' }));
    expect(await spend()).toEqual({
      outcome: 'unknown',
      reason: 'was answered 422, of which the interface says nothing: cost_id is known',
    });
  });

  test.each([301, 302, 303])(
    'answered %i, as a form is that was taken, is unknown and stops the others: SOURCE_REDIRECTED',
    async (status) => {
      await serve(() => ({ status, headers: { location: '/thanks' } }));
      expect(await spend()).toMatchObject({ outcome: 'unknown', failure: { code: 'SOURCE_REDIRECTED' } });
      expect(server.received).toHaveLength(1);
    },
  );

  test('answered 429, and so certainly not accepted, is sent again', async () => {
    await serve((_, count) => (count <= 2 ? { status: 429, body: 'later' } : { status: 200 }));
    expect(await spend()).toEqual({ outcome: 'accepted' });
    expect(server.received).toHaveLength(3);
  });

  test('that found no connection is tried 6 times and then certainly not sent', async () => {
    await serve(() => ({}));
    await server.close();
    expect(await failureFrom(spend())).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { attempts: 6 } });
  });

  test('aborted on the wire is unknown, aborted before is not sent', async () => {
    await serve(() => 'hang');
    const controller = new AbortController();
    const sent = connection.service.submitSpend(line, controller.signal);
    setTimeout(() => controller.abort(new Error('SIGTERM')), 60);
    expect(await sent).toMatchObject({ outcome: 'unknown' });
    await expect(connection.service.submitSpend(line, controller.signal)).rejects.toThrow('SIGTERM');
    expect(server.received).toHaveLength(1);
  });

  const doubtful: readonly [string, Reply, string][] = [
    ['an error of 5,000 characters', json({ error: 'no', details: 'x'.repeat(5000) }), 'with an error: no'],
    ['more than 64 KiB', { body: ' '.repeat(65 * 1024) }, 'not be read to its end'],
    ['an encoding nobody asked for', { body: 'xx', headers: { 'content-encoding': 'br' } }, 'not be read to its end'],
    ['text that says it is gzip', { body: 'OK', headers: { 'content-encoding': 'gzip' } }, 'not be read to its end'],
    ['a page that says it is text', json({}, { body: '\ufeff\n<!doctype html><p>Sign in' }), 'with a web page'],
    ['a page of no type', { body: '<html>' }, 'with a web page'],
    ['an error behind a byte order mark', { body: '\ufeff{"error":"no"}' }, 'with an error: no'],
    ['an error inside data', json({ data: { error: 'no' } }), 'with an error: no'],
    ['an error in a list', json([{ error: 'no' }]), 'with an error: no'],
    ['an error in a list inside data', json({ data: { items: [{}, { error: 'no' }] } }), 'with an error: no'],
    ['success: false', json({ success: false, message: 'not stored' }), 'with an error: not stored'],
    ['status: Failed', json({ status: 'Failed', message: 'not stored' }), 'with an error: not stored'],
    ['status: 422', json({ status: 422, message: 'not stored' }), 'with an error: not stored'],
    ['plain words of an error', { body: 'ERROR: rejected' }, 'with an error: ERROR: rejected'],
    ['a JSON text of an error', json('Unauthorized'), 'with an error: Unauthorized'],
    ['JSON that was cut', { body: '{"error":"no such campaign"}', cutAfter: 12 }, 'not be read to its end'],
    ['broken JSON', { body: '{"error":"no such' }, 'with broken JSON'],
  ];
  test.each(doubtful)('answered 200 with %s is unknown', async (_, reply, reason) => {
    await serve(() => reply);
    const outcome = await spend();
    expect(outcome.outcome === 'unknown' ? outcome.reason : outcome).toContain(reason);
  });

  const taken: readonly [string, Reply][] = [
    ['nothing', {}],
    ['nothing, encoded', { headers: { 'content-encoding': 'gzip' } }],
    ['nothing, of the type of a page', { headers: { 'content-type': 'text/html' } }],
    ['OK', { body: 'OK' }],
    ['words that speak of no error first', { body: 'Success: 0 errors' }],
    ['a document', json({ success: true, status: 'ok', error: null, errors: [], data: [{ id: 1 }], detail: '' })],
    ['a document behind a byte order mark', { body: '\ufeff{"status":"accepted"}', gzip: true }],
  ];
  test.each(taken)('answered 200 with %s is accepted', async (_, reply) => {
    await serve(() => reply);
    expect(await spend()).toEqual({ outcome: 'accepted' });
  });
});

describe('creating a link', () => {
  test('returns it', async () => {
    await serve(() => created);
    expect(await create()).toMatchObject({ token: 'abc123', partnerId: '3', level: 1, url: null });
    expect(server.received[0]).toMatchObject({
      method: 'POST',
      target: '/public/v1/apps/4zb92bmajmrd/trackers',
      body: '{"name":"N"}',
    });
  });

  const unknown: readonly [string, Reply | 'hang'][] = [
    ['a connection lost after sending', { status: 0 }],
    ['no answer within the deadline', 'hang'],
    ['503', { status: 503 }],
    ['499', { status: 499 }],
    ['an answer cut in the middle', { ...created, cutAfter: 20 }],
    ['an answer without a link', json({ data: { items: [] } })],
  ];
  test.each(unknown)('%s: sent once, SOURCE_UNAVAILABLE, outcome unknown', async (_, reply) => {
    await serve(() => reply, 300);
    const failure = await failureFrom(create());
    expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { outcome: 'unknown' } });
    expect(failure.message).toMatch(/^It is unknown whether the link "N" was created: the request /);
    expect(server.received).toHaveLength(1);
  });

  test.each([301, 302, 303])('%i, as after a form that was taken: outcome unknown', async (status) => {
    await serve(() => ({ status, headers: { location: '/links' } }));
    const failure = await failureFrom(create());
    expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { outcome: 'unknown', status } });
    expect(failure.message).toMatch(/^It is unknown whether the link "N" was created: .* was redirected to /);
  });

  test('307, which asks for the same request elsewhere: SOURCE_REDIRECTED, not created', async () => {
    await serve(() => ({ status: 307, headers: { location: '/links' } }));
    expect((await failureFrom(create())).code).toBe('SOURCE_REDIRECTED');
  });

  test('429: sent once, SOURCE_OVERLOADED, certainly not created', async () => {
    await serve(() => ({ status: 429 }));
    expect(await failureFrom(create())).toMatchObject({ code: 'SOURCE_OVERLOADED', facts: { outcome: 'not created' } });
    expect(server.received).toHaveLength(1);
  });

  test('400: SOURCE_REFUSED in the words of the service', async () => {
    await serve(() => ({ status: 400, body: '{"error":{"message":"name is taken"}}' }));
    expect((await failureFrom(create())).message).toContain('was answered 400: name is taken');
  });

  test.each([409, 421, 423, 425])('%i: SOURCE_REFUSED, sent once, in the words of the service', async (status) => {
    await serve(() => ({ status, body: 'another link has that name' }));
    const failure = await failureFrom(create());
    const facts = { status, said: 'another link has that name' };
    expect(failure).toMatchObject({ code: 'SOURCE_REFUSED', kind: 'usage', facts });
    expect(failure.facts['outcome']).toBeUndefined();
    expect(server.received).toHaveLength(1);
  });

  test('under a token that would leave its path is refused unsent', async () => {
    await serve(() => created);
    const failure = await failureFrom(connection.service.createLink('../x', 'N', null, connection.signal));
    expect(failure.code).toBe('USAGE_INVALID');
    expect(server.received).toHaveLength(0);
  });
});

describe('updating a link', () => {
  test('is repeated after a lost connection, a 502 and a 503, and sends the partner id as the integer it is', async () => {
    await serve((_, count) => [{ status: 0 }, { status: 502 }, { status: 503 }][count - 1] ?? created);
    expect(await update()).toMatchObject({ token: 'abc123' });
    expect(server.received.map(({ method, body }) => [method, body])).toEqual([
      ['PATCH', '{"partner_id":174}'],
      ['PATCH', '{"partner_id":174}'],
      ['PATCH', '{"partner_id":174}'],
      ['PATCH', '{"partner_id":174}'],
    ]);
  });

  test('keeps every digit of a partner id beyond 2^53, and sends false as false', async () => {
    await serve(() => created);
    const change = { partnerId: '9007199254740993', costDataEnabled: false };
    await connection.service.updateLink('4zb92bmajmrd', 'abc123', change, connection.signal);
    expect(server.received[0]?.body).toBe('{"partner_id":9007199254740993,"cost_data_enabled":false}');
  });

  test('refuses a partner id that is no integer, unsent', async () => {
    await serve(() => created);
    const change = { partnerId: '1,"x":1' };
    const updating = connection.service.updateLink('4zb92bmajmrd', 'abc123', change, connection.signal);
    expect((await failureFrom(updating)).code).toBe('USAGE_INVALID');
    expect(server.received).toHaveLength(0);
  });
});
