/** Bodies as plain bytes: decoded, small ones as text under a cap, large ones measured as they flow by; none holds a secret. */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { scrubStart, type Secret, SecretSearch } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import { type WireAnswer } from './exchange.ts';
import { Setback } from './setback.ts';
import { PaginationScan } from './pagination-scan.ts';

/**
 * The whole body as text, without a byte order mark; throws `SOURCE_OVERSIZED` beyond `maxBytes` after decompression, `DATA_MALFORMED` when it
 * holds one of the secrets.
 */
export async function readText(answer: WireAnswer, maxBytes: number, secrets: readonly Secret[]): Promise<string> {
  const search = new SecretSearch(secrets);
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decoded(answer.chunks, encodingOf(answer))) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw oversized(maxBytes);
    if (search.finds(chunk)) throw indiscreet(bytes);
    parts.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

/** The beginning of a body, and whether that is all of it. */
interface BodyStart {
  readonly text: string;
  readonly isWhole: boolean;
}

/** The beginning of a body as text, at most `maxBytes` of it. Never throws; the text may end in half a secret. */
export async function readStart(answer: WireAnswer, maxBytes: number): Promise<BodyStart> {
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
  return { text: Buffer.concat(parts).toString('utf8'), isWhole };
}

/**
 * The beginning of a body as text, at most `maxBytes` of it. Never throws: it is read to explain an answer that is
 * already judged, and whatever part came has to do.
 */
export async function readHead(answer: WireAnswer, maxBytes: number): Promise<string> {
  const { text, isWhole } = await readStart(answer, maxBytes);
  return isWhole ? text : scrubStart(text);
}

/** The failure of an answer that grew beyond its cap. */
function oversized(maxBytes: number): Failure {
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
function indiscreet(bytes: number): Failure {
  return new Failure(
    'DATA_MALFORMED',
    `The answer held the credential it was asked with, found within its first ${bytes} bytes, and was discarded`,
    {
      facts: { bytes },
      hint: 'Reset the token and report it to the operator of the service; a header that is no secret is stated as plain text.',
    },
  );
}

type Encoding = 'gzip' | 'identity';

/** Fewer trips to the thread pool than with zlib's 16 KiB. */
const CHUNK_BYTES = 64 * 1024;

/** How an answer's body is encoded; throws a `garbled` setback for an encoding nobody asked for. */
export function encodingOf(answer: WireAnswer): Encoding {
  const name = answer.header('content-encoding')?.trim().toLowerCase() ?? '';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === '' || name === 'identity') return 'identity';
  throw new Setback('garbled', 'encoding', `was answered in the encoding ${JSON.stringify(name)} instead of gzip`, {
    status: answer.status,
  });
}

/** The plain bytes of encoded chunks; throws what the chunks throw, and zlib's error for a broken or incomplete stream. */
export function decoded(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncIterable<Buffer> {
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
    // zlib calls nothing at all an unexpected end.
    const isEmptyBody = received === 0 && error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR';
    if (!isEmptyBody) throw error;
  } finally {
    gunzip.destroy();
  }
}

/** Enough to show what came instead of a document. */
const HEAD_BYTES = 1024;
/** Blanks are ASCII, and no part of another character looks like them. */
const BLANKS = new Set(Buffer.from(' \t\r\n'));

/** What has to be known of a document that flows by: its size, its ends, whether it goes on, and that it holds no secret. */
export class PlainGauge {
  readonly #maxBytes: number;
  readonly #secrets: SecretSearch;
  readonly pages = new PaginationScan();
  bytes = 0;
  /** The last byte that is not blank; null for a blank document. */
  lastByte: number | null = null;
  #head = Buffer.alloc(0);

  constructor(maxBytes: number, secrets: readonly Secret[]) {
    this.#maxBytes = maxBytes;
    this.#secrets = new SecretSearch(secrets);
  }

  /** The beginning of the document, without a byte order mark. */
  get head(): string {
    const text = new TextDecoder().decode(this.#head);
    return this.bytes > this.#head.length ? scrubStart(text) : text;
  }

  /** Takes the next plain bytes; throws `SOURCE_OVERSIZED` beyond the cap, `DATA_MALFORMED` at the end of a secret. */
  see(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#maxBytes) throw oversized(this.#maxBytes);
    if (this.#secrets.finds(chunk)) throw indiscreet(this.bytes);
    this.pages.see(chunk);
    const room = HEAD_BYTES - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    this.lastByte = chunk.findLast((byte) => !BLANKS.has(byte)) ?? this.lastByte;
  }
}
