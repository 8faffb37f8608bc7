/** Faults, rows 9 and 10: services that close a connection after each answer, as they said, or in the middle of it, and what is no HTTP. */

import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { textWith } from '../support/matching.ts';
import { connectTo } from '../support/scripted-server.ts';

const REPORTS = 40;
/** Of several sizes, so that they end at different times. */
const bodies = Array.from({ length: REPORTS }, (_, report) =>
  JSON.stringify({ rows: Array.from({ length: 4000 + 300 * report }, (_row, row) => ({ day: '2026-02-01', row })) }),
);

let directory = '';
let server: Server;
/** By report, how often it was asked for. */
let tries: Map<number, number>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-closing-'));
  tries = new Map();
});

afterEach(async () => {
  server.close();
  await rm(directory, { recursive: true });
});

type Answering = (socket: Socket, body: string, report: number) => Promise<void> | void;

/** A service that answers each report as told, over a bare connection. */
async function serve(answer: Answering): Promise<string> {
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (request) => {
      const report = Number(/countries=(\d+)/.exec(String(request))?.[1]);
      tries.set(report, (tries.get(report) ?? 0) + 1);
      void answer(socket, bodies[report] ?? '', report);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The service has no port.');
  return `http://127.0.0.1:${address.port}`;
}

/** Asks for all reports at once; what was saved of each. */
async function askAll(origin: string): Promise<string[]> {
  const { service, signal } = connectTo(origin, {
    maxConcurrency: REPORTS,
    maxStartsPerSecond: 1000,
    maxResponseBytes: 10_000_000,
    requestTimeoutMs: 60_000,
  });
  try {
    return await Promise.all(
      bodies.map(async (_, report) => {
        const path = join(directory, String(report));
        await service.report({ metrics: 'installs', countries: String(report) }, path, signal);
        return readFile(path, 'utf8');
      }),
    );
  } finally {
    await service.close();
  }
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n';

test('bodies that end with their connection are whole, each by one request', async () => {
  const origin = await serve(async (socket, body) => {
    socket.end(`${HEAD}\r\n${body}`);
    await once(socket, 'close');
  });
  expect(await askAll(origin)).toEqual(bodies);
  expect([...tries.values()]).toEqual(bodies.map(() => 1));
});

test('of a length that was said, too', async () => {
  const origin = await serve(async (socket, body) => {
    socket.end(`${HEAD}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    await once(socket, 'close');
  });
  expect(await askAll(origin)).toEqual(bodies);
  expect([...tries.values()]).toEqual(bodies.map(() => 1));
});

test('those that are cut by a reset, of connections that were to be closed, are asked for again', async () => {
  const origin = await serve(async (socket, body, report) => {
    socket.write(HEAD);
    if ((tries.get(report) ?? 0) > 2) {
      socket.end(`content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      return;
    }
    const cut = Math.floor(body.length * (0.3 + (0.6 * report) / REPORTS));
    // Within a row: what ends with one may be taken for a document until it is read.
    socket.write(`\r\n${body.slice(0, body.lastIndexOf(':', cut))}`);
    await sleep((report % 8) * 2);
    socket.resetAndDestroy();
  });
  expect(await askAll(origin)).toEqual(bodies);
  expect([...tries.values()]).toEqual(bodies.map(() => 3));
});

/** What breaks the rules of HTTP/1.1, of a body. */
const broken: readonly (readonly [string, (body: string) => string])[] = [
  [
    'ends inside a chunk',
    (body) => `${HEAD}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body.slice(0, 99)}`,
  ],
  ['has a chunk of no size', (body) => `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n${body}`],
  ['is a greeting of another protocol', () => 'SSH-2.0-OpenSSH_9.0\r\n'],
  ['is a page without a status', () => '<html>Service is down</html>\n'],
  ['has a header with a blank in its name', () => 'HTTP/1.1 503 Service Unavailable\r\nBad Header: x\r\n\r\n'],
];

test.each(broken)('an answer that %s is asked for again', async (_, answer) => {
  const origin = await serve((socket, body, report) => {
    if ((tries.get(report) ?? 0) > 1) socket.end(`${HEAD}\r\n${body}`);
    else socket.end(answer(body));
  });
  expect(await askAll(origin)).toEqual(bodies);
  expect([...tries.values()]).toEqual(bodies.map(() => 2));
});

test('a service that is none is told as unavailable, with what it said', async () => {
  const origin = await serve((socket) => {
    socket.end('SSH-2.0-OpenSSH_9.0\r\n');
  });
  const { service, signal } = connectTo(origin, {});
  const asked = service.report({ metrics: 'installs', countries: '0' }, join(directory, '0'), signal);
  await expect(asked).rejects.toMatchObject({
    code: 'SOURCE_UNAVAILABLE',
    message: textWith('met something else than an answer: Response does not match the HTTP/1.1 protocol'),
  });
  await service.close();
});
