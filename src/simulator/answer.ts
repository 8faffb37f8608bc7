/** Answers of the simulated service, and how they are sent. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export type JsonDocument = Readonly<Record<string, unknown>>;

export type AnswerBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'document'; readonly document: JsonDocument }
  | { readonly kind: 'bytes'; readonly bytes: Buffer };

export interface SimulatedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AnswerBody;
}

/** The simulator shares its machine with its client. */
export const GZIP_LEVEL = 1;

type ErrorForm = 'error_code' | 'error' | 'error_message';

const codesByStatus: Readonly<Record<number, string>> = {
  400: 'request_error',
  401: 'auth_error',
  403: 'auth_error',
};

const errorDocuments: Readonly<
  Record<ErrorForm, (status: number, message: string) => JsonDocument>
> = {
  error_code: (status, message) => ({
    error_code: codesByStatus[status] ?? 'service_error',
    error_desc: message,
    error_desc_details: null,
  }),
  error: (_, message) => ({ error: message }),
  error_message: (_, message) => ({ error: { message } }),
};

export function documentAnswer(document: JsonDocument, status = 200): SimulatedAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: { kind: 'document', document },
  };
}

export function bytesAnswer(
  bytes: Buffer | string,
  contentType: string,
  status = 200,
): SimulatedAnswer {
  return {
    status,
    headers: { 'content-type': contentType },
    body: { kind: 'bytes', bytes: Buffer.from(bytes) },
  };
}

export function bareAnswer(status: number): SimulatedAnswer {
  return { status, headers: {}, body: { kind: 'none' } };
}

export function errorAnswer(status: number, form: ErrorForm, message: string): SimulatedAnswer {
  return documentAnswer(errorDocuments[form](status, message), status);
}

export function plainBytes(body: AnswerBody): Buffer {
  if (body.kind === 'bytes') return body.bytes;
  return Buffer.from(body.kind === 'none' ? '' : JSON.stringify(body.document));
}

export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: SimulatedAnswer,
): Promise<void> {
  const { status, headers, body } = answer;
  if (body.kind === 'none') {
    response
      .writeHead(status, status === 204 ? headers : { ...headers, 'content-length': '0' })
      .end();
    return;
  }
  const plain = plainBytes(body);
  const isCompressed = acceptsGzip(request);
  const bytes = isCompressed ? await promisify(gzip)(plain, { level: GZIP_LEVEL }) : plain;
  const encoding = isCompressed ? { 'content-encoding': 'gzip' } : {};
  response
    .writeHead(status, { ...headers, ...encoding, 'content-length': String(bytes.length) })
    .end(bytes);
}

export const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  headers['accept-encoding']?.includes('gzip') === true;
