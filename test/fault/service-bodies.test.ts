/** Faults, rows 9-12 and 30: what happens to a body on its way, and what it tells of the clock. */

import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import type { HttpService } from '../../src/config/config.ts';
import type { SavedBody } from '../../src/service/service.ts';
import {
  type Connection,
  failureFrom,
  json,
  markedToken,
  type Reply,
  type Script,
  type ScriptedServer,
} from '../support/scripted-server.ts';
import { useDirectory, useService } from '../support/use-service.ts';

const report = { rows: Array.from({ length: 100 }, (_, row) => ({ day: '2026-02-01', installs: String(row) })) };
const whole = JSON.stringify(report);
const headers = { 'content-type': 'application/json' };
let directory: string;
let saveAs: string;
let server: ScriptedServer;
let connection: Connection;

beforeEach(async () => {
  directory = await useDirectory();
  saveAs = join(directory, 'report');
});

async function serve(script: Script, overrides: Partial<HttpService> = {}): Promise<void> {
  ({ server, connection } = await useService(script, overrides));
}

function ask(signal = connection.signal): Promise<SavedBody | null> {
  return connection.service.report({ metrics: 'installs' }, saveAs, signal);
}

describe('row 9: a body that is not whole', () => {
  const broken: readonly [string, Reply][] = [
    ['reset before any header', { status: 0 }],
    ['reset in mid-body', { headers, body: whole, cutAfter: 700 }],
    ['reset in mid-body, gzip', { headers, body: whole, cutAfter: 70, gzip: true }],
    ['truncated JSON with 200', { headers, body: whole.slice(0, 700) }],
    [
      'truncated gzip with 200',
      { headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(whole).subarray(0, 90) },
    ],
    ['corrupt gzip', { headers: { ...headers, 'content-encoding': 'gzip' }, body: whole }],
    [
      'shorter than its Content-Length',
      { headers: { ...headers, 'content-length': '99999' }, body: whole, cutAfter: 9999 },
    ],
  ];
  test.each(broken)('%s: the part is discarded and the whole asked for again', async (_, reply) => {
    await serve((_request, count) => (count <= 2 ? reply : json(report)));
    expect(await ask()).toMatchObject({ plainBytes: whole.length });
    expect(await readFile(saveAs, 'utf8')).toBe(whole);
    expect(server.received.map(({ headers }) => headers.range)).toEqual([undefined, undefined, undefined]);
  });

  test('truncated JSON for ever fails after 6 tries as SOURCE_GARBLED and leaves no file', async () => {
    await serve(() => ({ headers, body: whole.slice(0, 700) }));
    const failure = await failureFrom(ask());
    expect(failure).toMatchObject({ code: 'SOURCE_GARBLED', facts: { attempts: 6 } });
    expect(failure.message).toContain('ended early, after 700 bytes');
    expect(existsSync(saveAs)).toBe(false);
  });

  test('a reset in mid-body for ever fails after 6 tries as SOURCE_UNAVAILABLE and leaves no file', async () => {
    await serve(() => ({ headers, body: whole, cutAfter: 700 }));
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { attempts: 6 } });
    expect(existsSync(saveAs)).toBe(false);
  });
});

describe('row 10: 200 with something else', () => {
  const others: readonly [string, Reply, string][] = [
    [
      'a web page',
      { headers: { 'content-type': 'text/html' }, body: `<h1>Sign\u001b[31m in</h1> ${markedToken}` },
      'text/html instead of JSON: <h1>Sign [31m in</h1> ***',
    ],
    ['a web page called JSON', { headers, body: '<h1>Sign in</h1>' }, 'no JSON object: <h1>Sign in</h1>'],
    ['JSON that is no object', { headers, body: '[1,2]' }, 'no JSON object: [1,2]'],
    ['an empty body', { headers, body: '' }, 'an empty body'],
    ['an empty gzip body', { headers: { ...headers, 'content-encoding': 'gzip' }, body: '' }, 'an empty body'],
    ['a blank body', { headers, body: ' \n ' }, 'an empty body'],
    ['an encoding nobody asked for', { headers: { ...headers, 'content-encoding': 'br' }, body: 'x' }, 'encoding "br"'],
  ];
  test.each(others)(
    '%s is asked for once more and then fails with the first words of what came',
    async (_, reply, words) => {
      await serve(() => reply);
      const failure = await failureFrom(ask());
      expect(failure).toMatchObject({ code: 'SOURCE_GARBLED', facts: { attempts: 2, status: 200 } });
      expect(failure.message).toContain(words);
      expect(server.received).toHaveLength(2);
      expect(existsSync(saveAs)).toBe(false);
    },
  );

  test('a web page once costs one retry', async () => {
    await serve((_, count) => (count === 1 ? { headers: { 'content-type': 'text/html' }, body: 'x' } : json(report)));
    expect(await ask()).not.toBeNull();
  });
});

