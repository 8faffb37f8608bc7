/** Bodies as plain bytes, and small ones as text under a cap. */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { scrubStart, type Secret, SecretSearch } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import type { Answer } from './exchange.ts';
import { Setback } from './setback.ts';

/**
 * The whole body as text, without a byte order mark; throws `SOURCE_OVERSIZED` beyond `maxBytes` after decompression, `DATA_MALFORMED` when it
 * holds one of the secrets.
 */
export async function readText(answer: Answer, maxBytes: number, secrets: readonly Secret[]): Promise<string> {
  const search = new SecretSearch(secrets);
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decoded(answer.chunks, encodingOf(answer))) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw oversized(maxBytes);
    if (search.finds(chunk)) throw indiscreet(bytes);
    parts.push(chunk);
  }
  return Buffer.concat(parts)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}

/**
 * The beginning of a body as text, at most `maxBytes` of it. Never throws: it is read to explain an answer that is
 * already judged, and whatever part came has to do.
 */
export async function readHead(answer: Answer, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  let isWhole = false;
  try {
    for await (const chunk of decoded(answer.chunks, encodingOf(answer))) {
      parts.push(chunk.subarray(0, maxBytes - bytes));
      bytes += chunk.length;
      isWhole = bytes <= maxBytes;
      if (!isWhole) break;
    }
  } catch {
    // What came so far explains more than how its rest was lost.
    isWhole = false;
  }
  const text = Buffer.concat(parts).toString('utf8');
  return isWhole ? text : scrubStart(text);
}

/** The failure of an answer that grew beyond its cap. */
export function oversized(maxBytes: number): Failure {
  return new Failure(
    'SOURCE_OVERSIZED',
    `The answer grew beyond ${maxBytes} bytes after decompression and was cut off`,
    {
      facts: { maxBytes },
      hint: 'Ask for less at once, or raise service.max_response_bytes if such a size is to be expected.',
    },
  );
}

/** The failure of an answer that says a secret back, found after so many bytes: nothing of it may be kept. */
export function indiscreet(bytes: number): Failure {
  return new Failure(
    'DATA_MALFORMED',
    `The answer held the credential it was asked with, found within its first ${bytes} bytes, and was discarded`,
    {
      facts: { bytes },
      hint: 'Reset the token and report it to the operator of the service; a header that is no secret is stated as plain text.',
    },
  );
}

export type Encoding = 'gzip' | 'identity';

/** Fewer trips to the thread pool than with zlib's 16 KiB. */
const CHUNK_BYTES = 64 * 1024;

/** How an answer's body is encoded; throws a `garbled` setback for an encoding nobody asked for. */
export function encodingOf(answer: Answer): Encoding {
  const name = answer.header('content-encoding')?.trim().toLowerCase() ?? '';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === '' || name === 'identity') return 'identity';
  throw new Setback('garbled', 'encoding', `was answered in the encoding ${JSON.stringify(name)} instead of gzip`, {
    status: answer.status,
  });
}

/** The plain bytes of encoded chunks; throws what the chunks throw, and zlib's error for a broken or incomplete stream. */
export async function* decoded(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer, void> {
  if (encoding === 'identity') {
    yield* chunks;
    return;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // The callback only silences: the iteration below throws the same error.
  pipeline(chunks, gunzip, () => {});
  try {
    for await (const chunk of gunzip) if (Buffer.isBuffer(chunk)) yield chunk;
  } finally {
    gunzip.destroy();
  }
}
