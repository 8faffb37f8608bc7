/**
 * A tiny HTTP server on port 0 whose answers a test scripts, request by request, faults of the wire included; and a
 * connection to it whose waits take no time.
 *
 * The server knows nothing of the service: what a request means is the script's business.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { onTestFinished } from 'vitest';

import type { HttpService } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import { Failure } from '../../src/errors.ts';
import type { RunEvent } from '../../src/events.ts';
import { MAX_URL_BYTES } from '../../src/model/slice.ts';
import type { Clock } from '../../src/service/clock.ts';
import { connect } from '../../src/service/connect.ts';
import type { PageHead, SavedBody, Service } from '../../src/service/service.ts';
import { closedOnce } from './closing.ts';

export interface Received {
  readonly method: string;
  /** Path and query as they came. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Compresses the body and says so. */
  readonly gzip?: boolean;
  /** Sends so many bytes of the body, then resets the connection; 0 with `status` 0 resets before any header. */
  readonly cutAfter?: number;
  /** Sends the body byte by byte, one in so many milliseconds. */
  readonly dripMs?: number;
  /** Answers only after so many milliseconds. */
  readonly afterMs?: number;
}

/** `'hang'` never answers; a function writes the answer itself. */
export type Script = (
  request: Received,
  count: number,
) => Reply | 'hang' | ((response: ServerResponse) => void);

export interface ScriptedServer {
  readonly origin: string;
  readonly received: readonly Received[];
  /** Most requests unanswered at once. */
  readonly peak: () => number;
  close(): Promise<void>;
}

/** The reply of a service that works: a JSON document. */
export function json(document: unknown, reply: Reply = {}): Reply {
  const headers = { 'content-type': 'application/json', ...reply.headers };
  return { status: 200, body: JSON.stringify(document), ...reply, headers };
}

/** Starts a server that answers by the script; `count` is 1 for the first request. */
export async function startScriptedServer(
  script: Script,
  tls: { readonly key: string; readonly cert: string } | null = null,
): Promise<ScriptedServer> {
  const received: Received[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let open = 0;
  let peak = 0;
  const listener: RequestListener = (incoming, response) => {
    open += 1;
    peak = Math.max(peak, open);
    response.on('close', () => (open -= 1));
    response.on('error', () => {});
    const parts: Buffer[] = [];
    incoming.on('error', () => {});
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const request = receivedFrom(incoming, Buffer.concat(parts).toString('utf8'));
      received.push(request);
      const reply = script(request, received.length);
      if (reply === 'hang') return;
      if (typeof reply === 'function') return reply(response);
      timers.add(setTimeout(() => answer(response, reply, timers), reply.afterMs ?? 0));
    });
  };
  const server = tls === null ? createServer(listener) : createTlsServer(tls, listener);
  const port = await listen(server);
  return {
    origin: `${tls === null ? 'http' : 'https'}://127.0.0.1:${port}`,
    received,
    peak: () => peak,
    close: closedOnce(() => {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    }),
  };
}

function receivedFrom(incoming: IncomingMessage, body: string): Received {
  const target = incoming.url ?? '';
  const url = new URL(target, 'http://localhost');
  return {
    method: incoming.method ?? '',
    target,
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    body,
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address.port);
    });
  });
}

function answer(response: ServerResponse, reply: Reply, timers: Set<NodeJS.Timeout>): void {
  const { status = 200, headers = {}, gzip = false, cutAfter, dripMs } = reply;
  if (status === 0) {
    response.socket?.resetAndDestroy();
    return;
  }
  const plain = Buffer.from(reply.body ?? '');
  const body = gzip ? gzipSync(plain) : plain;
  response.writeHead(status, gzip ? { 'content-encoding': 'gzip', ...headers } : { ...headers });
  if (cutAfter !== undefined) {
    response.write(body.subarray(0, cutAfter), () => response.socket?.resetAndDestroy());
  } else if (dripMs !== undefined) {
    drip(response, body, dripMs, timers);
  } else {
    response.end(body);
  }
}