describe('row 11: a body that drips, or never ends', () => {
  test('one byte in 10 ms is cut at the total deadline of 0.15 s, though it never idles', async () => {
    await serve(() => ({ headers, body: whole, dripMs: 10 }), { requestTimeoutMs: 150 });
    const failure = await failureFrom(ask());
    expect(failure).toMatchObject({ code: 'SOURCE_TIMEOUT', facts: { attempts: 1 } });
    expect(failure.message).toContain('did not bring the whole answer within 0.15 s');
    expect(existsSync(saveAs)).toBe(false);
  });

  test('a filters-data answer that drips is asked for 3 times', async () => {
    await serve(() => ({ headers, body: '{"apps":[]}', dripMs: 50 }), { requestTimeoutMs: 60 });
    const asked = connection.service.filtersData({ filters: ['apps'] }, connection.signal);
    expect(await failureFrom(asked)).toMatchObject({ code: 'SOURCE_TIMEOUT', facts: { attempts: 3 } });
  });

  test('one that never ends stops at the cap of 100 000 bytes', async () => {
    await serve(
      () => (response) => {
        response.writeHead(200, headers).write('{');
        const flood = (): void => {
          while (!response.destroyed)
            if (!response.write(' '.repeat(10_000))) return void response.once('drain', flood);
        };
        flood();
      },
      { maxResponseBytes: 100_000 },
    );
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_OVERSIZED', facts: { maxBytes: 100_000 } });
    expect(existsSync(saveAs)).toBe(false);
  });
});

describe('row 12: a gzip bomb', () => {
  test('of 200 MB in 200 KB stops at the cap of 1 MB, is not asked for again and leaves no file', async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000, ' '));
    await serve(() => ({ headers: { ...headers, 'content-encoding': 'gzip' }, body: bomb }));
    expect(await failureFrom(ask())).toMatchObject({ code: 'SOURCE_OVERSIZED' });
    expect(server.received).toHaveLength(1);
    expect(existsSync(saveAs)).toBe(false);
  });
});

describe('row 30: the clock', () => {
  const skewed = (ms: number): Script => {
    const date = new Date(Date.now() + ms).toUTCString();
    return () => json(report, { headers: { ...headers, date } });
  };

  test('is unknown before the first answer', async () => {
    await serve(() => json(report));
    expect(connection.service.clockSkewMs()).toBeNull();
  });

  test.each([-7_200_000, -300_000, 300_000, 7_200_000])('off by %i ms is seen to 2 s', async (ms) => {
    await serve(skewed(ms));
    await ask();
    const skew = connection.service.clockSkewMs() ?? 0;
    expect(Math.abs(skew - ms)).toBeLessThan(2000);
  });

  test('off by nothing that a Date header can tell is 0', async () => {
    await serve(() => json(report, { headers: { ...headers, date: new Date(connection.clock.now()).toUTCString() } }));
    await ask();
    expect(connection.service.clockSkewMs()).toBe(0);
  });

  test('is taken from a refusal, too', async () => {
    const date = new Date(Date.now() + 300_000).toUTCString();
    await serve(() => ({ status: 400, headers: { date } }));
    await failureFrom(ask());
    expect(connection.service.clockSkewMs()).toBeGreaterThan(290_000);
  });
});

describe('interruption and storage', () => {
  test('an abort while waiting for an answer throws its reason, retries nothing and leaves no file', async () => {
    await serve(() => ({ headers, body: whole, dripMs: 20 }));
    const controller = new AbortController();
    const asked = ask(controller.signal);
    setTimeout(() => controller.abort(new Error('SIGTERM')), 60);
    await expect(asked).rejects.toThrow('SIGTERM');
    expect(server.received).toHaveLength(1);
    expect(existsSync(saveAs)).toBe(false);
  });

  test('closing ends a call that is under way', async () => {
    await serve(() => 'hang');
    const asked = failureFrom(ask());
    await connection.service.close();
    expect((await asked).message).toBe('The connection was used after it was closed');
  });

  test('a place that cannot be written is STORAGE_FAILED and is not asked for again', async () => {
    await serve(() => json(report));
    await mkdir(saveAs);
    expect(await failureFrom(ask())).toMatchObject({ code: 'STORAGE_FAILED', facts: { path: saveAs } });
    expect(server.received).toHaveLength(1);
  });
});
