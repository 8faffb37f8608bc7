/** FAULTS 51: a proxy that the environment names, as it is configured and on the wire. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { HttpService } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/read-config.ts';
import { Secret } from '../../src/config/secret.ts';
import { Failure } from '../../src/errors.ts';
import { writeCertificate } from '../support/certificate.ts';
import { textWith } from '../support/matching.ts';
import {
  type Connection,
  connectTo,
  failureFrom,
  json,
  markedToken,
  savePage,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';

const HOST = 'reports.example.com';
const directory = mkdtempSync(join(tmpdir(), 'ripen-proxy-'));
const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];

afterAll(() => rmSync(directory, { recursive: true }));

const line = {
  cost_id: 'id-of-12-chars',
  cost_type: 'cpc',
  cost_currency: 'EUR',
  cost_amount: '1',
  tag: 't',
};

describe('the proxy of an environment', () => {
  const serviceOf = (
    environment: Readonly<Record<string, string>>,
    more = '',
    host = `https://${HOST}`,
  ): HttpService => {
    const { service } = parseConfig(
      `service: { base_url: "${host}", reports_url: "${host}", token: the-token-itself ${more} }`,
      { file: '/etc/ripen.yaml', directory: '/etc', environment },
    );
    if (service.kind !== 'http') throw new Error('expected the real service');
    return service;
  };

  test.each([
    [{ HTTPS_PROXY: 'http://proxy:8080' }, 'http://proxy:8080'],
    [{ https_proxy: 'https://proxy', HTTPS_PROXY: 'http://other' }, 'https://proxy'],
    [{ https_proxy: '', HTTP_PROXY: 'http://proxy:3128/' }, 'http://proxy:3128'],
    [{ http_proxy: ' proxy:3128 ' }, 'http://proxy:3128'],
    [{ HTTPS_PROXY: 'http://user:p%40ss@proxy', NO_PROXY: 'other.example.com' }, 'http://proxy'],
  ])('%j is %s', (environment, address) => {
    expect(serviceOf(environment).proxy).toMatchObject({ address });
  });

  test.each([
    [{}],
    [{ NO_PROXY: 'a' }],
    [{ HTTPS_PROXY: ' ' }],
    [{ HTTPS_PROXY: 'http://proxy', no_proxy: '*' }],
    [{ HTTPS_PROXY: 'http://proxy', NO_PROXY: 'a, *' }],
  ])('%j is none', (environment) => {
    expect(serviceOf(environment).proxy).toBeUndefined();
  });

  test.each(['socks5://proxy', 'http://', 'http://a b', 'http://u:%zz@proxy'])(
    'HTTPS_PROXY=%s is CONFIG_INVALID, by the name of the variable and not its value',
    (address) => {
      expect(() => serviceOf({ HTTPS_PROXY: address })).toThrow(
        'in the variable HTTPS_PROXY is not an http or https address',
      );
      expect(() => serviceOf({ HTTPS_PROXY: address })).not.toThrow(address);
    },
  );

  test('is told the credential of its address; a header for it is refused', () => {
    const environment = { HTTPS_PROXY: 'http://user:p%40ss@proxy' };
    const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(serviceOf(environment).proxy?.credential?.reveal()).toBe(basic);
    const withHeader = () =>
      serviceOf(environment, ', headers: { proxy-Authorization: Negotiate abc }');
    expect(withHeader).toThrow('is a header ripen sets itself');
    expect(withHeader).not.toThrow('abc');
  });
});

interface RunningProxy {
  readonly address: string;
  /** What each CONNECT asked for, and its headers. */
  readonly requested: readonly {
    readonly target: string;
    readonly headers: IncomingMessage['headers'];
  }[];
  /** Most tunnels open at once. */
  readonly peak: () => number;
  /** Every byte that clients sent through. */
  readonly carried: () => string;
  close(): Promise<void>;
}

/** What a proxy does with a CONNECT: answers with a status (200 opens a tunnel), hangs up, or never answers. */
type Reaction = number | 'drop' | 'ignore';