function drip(
  response: ServerResponse,
  body: Buffer,
  everyMs: number,
  timers: Set<NodeJS.Timeout>,
): void {
  let sent = 0;
  const timer = setInterval(() => {
    response.write(body.subarray(sent, sent + 1));
    sent += 1;
    if (sent < body.length) return;
    clearInterval(timer);
    response.end();
  }, everyMs);
  timers.add(timer);
  response.on('close', () => clearInterval(timer));
}

/** A clock whose sleeps take no time: they are written down, and the time passes by as much. */
export interface SwiftClock extends Clock {
  readonly slept: readonly number[];
}

export function swiftClock(random = 0.5): SwiftClock {
  const slept: number[] = [];
  let now = Date.now();
  return {
    slept,
    now: () => now,
    random: () => random,
    async sleep(ms, signal) {
      signal.throwIfAborted();
      slept.push(ms);
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
    },
  };
}

export interface Connection {
  readonly service: Service;
  readonly clock: SwiftClock;
  readonly events: readonly RunEvent[];
  /** For calls that nobody aborts. */
  readonly signal: AbortSignal;
}

export const markedToken = 'token-marked-e7b1';

/** Connects to all three APIs at one origin, with tiny time-outs and waits that take no time. */
export function connectTo(origin: string, overrides: Partial<HttpService> = {}): Connection {
  const events: RunEvent[] = [];
  const clock = swiftClock();
  const config: HttpService = {
    kind: 'http',
    baseUrl: origin,
    reportsUrl: origin,
    costUrl: origin,
    token: new Secret(markedToken),
    headers: {},
    costHeaders: { Authorization: new Secret('Partner cost-key-marked') },
    caFile: null,
    maxConcurrency: 10,
    maxStartsPerSecond: 50,
    campaignConcurrency: 4,
    requestTimeoutMs: 5000,
    maxResponseBytes: 1_000_000,
    maxUrlBytes: MAX_URL_BYTES,
    ...overrides,
  };
  const emit = (event: RunEvent): void => void events.push(event);
  const service = connect(config, emit, clock);
  const close = closedOnce(() => service.close());
  return { service: { ...service, close }, clock, events, signal: new AbortController().signal };
}

const lastPage: PageHead = { rows: 0, rowsDigest: '', pagination: null };

/** Requests a report of one page and saves it at a path; null if it has no content. */
export async function savePage(
  { service, signal }: Pick<Connection, 'service' | 'signal'>,
  path: string,
  parameters: Readonly<Record<string, string>> = { metrics: 'installs' },
): Promise<SavedBody | null> {
  const request = { parameters, pathFor: () => path, readPage: async () => lastPage };
  const { pages } = await service.report(request, signal);
  return pages.at(0) ?? null;
}

/** What a connection has otherwise than by default; it may depend on the server's origin. */
export type Overrides = Partial<HttpService> | ((origin: string) => Partial<HttpService>);

/** A server that answers by the script and a service connected to it, both closed with the test. */
export async function useService(
  script: Script,
  overrides: Overrides = {},
  tls: Parameters<typeof startScriptedServer>[1] = null,
): Promise<{ readonly server: ScriptedServer; readonly connection: Connection }> {
  const server = await startScriptedServer(script, tls);
  const connection = connectTo(
    server.origin,
    typeof overrides === 'function' ? overrides(server.origin) : overrides,
  );
  return { server, connection };
}

/** An empty directory, gone with the test. */
export async function useDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-test-'));
  onTestFinished(async () => rm(directory, { recursive: true }));
  return directory;
}

/** The failure that a call is expected to end with. */
export async function failureFrom(call: Promise<unknown>): Promise<Failure> {
  const outcome = await call.then(
    () => 'no failure at all',
    (error: unknown) => error,
  );
  if (outcome instanceof Failure) return outcome;
  throw new Error('expected a Failure', { cause: outcome });
}
