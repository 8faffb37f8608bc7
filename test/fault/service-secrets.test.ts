/** Intruders: an answer that says the credential back is discarded, whatever form it has and wherever it lies. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

import type { HttpService } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import type { SavedBody } from '../../src/service/service.ts';
import {
  type Connection,
  failureFrom,
  json,
  markedToken,
  savePage,
  type Script,
  type ScriptedServer,
  useDirectory,
  useService,
} from '../support/scripted-server.ts';

let directory: string;
let server: ScriptedServer;
let connection: Connection;

beforeEach(async () => {
  directory = await useDirectory();
});

async function serve(script: Script, settings: Partial<HttpService> = {}): Promise<void> {
  ({ server, connection } = await useService(script, settings));
}
const ask = (): Promise<SavedBody | null> => savePage(connection, join(directory, 'report'));

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** Enough on both sides that the secret lies in the middle of many chunks. */
const reportWith = (said: string): object => {
  const rows = Array.from({ length: 3000 }, (_, row) => ({
    day: '2026-02-01',
    installs: String(row),
  }));
  return { rows: [...rows, { day: said }, ...rows] };
};

test.each([
  ['as it is', markedToken],
  ['URL-encoded', encodeURIComponent(markedToken)],
  ['base64', base64(markedToken)],
  ['base64 with its scheme', base64(`Bearer ${markedToken}`)],
])(
  'a report that holds the token %s is DATA_MALFORMED, is not requested again, and leaves no file',
  async (_, said) => {
    for (const gzip of [false, true]) {
      await serve(() => json(reportWith(`you sent ${said}`), { gzip }));
      const failure = await failureFrom(ask());
      expect(failure).toMatchObject({ code: 'DATA_MALFORMED', kind: 'contract' });
      expect(JSON.stringify([failure.message, failure.facts, failure.hint])).not.toContain(
        markedToken,
      );
      expect(server.received).toHaveLength(1);
      expect(await readdir(directory)).toEqual([]);
    }
  },
);

test('a token across two pieces of the wire, cut at each of its characters, is found', async () => {
  const [before, after] = ['{"rows":[{"day":"', '"}]}'];
  for (let cut = 1; cut < markedToken.length; cut += 1) {
    await serve(() => (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(before + markedToken.slice(0, cut), () =>
        setTimeout(() => response.end(markedToken.slice(cut) + after), 5),
      );
    });
    expect((await failureFrom(ask())).code).toBe('DATA_MALFORMED');
  }
});

test('a secret header in a report is treated as the token is; the token but for its last character, an account number and what only ad spend is sent with are data', async () => {
  await serve(() => json(reportWith('key-4711-kept')), {
    headers: { 'X-Key': new Secret('key-4711-kept') },
  });
  expect((await failureFrom(ask())).code).toBe('DATA_MALFORMED');
  for (const said of [markedToken.slice(0, -1), '20260201', 'cost-key-marked']) {
    await serve(() => json(reportWith(said)), { headers: { 'X-Account': '20260201' } });
    expect(await ask()).not.toBeNull();
  }
});

const halves = (bytes: number): string =>
  `<p>Sorry,`.padEnd(bytes - markedToken.length / 2) + markedToken;
test.each([
  ['an error of more than 64 KiB', { status: 400, body: halves(64 * 1024) }],
  [
    'a web page of more than 4 KiB',
    { headers: { 'content-type': 'text/html' }, body: halves(4096) },
  ],
  ['an error that breaks off', { status: 400, body: halves(500), cutAfter: 500 }],
  [
    'an error with 8 of its characters',
    { status: 400, body: `Sorry, ${markedToken.slice(3, 11)}, is void` },
  ],
  [
    'an error with 12 in upper case',
    { status: 400, body: `Sorry, ${markedToken.slice(-12).toUpperCase()}, is void` },
  ],
])('the words of %s show no part of the token', async (_, reply) => {
  await serve(() => reply);
  const { message, facts } = await failureFrom(ask());
  expect(message).toContain('Sorry,');
  expect(JSON.stringify([message, facts]).toLowerCase()).not.toContain(markedToken.slice(0, 4));
  expect(JSON.stringify([message, facts]).toLowerCase()).not.toContain(markedToken.slice(5, 11));
});

test('fails a list of filter items and a list of partners; whether a link was created is unknown', async () => {
  await serve(({ path }) =>
    path.endsWith('/filters_data')
      ? json({ apps: [{ id: 'a', description: markedToken }] })
      : json({
          data: {
            items: [
              { id: 1, token: 'abc123', display_name: markedToken, name: markedToken, level: 1 },
            ],
          },
        }),
  );
  const { service, signal } = connection;
  for (const list of [
    service.filtersData({ filters: ['apps'] }, signal),
    service.partners(signal).next(),
  ]) {
    expect((await failureFrom(list)).code).toBe('DATA_MALFORMED');
  }
  const created = service.createLink('a1b2c3d4e5f6', 'Summer', null, signal);
  expect(await failureFrom(created)).toMatchObject({
    code: 'SOURCE_UNAVAILABLE',
    facts: { outcome: 'unknown' },
  });
  expect(server.received).toHaveLength(3);
});
