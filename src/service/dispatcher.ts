/** The connection pool: the only place that configures undici. */

import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { Proxy } from '../config/config.ts';
import { Failure } from '../errors.ts';

/** A network that takes longer is down; what takes minutes is the answer, not the connection. */
const CONNECT_TIMEOUT_MS = 15_000;
/** Shorter than the idle limit of usual load balancers (60 s), so that they do not hang up on a request. */
const KEEP_ALIVE_MS = 20_000;

export interface DispatcherLimits {
  /** Connections to one origin; as many as calls of all kinds together. */
  readonly connections: number;
  /** The longest deadline of a call; nothing below it may cut a call off. */
  readonly timeoutMs: number;
  readonly caFile: string | null;
  /** What connections go through but for its exceptions; null: nothing. */
  readonly proxy: Proxy | null;
}

/** Opens the pool; throws `CONFIG_INVALID` when the certificate file cannot be read. */
export function openDispatcher({ connections, timeoutMs, caFile, proxy }: DispatcherLimits): Dispatcher {
  // Half the deadline at most: an unreachable host is to be told from a slow one.
  const timeout = Math.min(CONNECT_TIMEOUT_MS, Math.max(1, Math.floor(timeoutMs / 2)));
  const connect = caFile === null ? { timeout } : { timeout, ca: [...rootCertificates, readCertificates(caFile)] };
  const limits = {
    connections,
    pipelining: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect,
  };
  if (proxy === null) return new Agent(limits);
  const { address, credential, exceptions } = proxy;
  return new EnvHttpProxyAgent({
    ...limits,
    // All of them stated: what is left out it would take from the environment itself.
    httpProxy: address,
    httpsProxy: address,
    noProxy: exceptions.join(','),
    proxyTls: connect,
    requestTls: connect,
    clientFactory: proxyPool,
    ...(credential === null ? {} : { token: credential.reveal() }),
  });
}

/** Connections to the proxy itself; an error of one bears, as `proxy`, its host and port. */
function proxyPool(proxy: URL, options: Pool.Options): Dispatcher {
  const { connect } = options;
  if (typeof connect !== 'function') return new Pool(proxy.origin, options);
  const telling: buildConnector.connector = (to, done) => {
    connect(to, (...outcome) => {
      const [error] = outcome;
      if (error !== null) Object.assign(error, { proxy: proxy.host });
      done(...outcome);
    });
  };
  return new Pool(proxy.origin, { ...options, connect: telling });
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Failure('CONFIG_INVALID', `The certificate authority file ${path} could not be read`, {
      facts: { path },
      hint: 'Correct service.ca_file, or leave it out.',
      cause,
    });
  }
}
