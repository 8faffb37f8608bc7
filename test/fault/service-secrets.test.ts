/** Intruders: an answer that says the credential back is discarded, whatever form it has and wherever it lies. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { HttpService } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import type { SavedBody } from '../../src/service/service.ts';
import {
  type Connection,
  failureFrom,
  json,
  markedToken,
  type Script,
  type ScriptedServer,
} from '../support/scripted-server.ts';
import { useDirectory, useService } from '../support/use-service.ts';

let directory: string;
let server: ScriptedServer;
let connection: Connection;

beforeEach(async () => {
  directory = await useDirectory();
});

async function serve(script: Script, overrides: Partial<HttpService> = {}): Promise<void> {
  ({ server, connection } = await useService(script, overrides));
}

function ask(): Promise<SavedBody | null> {
  return connection.service.report({ metrics: 'installs' }, join(directory, 'report'), connection.signal);
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** Enough on both sides that the secret lies in the middle of many chunks. */
const reportWith = (said: string): object => {
  const rows = Array.from({ length: 3000 }, (_, row) => ({ day: '2026-02-01', installs: String(row) }));
  return { rows: [...rows, { day: said }, ...rows] };
};

const forms: readonly [string, string][] = [
  ['as it is', markedToken],
  ['URL-encoded', encodeURIComponent(markedToken)],
  ['base64', base64(markedToken)],
  ['base64 with its scheme', base64(`Bearer ${markedToken}`)],
];

describe('a report that holds the token', () => {
  test.each(forms)('%s is DATA_MALFORMED, is not asked for again, and leaves no file', async (_, said) => {
    for (const gzip of [false, true]) {
      await serve(() => json(reportWith(`you sent ${said}`), { gzip }));
      const failure = await failureFrom(ask());
      expect(failure).toMatchObject({ code: 'DATA_MALFORMED', kind: 'contract' });
      expect(failure.message).toContain('held the credential it was asked with');
      expect(JSON.stringify([failure.message, failure.facts, failure.hint])).not.toContain(markedToken);
      expect(server.received).toHaveLength(1);
      expect(await readdir(directory)).toEqual([]);
    }
  });

  test('across two pieces of the wire, cut at each of its characters, is found', async () => {
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

  test('but for its last character is an answer like any other', async () => {
    await serve(() => json(reportWith(markedToken.slice(0, -1))));
    expect(await ask()).not.toBeNull();
  });
});

describe('a header in a report', () => {
  test('that is no secret is data: the account number 20260201 in every row is loaded', async () => {
    await serve(() => json(reportWith('20260201')), { headers: { 'X-Account': '20260201' } });
    expect(await ask()).not.toBeNull();
  });

  test('that is stated as a secret is treated as the token is', async () => {
    await serve(() => json(reportWith('key-4711-kept')), { headers: { 'X-Key': new Secret('key-4711-kept') } });
    expect((await failureFrom(ask())).code).toBe('DATA_MALFORMED');
  });

  test('that only ad spend is sent with is data', async () => {
    await serve(() => json(reportWith('cost-key-marked')));
    expect(await ask()).not.toBeNull();
  });
});

describe('the words of an answer that is none', () => {
  const halves = (bytes: number): string => `<p>Sorry,`.padEnd(bytes - markedToken.length / 2) + markedToken;

  test.each([
    ['an error of more than 64 KiB', { status: 400, body: halves(64 * 1024) }],
    ['a web page of more than 4 KiB', { headers: { 'content-type': 'text/html' }, body: halves(4096) }],
    ['an error that breaks off', { status: 400, body: halves(500), cutAfter: 500 }],
  ])('show no part of the token where it is cut: %s', async (_, reply) => {
    await serve(() => reply);
    const { message, facts } = await failureFrom(ask());
    expect(message).toContain('Sorry,');
    expect(JSON.stringify([message, facts])).not.toContain(markedToken.slice(0, 4));
  });
});

describe('a part of the token in the words of a service', () => {
  test.each([
    ['8 characters', markedToken.slice(3, 11)],
    ['12 characters in upper case', markedToken.slice(-12).toUpperCase()],
    ['all but the first character', markedToken.slice(1)],
  ])('is not shown: %s', async (_, part) => {
    await serve(() => ({ status: 400, body: JSON.stringify({ error: `the key ${part}, is void` }) }));
    const { message, facts } = await failureFrom(ask());
    expect(message).toContain('the key ***, is void');
    expect(JSON.stringify([message, facts])).not.toContain(part);
  });
});

describe('another answer that holds the token', () => {
  test('fails a list of filter items, and a list of partners', async () => {
    await serve(({ path }) =>
      path.endsWith('/filters_data')
        ? json({ apps: [{ id: 'a', description: markedToken }] })
        : json({ data: { items: [{ id: 1, display_name: markedToken }] } }),
    );
    const lists = [
      connection.service.filtersData({ filters: ['apps'] }, connection.signal),
      connection.service.partners(connection.signal).next(),
    ];
    for (const list of lists) expect((await failureFrom(list)).code).toBe('DATA_MALFORMED');
    expect(server.received).toHaveLength(2);
  });

  test('leaves it unknown whether a link was created', async () => {
    await serve(() => json({ data: { items: [{ token: 'abc123', name: markedToken, level: 1 }] } }));
    const created = connection.service.createLink('a1b2c3d4e5f6', 'Summer', null, connection.signal);
    expect(await failureFrom(created)).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { outcome: 'unknown' } });
  });
});
