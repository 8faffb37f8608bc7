/** Answers of the simulated service, and how they are sent. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export type JsonDocument = Readonly<Record<string, unknown>>;

export interface SimulatedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for none. */
  readonly body: JsonDocument | Buffer | null;
}

/** The simulator shares its machine with its client. */
export const GZIP_LEVEL = 1;

const codesByStatus: Readonly<Record<number, string>> = {
  400: 'request_error',
  401: 'auth_error',
  403: 'auth_error',
};

export function documentAnswer(document: JsonDocument, status = 200): SimulatedAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers, body: document };
}

export function bytesAnswer(
  bytes: Buffer | string,
  contentType: string,
  status = 200,
): SimulatedAnswer {
  return { status, headers: { 'content-type': contentType }, body: Buffer.from(bytes) };
}

export const bareAnswer = (status: number): SimulatedAnswer => ({
  status,
  headers: {},
  body: null,
});

export function errorAnswer(
  status: number,
  form: 'error_code' | 'error' | 'error_message',
  message: string,
): SimulatedAnswer {
  const code = codesByStatus[status] ?? 'service_error';
  const documents = {
    error_code: { error_code: code, error_desc: message, error_desc_details: null },
    error: { error: message },
    error_message: { error: { message } },
  };
  return documentAnswer(documents[form], status);
}

export function plainBytes(body: SimulatedAnswer['body']): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(body === null ? '' : JSON.stringify(body));
}

export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: SimulatedAnswer,
): Promise<void> {
  const plain = plainBytes(body);
  const isCompressed = body !== null && acceptsGzip(request);
  const bytes = isCompressed ? await promisify(gzip)(plain, { level: GZIP_LEVEL }) : plain;
  const encoding = isCompressed ? { 'content-encoding': 'gzip' } : {};
  const length = status === 204 ? {} : { 'content-length': String(bytes.length) };
  response.writeHead(status, { ...headers, ...encoding, ...length }).end(bytes);
}

export const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  headers['accept-encoding']?.includes('gzip') === true;
