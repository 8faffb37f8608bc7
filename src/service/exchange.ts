/** One try, with one total deadline. Hides undici and classifies whatever happens to a connection. Follows no redirects. */

import type { Readable } from 'node:stream';

import type { Dispatcher } from 'undici';

import { Failure, PROXY_CREDENTIALS, systemText, textOf } from '../errors.ts';
import { timeoutSignal } from '../model/duration.ts';
import { Setback } from './setback.ts';

export interface WireAnswer {
  readonly status: number;
  header(name: string): string | null;
  /** The body, still encoded. Can be read once. */
  readonly chunks: AsyncIterable<Buffer>;
}

/**
 * The bytes of a body that wait to be read before the connection pauses. Large, so that pauses are rare: if a connection ends
 * during one, undici's parser fails an assertion that cannot be caught.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Throws what `read` throws, a `Setback` for whatever happens to the connection, and the signal's reason, unless a write was on
 * the wire: it may have been received, and is an `unanswered` setback.
 */
export async function exchange<T>(
  { dispatcher, tally }: { readonly dispatcher: Dispatcher; readonly tally: WireTally },
  request: WireRequest,
  signal: AbortSignal,
  read: (answer: WireAnswer) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const deadline = timeoutSignal(request.deadlineMs);
  const ended = AbortSignal.any([signal, deadline]);
  // undici heeds a signal only once there is a connection.
  let abort = (): void => {};
  const abortion = new Promise<never>((_, reject) => {
    abort = () => reject(ended.reason);
    ended.addEventListener('abort', abort);
  });
  let isAnswered = false;
  try {
    const { origin, target, method, headers, body } = request;
    const response = await Promise.race([
      abortion,
      dispatcher.request({
        origin,
        path: target,
        method,
        headers: { ...headers },
        body,
        signal: ended,
        highWaterMark: MAX_WAITING_BYTES,
      }),
    ]);
    isAnswered = true;
    // A body that is abandoned half-way emits an error, which is ignored.
    response.body.on('error', () => {});
    try {
      return await read({
        status: response.statusCode,
        header: (name) => {
          const value = response.headers[name];
          return (Array.isArray(value) ? value[0] : value) ?? null;
        },
        chunks: countedChunks(response.body, tally),
      });
    } finally {
      response.body.destroy();
    }
  } catch (error) {
    // What is said of an answer counts, even if the rest of its body did not come in time.
    if (error instanceof Failure || error instanceof Setback) throw error;
    if (deadline.aborted) {
      const what = isAnswered ? 'the whole answer' : 'an answer';
      const message = `did not bring ${what} within ${request.deadlineMs / 1000} s`;
      throw new Setback('late', 'deadline', message, { cause: error });
    }
    if (signal.aborted) {
      if (request.method === 'GET') throw signal.reason;
      throw new Setback('unanswered', 'interrupted', 'was interrupted before it was answered', {
        cause: error,
      });
    }
    throw lossOf(error, request, isAnswered);
  } finally {
    ended.removeEventListener('abort', abort);
  }
}

async function* countedChunks(body: Readable, tally: WireTally) {
  for await (const chunk of body) {
    if (!Buffer.isBuffer(chunk)) continue;
    tally.bytes += chunk.length;
    yield chunk;
  }
}

const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);
/** The message of undici, whose code has many other meanings. */
const PROXY_REFUSAL = /^Proxy response \((\d+)\)/;
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/;
/** Codes of sockets, the HTTP parser and decoders. Any other error is our own mistake. */
const CONNECTION =
  /^(?:E(?!RR_)[A-Z_]+|HPE_\w+|Z_\w+|ERR_(?:SSL|TLS|STREAM)_\w+|UND_ERR_(?!INVALID|NOT_SUPPORTED)\w+)$/;

const NO_HTTP = 'INVALID_HTTP';

function lossOf(cause: unknown, request: WireRequest, isAnswered: boolean): unknown {
  // undici's HTTP/1.1 parser states only a message.
  const isOfParser = cause instanceof Error && cause.name === 'HTTPParserError';
  const code = systemText(cause, 'code') || (isOfParser ? NO_HTTP : '');
  if (CERTIFICATE.test(code)) {
    const message = `could not trust the certificate of ${request.origin}: ${code}`;
    return new Setback('untrusted', code, message, { cause });
  }
  if (code !== NO_HTTP && !CONNECTION.test(code)) return cause;
  const refusal = cause instanceof Error ? PROXY_REFUSAL.exec(cause.message)?.[1] : undefined;
  if (refusal !== undefined) {
    const message = `could not reach ${request.origin}: the proxy answered ${refusal}`;
    const kind = message.endsWith(PROXY_CREDENTIALS) ? 'proxy credentials' : 'unsent';
    return new Setback(kind, `proxy ${refusal}`, message, { cause });
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    const message = 'was answered with more headers than Node accepts (16 KiB unless set)';
    return new Setback('large headers', code, message, { cause });
  }
  const words = code === NO_HTTP ? textOf(cause) : code;
  if (isAnswered)
    return new Setback('cut', code, `broke off inside the response: ${words}`, { cause });
  if (UNSENT.has(code) || ['connect', 'getaddrinfo'].includes(systemText(cause, 'syscall')))
    return new Setback('unsent', code, `could not reach ${request.origin}: ${code}`, { cause });
  const met =
    code === NO_HTTP
      ? 'received something other than a response'
      : 'lost its connection before a response arrived';
  return new Setback('unanswered', code, `${met}: ${words}`, { cause });
}

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly deadlineMs: number;
  /** Whether no setting raises `deadlineMs`. */
  readonly isDeadlineFixed: boolean;
  /** Most tries if the service is too slow, 1 if the caller can request less instead. */
  readonly triesWhenSlow: number;
}

/** Leaves out the query, which may be long or secret. */
export const pathOf = (target: string) => target.split('?', 1)[0] ?? target;

export const endpointOf = ({ method, target }: WireRequest): string =>
  `${method} ${pathOf(target)}`;

/** Leaves commas and colons as they are: lists of hundreds of tokens must stay short. */
export function encodeQuery(parameters: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(parameters).map((pair) => pair.map(encode).join('='));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

export function withParameter(target: string, name: string, value: string): string {
  const [path = '', ...query] = target.split('?');
  const pairs = query.join('?').split('&');
  const others = pairs.filter((pair) => pair !== '' && !new URLSearchParams(pair).has(name));
  return `${path}?${[...others, `${encode(name)}=${encode(value)}`].join('&')}`;
}

function encode(text: string) {
  return encodeURIComponent(text).replaceAll('%2C', ',').replaceAll('%3A', ':');
}

export interface WireTally {
  requests: number;
  retries: number;
  bytes: number;
  /** The service's clock minus this machine's, to the second. */
  skewMs: number | null;
  lastSetback: string | null;
}
