/** The only place that configures undici. */

import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { Proxy } from '../config/config.ts';
import { Failure, systemText } from '../errors.ts';
import { timeoutSignal } from '../model/duration.ts';

/** A network that takes longer is down. Only an answer may take minutes. */
const CONNECT_TIMEOUT_MS = 15_000;
/** Shorter than the idle limit of usual load balancers (60 s), so that they do not hang up on a request. */
const KEEP_ALIVE_MS = 20_000;

/** Throws `CONFIG_INVALID` if the certificate file cannot be read. */
export function openDispatcher(
  connections: number,
  timeoutMs: number,
  caFile: string | null,
  proxy: Proxy | null,
): Dispatcher {
  // At most half the deadline, so that an unreachable host can be distinguished from a slow one.
  const timeout = Math.min(CONNECT_TIMEOUT_MS, Math.max(1, Math.floor(timeoutMs / 2)));
  const connect = { timeout, ...(caFile === null ? {} : { ca: readCertificates(caFile) }) };
  const limits = {
    connections,
    pipelining: 1,
    // Each request has one deadline of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect,
  };
  if (proxy === null) return new Agent(limits);
  const { address, credential, exceptions } = proxy;
  return new EnvHttpProxyAgent({
    ...limits,
    // All are stated: undici reads those that are left out from the environment.
    httpProxy: address,
    httpsProxy: address,
    noProxy: exceptions.join(','),
    proxyTls: connect,
    requestTls: connect,
    factory: (origin: string | URL, options: object) => tunnelPool(origin, options, timeout),
    ...(credential === null ? {} : { token: credential.reveal() }),
  });
}

/**
 * Opens the tunnels to one origin. Without the errors made here, undici would repeat a CONNECT whose connection closes for as
 * long as a request waits for it, and wait for its answer without limit.
 */
function tunnelPool(origin: string | URL, options: Pool.Options, timeoutMs: number) {
  const { connect } = options;
  // A host that is reached without the proxy.
  if (typeof connect !== 'function') return new Pool(origin, options);
  const limited: buildConnector.connector = (to, done) => {
    const signal = timeoutSignal(timeoutMs);
    const connecting = { ...to, signal };
    connect(connecting, (...outcome) => {
      const [cause] = outcome;
      const isLate = signal.aborted && cause === signal.reason;
      const isClosed = systemText(cause, 'code') === 'UND_ERR_SOCKET';
      if (!isLate && !isClosed) return done(...outcome);
      const code = isLate ? 'UND_ERR_CONNECT_TIMEOUT' : 'ECONNRESET';
      done(Object.assign(new Error(code, { cause }), { code, syscall: 'connect' }), null);
    });
  };
  return new Pool(origin, { ...options, connect: limited });
}

function readCertificates(path: string) {
  try {
    return [...rootCertificates, readFileSync(path, 'utf8')];
  } catch (cause) {
    const message = `The certificate authority file ${path} could not be read`;
    throw new Failure('CONFIG_INVALID', message, {
      facts: { path },
      hint: 'Correct service.ca_file, or leave it out.',
      cause,
    });
  }
}
