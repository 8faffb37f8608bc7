/** A body's plain bytes, decoded as they come, with backpressure all the way down to the socket. */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Answer } from './exchange.ts';
import { Setback } from './setback.ts';

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
