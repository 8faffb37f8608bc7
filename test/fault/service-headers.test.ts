/** What counts before a body: a status, and response headers above Node's limit, which undici takes over (FAULTS 61). */

import { join } from 'node:path';

import { expect, test } from 'vitest';

import { textWith } from '../support/matching.ts';
import {
  failureFrom,
  json,
  savePage,
  useDirectory,
  useService,
} from '../support/scripted-server.ts';

const large = { 'x-trace': 'a'.repeat(17 * 1024) };

test('a report with response headers above 16 KiB is refused at the first try, with the cause and the option of Node', async () => {
  const { server, connection } = await useService(() => json({ rows: [] }, { headers: large }));
  const path = join(await useDirectory(), 'report');
  expect(await failureFrom(savePage(connection, path))).toMatchObject({
    code: 'SOURCE_GARBLED',
    message: textWith('was answered with more headers than Node accepts'),
    hint: textWith('NODE_OPTIONS=--max-http-header-size='),
    facts: { attempts: 1 },
  });
  expect(server.received.length).toBe(1);
});

test('ad spend that is answered with headers above 16 KiB is sent once, and its outcome is unknown', async () => {
  const { server, connection } = await useService(() => json({}, { headers: large }));
  const line = {
    cost_id: 'id-of-12-chars',
    cost_type: 'cpc',
    cost_currency: 'EUR',
    cost_amount: '1',
    tag: 't',
  };
  const outcome = await connection.service.submitSpend(line, connection.signal);
  expect(outcome).toMatchObject({ outcome: 'unknown', reason: textWith('more headers than Node') });
  expect(server.received.length).toBe(1);
});

test.each([
  [400, 'SOURCE_REFUSED', 1],
  [503, 'SOURCE_UNAVAILABLE', 6],
])(
  'a report whose %i has words that drip beyond the deadline is %s by its status',
  async (status, code, attempts) => {
    const plain = { 'content-type': 'text/plain' };
    const reply = { status, headers: plain, body: 'no'.repeat(99), dripMs: 50 };
    const { connection } = await useService(() => reply, { requestTimeoutMs: 500 });
    const path = join(await useDirectory(), 'report');
    expect(await failureFrom(savePage(connection, path))).toMatchObject({
      code,
      facts: { status, attempts },
    });
  },
);