/** A proxy that opens tunnels to one port of this machine, whatever host is asked for. */
async function startProxy(port: number, reaction: Reaction = 200): Promise<RunningProxy> {
  const requested: { target: string; headers: IncomingMessage['headers'] }[] = [];
  const carried: Buffer[] = [];
  const open = new Set<Socket>();
  let peak = 0;
  const server = createServer();
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    requested.push({ target: request.url ?? '', headers: request.headers });
    client.on('error', () => {});
    if (reaction === 'drop') {
      client.destroy();
      return;
    }
    open.add(client);
    client.on('close', () => open.delete(client));
    if (reaction === 'ignore') return;
    if (reaction !== 200) {
      client.end(`HTTP/1.1 ${reaction} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const upstream = connectTcp(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.on('data', (bytes: Buffer) => carried.push(bytes));
      client.pipe(upstream).pipe(client);
    });
    peak = Math.max(peak, open.size);
    client.on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  return {
    address: `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`,
    requested,
    peak: () => peak,
    carried: () => Buffer.concat(carried).toString('latin1'),
    close: async () => {
      for (const client of open) client.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe.skipIf(!writeCertificate(`DNS:${HOST}`, { key, cert }))('a call', () => {
  let server: ScriptedServer;
  let proxy: RunningProxy;
  let connection: Connection;

  afterEach(async () => {
    await proxy.close();
  });

  /** The service under a name that only the proxy can reach. */
  async function serve(
    overrides: Partial<HttpService> = {},
    reaction: Reaction = 200,
  ): Promise<void> {
    const pem = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
    server = await startScriptedServer(() => json({ rows: [] }, { afterMs: 20 }), pem);
    proxy = await startProxy(Number(new URL(server.origin).port), reaction);
    const throughProxy = {
      address: proxy.address,
      credential: new Secret('Basic cHJveHk6bWFya2Vk'),
      exceptions: ['elsewhere'],
    };
    connection = connectTo(`https://${HOST}`, { caFile: cert, proxy: throughProxy, ...overrides });
  }

  const ask = () => savePage(connection, join(directory, 'a'));

  test('goes through the proxy in a tunnel, which learns neither token nor path; the service does not learn of the proxy', async () => {
    await serve();
    expect(await ask()).not.toBeNull();
    expect(proxy.requested.map(({ target }) => target)).toEqual([`${HOST}:443`]);
    expect(proxy.requested[0]?.headers['proxy-authorization']).toBe('Basic cHJveHk6bWFya2Vk');
    expect(JSON.stringify(proxy.requested) + proxy.carried()).not.toContain(markedToken);
    expect(proxy.carried().length).toBeGreaterThan(500);
    expect(server.received[0]?.headers).toMatchObject({
      authorization: `Bearer ${markedToken}`,
      host: HOST,
    });
    expect(server.received[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  test('to a host that NO_PROXY names, also by its domain, is made without the proxy', async () => {
    for (const exception of [HOST, '.example.com', `${HOST}:443`]) {
      await serve();
      const { address } = proxy;
      await connection.service.close();
      connection = connectTo(`https://${HOST}`, {
        caFile: cert,
        proxy: { address, credential: null, exceptions: [exception] },
        requestTimeoutMs: 2000,
      });
      expect((await failureFrom(ask())).code).toMatch(/SOURCE_(UNAVAILABLE|TIMEOUT)/);
      expect(proxy.requested).toEqual([]);
      await Promise.all([connection.service.close(), proxy.close(), server.close()]);
    }
  });

  test.each([403, 502])(
    'that the proxy answers %i was not sent: 6 tries, the proxy named, a line of ad spend to be sent again',
    async (status) => {
      await serve({}, status);
      const failure = await failureFrom(ask());
      expect(failure).toMatchObject({
        code: 'SOURCE_UNAVAILABLE',
        facts: { attempts: 6, because: `proxy ${status}` },
      });
      expect(failure.message).toContain(`the proxy answered ${status}`);
      const spend = await failureFrom(connection.service.submitSpend(line, connection.signal));
      expect(spend).toMatchObject({
        code: 'SOURCE_UNAVAILABLE',
        facts: { because: `proxy ${status}` },
      });
      expect(server.received).toEqual([]);
    },
  );

  test('that the proxy answers 407 is refused at the first try, with the place of its credentials', async () => {
    await serve({}, 407);
    expect(await failureFrom(ask())).toMatchObject({
      code: 'CREDENTIALS_REFUSED',
      message: textWith('the proxy answered 407'),
      hint: textWith('HTTPS_PROXY'),
    });
    expect(proxy.requested.length).toBe(1);
    const spend = await failureFrom(connection.service.submitSpend(line, connection.signal));
    expect(spend).toMatchObject({ code: 'CREDENTIALS_REFUSED' });
  });

  test.each([
    ['drop', 'ECONNRESET'],
    ['ignore', 'UND_ERR_CONNECT_TIMEOUT'],
  ] as const)(
    'through a proxy whose reaction to CONNECT is to %s it fails after 6 tries as SOURCE_UNAVAILABLE',
    async (reaction, because) => {
      await serve({ requestTimeoutMs: 400 }, reaction);
      expect(await failureFrom(ask())).toMatchObject({
        code: 'SOURCE_UNAVAILABLE',
        message: textWith(`could not reach https://${HOST}: ${because}`),
        hint: textWith('the proxy of the environment'),
        facts: { attempts: 6, because },
      });
      expect(proxy.requested.length).toBe(6);
      const spend = await failureFrom(connection.service.submitSpend(line, connection.signal));
      expect(spend).toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
      expect(proxy.requested.length).toBe(12);
    },
  );

  test('that waits for a proxy to answer CONNECT ends at once when it is stopped', async () => {
    await serve({}, 'ignore');
    const stop = new AbortController();
    const call = failureFrom(
      savePage({ ...connection, signal: stop.signal }, join(directory, 'a')),
    );
    await vi.waitFor(() => expect(proxy.requested.length).toBe(1));
    stop.abort(new Failure('DEADLINE_PASSED', 'the deadline passed'));
    expect(await call).toMatchObject({ code: 'DEADLINE_PASSED' });
    await connection.service.close();
  });

  test('through a tunnel to a host of another name, or of an unknown authority, is refused at the first try', async () => {
    await serve({ caFile: null });
    const unknown = await failureFrom(ask());
    const spend = await failureFrom(connection.service.submitSpend(line, connection.signal));
    await connection.service.close();
    const throughProxy = { address: proxy.address, credential: null, exceptions: [] };
    connection = connectTo('https://other.example.com', { caFile: cert, proxy: throughProxy });
    for (const failure of [unknown, spend, await failureFrom(ask())]) {
      expect(failure).toMatchObject({ code: 'SOURCE_UNAVAILABLE', facts: { attempts: 1 } });
      expect(failure.message).toContain('could not trust the certificate');
    }
    expect(server.received).toEqual([]);
  });
});
