/** Faults, rows 47 to 50: status codes not listed, a cached answer's clock, legal JSON in unusual clothes, long deadlines. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateRawSync, gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { HttpService } from '../../src/config/config.ts';
import type { SavedBody } from '../../src/service/service.ts';
import {
  type Connection,
  failureFrom,
  json,
  type Reply,
  type Script,
  type ScriptedServer,
} from '../support/scripted-server.ts';
import { useDirectory, useService } from '../support/use-service.ts';

const report = { rows: [{ day: '2026-02-01', network: 'a 😀', installs: '10' }], pagination: null };
const whole = JSON.stringify(report);
const isJson = { 'content-type': 'application/json' };
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
  return connection.service.report({ metrics: 'installs' }, join(directory, 'report.json'), connection.signal);
}

/** The rows of a saved file. */
async function rowsOf(saved: SavedBody | null): Promise<unknown> {
  const bytes = await readFile(saved?.path ?? '');
  const plain = saved?.encoding === 'gzip' ? gunzipSync(bytes) : bytes;
  return z.object({ rows: z.unknown() }).parse(JSON.parse(plain.toString('utf8'))).rows;
}

describe('row 47: a status that is not listed', () => {
  test.each([202, 203, 206, 226, 499])('%i is no answer: asked for again, and the next one counts', async (status) => {
    await serve((_, count) => (count <= 2 ? json({ rows: [] }, { status }) : json(report)));
    expect(await rowsOf(await ask())).toEqual(report.rows);
    expect(server.received).toHaveLength(3);
  });

  test.each([202, 499])(
    '%i for ever fails after 6 tries as SOURCE_UNAVAILABLE, in its own words, and opens no breaker',
    async (status) => {
      await serve(() => ({ status, body: 'still computing' }));
      for (const _ of [1, 2]) {
        const failure = await failureFrom(ask());
        expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { status, attempts: 6 } });
        expect(failure.message).toContain(`was answered ${status}: still computing`);
      }
      expect(connection.events.map(({ type }) => type)).not.toContain('breaker_opened');
      expect(await readdir(directory)).toEqual([]);
    },
  );

  test.each([501, 520, 522, 530, 599])('%i twice costs two retries', async (status) => {
    await serve((_, count) => (count <= 2 ? { status } : json(report)));
    expect(await ask()).not.toBeNull();
    expect(server.received).toHaveLength(3);
  });

  test('524 is too heavy at the first try, as 504 is', async () => {
    await serve(() => ({ status: 524 }));
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_TOO_HEAVY', facts: { attempts: 1, status: 524 } });
  });

  test.each([300, 304, 402, 409, 421, 423, 425, 451])('%i is refused at the first try', async (status) => {
    await serve(() => ({ status }));
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_REFUSED', facts: { attempts: 1, status } });
  });

  test.each([202, 409, 423, 425, 499, 520, 522, 524])(
    '%i to a line of ad spend is never repeated and leaves its outcome unknown',
    async (status) => {
      await serve(() => ({ status }));
      const line = { costId: 'id-of-12-chars', costType: 'cpc', costCurrency: 'EUR', costAmount: '1', tag: 't' };
      expect(await connection.service.submitSpend(line, connection.signal)).toMatchObject({ outcome: 'unknown' });
      expect(server.received).toHaveLength(1);
    },
  );
});

describe('row 48: an answer that a cache kept', () => {
  test('for 2 hours says so by its Age, and the clock is not off', async () => {
    const date = new Date(Date.now() - 7_200_000).toUTCString();
    await serve(() => json(report, { headers: { ...isJson, date, age: '7200' } }));
    await ask();
    expect(connection.service.clockSkewMs()).toBe(0);
  });

  test('is not asked for: every request wants a fresh one', async () => {
    await serve(() => json(report));
    await ask();
    expect(server.received[0]?.headers['cache-control']).toBe('no-cache');
  });
});

