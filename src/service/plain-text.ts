/** Bodies as plain bytes: small ones as text under a cap, large ones measured as they stream by. None may contain a secret. */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { type Secret, SecretSearch } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import { type WireAnswer } from './exchange.ts';
import { Setback } from './setback.ts';

/** The whole body as text, without BOM. Throws `SOURCE_OVERSIZED` beyond `maxBytes` decoded, `DATA_MALFORMED` for a secret. */
export async function readText(
  answer: WireAnswer,
  maxBytes: number,
  secrets: readonly Secret[],
): Promise<string> {
  const gauge = new PlainGauge(maxBytes, secrets);
  const parts: Buffer[] = [];
  for await (const chunk of decoded(answer.chunks, encodingOf(answer))) {
    gauge.see(chunk);
    parts.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

/** The beginning of a body as text, at most `maxBytes`, and whether that is all. Never throws: returns what has arrived. */
export async function readStart(
  answer: WireAnswer,
  maxBytes: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const parts: Buffer[] = [];
  let bytes = 0;
  let isWhole = true;
  try {
    for await (const chunk of decoded(answer.chunks, encodingOf(answer))) {
      parts.push(chunk.subarray(0, maxBytes - bytes));
      bytes += chunk.length;
      isWhole = bytes <= maxBytes;
      if (!isWhole) break;
    }
  } catch {
    isWhole = false;
  }
  const text = Buffer.concat(parts).toString('utf8');
  return { text, isWhole };
}

/** Larger than zlib's 16 KiB, for fewer trips to the thread pool. */
const CHUNK_BYTES = 64 * 1024;

/** The encoding of an answer's body. Throws a `garbled` setback if it was not requested. */
export function encodingOf(answer: WireAnswer): 'gzip' | 'identity' {
  const name = answer.header('content-encoding')?.trim().toLowerCase() ?? '';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === '' || name === 'identity') return 'identity';
  throw new Setback(
    'garbled',
    'encoding',
    `was answered in the encoding ${JSON.stringify(name)} instead of gzip`,
    {
      status: answer.status,
    },
  );
}

/** The plain bytes of encoded chunks. Throws what the chunks throw, and zlib's error if the stream is broken or incomplete. */
export function decoded(
  chunks: AsyncIterable<Buffer>,
  encoding: 'gzip' | 'identity',
): AsyncIterable<Buffer> {
  return encoding === 'identity' ? chunks : decompressed(chunks);
}

async function* decompressed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  let received = 0;
  async function* counted(): AsyncGenerator<Buffer, void> {
    for await (const chunk of chunks) {
      received += chunk.length;
      yield chunk;
    }
  }
  // The callback only silences: the iteration below throws the same error.
  pipeline(counted(), gunzip, () => {});
  try {
    for await (const chunk of gunzip) if (Buffer.isBuffer(chunk)) yield chunk;
  } catch (error) {
    // zlib reports an unexpected end if there are no bytes at all.
    const isEmptyBody =
      received === 0 && error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR';
    if (!isEmptyBody) throw error;
  } finally {
    gunzip.destroy();
  }
}

/** Enough to see how a document begins and ends, and to quote its first words. */
const END_BYTES = 4096;

/** Measures a document that streams by: its size, its two ends, and that it contains no secret. */
export class PlainGauge {
  readonly #maxBytes: number;
  readonly #secrets: SecretSearch;
  bytes = 0;
  #head = Buffer.alloc(0);
  #end = Buffer.alloc(0);

  constructor(maxBytes: number, secrets: readonly Secret[]) {
    this.#maxBytes = maxBytes;
    this.#secrets = new SecretSearch(secrets);
  }

  /** Takes the next plain bytes. Throws `SOURCE_OVERSIZED` beyond the cap, and `DATA_MALFORMED` once they complete a secret. */
  see(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#maxBytes) {
      const message = `The answer grew beyond ${this.#maxBytes} bytes after decompression and was cut off`;
      throw new Failure('SOURCE_OVERSIZED', message, {
        facts: { maxBytes: this.#maxBytes },
        hint: 'Request less at once, or raise service.max_response_bytes if answers of this size are expected.',
      });
    }
    if (this.#secrets.finds(chunk)) {
      const message = `The answer contained the credential of the request, found within its first ${this.bytes} bytes, and was discarded`;
      throw new Failure('DATA_MALFORMED', message, {
        facts: { bytes: this.bytes },
        hint: 'Reset the token and report it to the operator of the service; state a header that is no secret as plain text.',
      });
    }
    const room = END_BYTES - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    this.#end = Buffer.concat([this.#end, chunk.subarray(-END_BYTES)]).subarray(-END_BYTES);
  }

  /** The beginning of the document, without a byte order mark, and its end. */
  ends(): { readonly head: string; readonly end: string } {
    return { head: new TextDecoder().decode(this.#head), end: this.#end.toString('utf8') };
  }
}
