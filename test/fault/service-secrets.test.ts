/** Intruders: the words of an error show no part of a credential, and a list that contains one is discarded. */

import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';

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

async function serve(script: Script): Promise<void> {
  ({ server, connection } = await useService(script));
}
const ask = (): Promise<SavedBody | null> => savePage(connection, join(directory, 'report'));

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