/** A gzip member with the header fields that a flag byte names (RFC 1952), in its order. */
function member(plain: string, flags: number): Buffer {
  const fields = [
    Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3]),
    ...((flags & 0x04) === 0 ? [] : [Buffer.from([4, 0]), Buffer.from('EXTR')]),
    ...((flags & 0x08) === 0 ? [] : [Buffer.from('report.json\0')]),
    ...((flags & 0x10) === 0 ? [] : [Buffer.from('a comment\0')]),
  ];
  const header = Buffer.concat(fields);
  const check = Buffer.alloc(2);
  check.writeUInt16LE(crc32(header) & 0xffff);
  const end = Buffer.alloc(8);
  end.writeUInt32LE(crc32(plain), 0);
  end.writeUInt32LE(Buffer.byteLength(plain), 4);
  return Buffer.concat([header, (flags & 0x02) === 0 ? Buffer.alloc(0) : check, deflateRawSync(plain), end]);
}

describe('row 50: a deadline beyond what a timer holds', () => {
  test.each([25, 60, 1e12])('of %d days does not cut off an answer that takes 0.1 s', async (days) => {
    await serve(() => json(report, { afterMs: 100 }), { requestTimeoutMs: days * 86_400_000 });
    expect(await ask()).not.toBeNull();
    expect(server.received).toHaveLength(1);
  });
});

describe('row 49: legal JSON in unusual clothes', () => {
  const zipped = (body: Buffer): Reply => ({ headers: { ...isJson, 'content-encoding': 'gzip' }, body });
  const clothes: readonly [string, Reply][] = [
    ['as text/plain', { headers: { 'content-type': 'text/plain; charset=utf-8' }, body: whole }],
    ['without a type', { headers: {}, body: whole }],
    ['with an empty type', { headers: { 'content-type': '' }, body: whole }],
    ['as application/vnd.api+json', { headers: { 'content-type': 'application/vnd.api+json' }, body: whole }],
    ['in a gzip stream that says it is text', zipped(member(whole, 0x01))],
    ['in a gzip stream with FHCRC', zipped(member(whole, 0x02))],
    ['in a gzip stream with FEXTRA', zipped(member(whole, 0x04))],
    ['in a gzip stream with FNAME', zipped(member(whole, 0x08))],
    ['in a gzip stream with FCOMMENT', zipped(member(whole, 0x10))],
    ['in a gzip stream with every field', zipped(member(whole, 0x1f))],
    [
      'in 3 gzip members',
      zipped(Buffer.concat([whole.slice(0, 2), whole.slice(2, 30), whole.slice(30)].map((part) => gzipSync(part)))),
    ],
    [
      'in 2 gzip members, byte by byte',
      { ...zipped(Buffer.concat([gzipSync(whole.slice(0, 9)), gzipSync(whole.slice(9))])), dripMs: 1 },
    ],
    ['in a gzip stream behind an empty one', zipped(Buffer.concat([gzipSync(''), gzipSync(whole)]))],
    ['in a gzip stream with 20 zeros behind it', zipped(Buffer.concat([gzipSync(whole), Buffer.alloc(20)]))],
  ];

  test.each(clothes)('%s loads as it is meant', async (_, reply) => {
    await serve(() => reply);
    const saved = await ask();
    expect(await rowsOf(saved)).toEqual(report.rows);
    expect(saved?.plainBytes).toBe(Buffer.byteLength(whole));
    expect(server.received).toHaveLength(1);
    expect(await readdir(directory)).toEqual(['report.json']);
  });

  test('behind a byte order mark is saved as it came', async () => {
    await serve(() => ({ headers: isJson, body: `\ufeff${whole}` }));
    expect((await ask())?.plainBytes).toBe(Buffer.byteLength(whole) + 3);
  });

  test('in a list of filter items is read too', async () => {
    const body = String.raw`{"apps":[{"id":"a","name":"x\ud83d"}]}`;
    await serve(() => ({ headers: { 'content-type': 'text/plain' }, body: `\ufeff${body}` }));
    const items = await connection.service.filtersData({ filters: ['apps'] }, connection.signal);
    expect(items).toMatchObject([{ id: 'a', name: 'x\ud83d' }]);
  });

  test.each([
    ['text/plain', 'Service unavailable'],
    ['text/plain', '[1,2]'],
    ['text/html', whole],
    ['text/html; charset=json', whole],
    ['application/octet-stream', whole],
  ])('%s with %j is no answer', async (type, body) => {
    await serve(() => ({ headers: { 'content-type': type }, body }));
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_GARBLED', facts: { attempts: 2 } });
    expect(await readdir(directory)).toEqual([]);
  });
});
