/** Bodies as plain bytes: decoded, small ones as text under a cap, large ones measured as they flow by; none holds a secret. */

import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { scrubStart, type Secret, SecretSearch } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import { type Answer } from './exchange.ts';
import { Setback } from './setback.ts';
import { PaginationScan } from './pagination-scan.ts';

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
  return new TextDecoder().decode(Buffer.concat(parts));
}

/** What was read of a body: all of it, less than it holds, what came before it was lost, or what of it could be decoded. */
export interface BodyStart {
  readonly text: string;
  readonly ending: 'whole' | 'longer' | 'cut' | 'unreadable';
}

/** The beginning of a body as text, at most `maxBytes` of it. Never throws; the text may end in half a secret. */
export async function readStart(answer: Answer, maxBytes: number): Promise<BodyStart> {
  const parts: Buffer[] = [];
  let received = 0;
  let bytes = 0;
  let ending: BodyStart['ending'] = 'whole';
  async function* counted(): AsyncGenerator<Buffer, void> {
    for await (const chunk of answer.chunks) {
      received += chunk.length;
      yield chunk;
    }
  }
  try {
    for await (const chunk of decoded(counted(), encodingOf(answer))) {
      parts.push(chunk.subarray(0, maxBytes - bytes));
      bytes += chunk.length;
      if (bytes > maxBytes) {
        ending = 'longer';
        break;
      }
    }
  } catch (error) {
    const isUnreadable = error instanceof Setback || zlibCode(error) !== null;
    // zlib calls nothing at all an unexpected end.
    const isEmpty = received === 0 && zlibCode(error) === 'Z_BUF_ERROR';
    ending = isEmpty ? 'whole' : isUnreadable ? 'unreadable' : 'cut';
  }
  return { text: Buffer.concat(parts).toString('utf8'), ending };
}

/**
 * The beginning of a body as text, at most `maxBytes` of it. Never throws: it is read to explain an answer that is
 * already judged, and whatever part came has to do.
 */
export async function readHead(answer: Answer, maxBytes: number): Promise<string> {
  const { text, ending } = await readStart(answer, maxBytes);
  return ending === 'whole' ? text : scrubStart(text);
}

function zlibCode(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('Z_') ? code : null;
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
export function encodingOf(answer: Answer): Encoding {
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
  // The callback only silences: the iteration below throws the same error.
  pipeline(chunks, gunzip, () => {});
  try {
    for await (const chunk of gunzip) if (Buffer.isBuffer(chunk)) yield chunk;
  } finally {
    gunzip.destroy();
  }
}

/** Enough to show what came instead of a document. */
const HEAD_BYTES = 1024;

const BLANKS = new Set(Buffer.from(' \t\r\n'));

/** What has to be known of a document that flows by: its size, its ends, whether it goes on, and that it holds no secret. */
export class PlainGauge {
  readonly #maxBytes: number;
  readonly #secrets: SecretSearch;
  readonly #pages = new PaginationScan();
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #bytes = 0;
  #first: string | null = null;
  #last: string | null = null;

  constructor(maxBytes: number, secrets: readonly Secret[]) {
    this.#maxBytes = maxBytes;
    this.#secrets = new SecretSearch(secrets);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The first character that is not blank; null for a blank document. */
  get first(): string | null {
    return this.#first;
  }

  /** The last character that is not blank; null for a blank document. */
  get last(): string | null {
    return this.#last;
  }

  /** What the document says of further pages, parsed; null when it says nothing, undefined when it may say so before its end. */
  get pagination(): unknown {
    return this.#pages.found;
  }

  /** The beginning of the document. */
  get head(): string {
    const text = Buffer.concat(this.#head).toString('utf8');
    return this.#bytes > this.#headBytes ? scrubStart(text) : text;
  }

  /** Takes the next plain bytes; throws `SOURCE_OVERSIZED` beyond the cap, `DATA_MALFORMED` at the end of a secret. */
  see(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) throw oversized(this.#maxBytes);
    if (this.#secrets.finds(chunk)) throw indiscreet(this.#bytes);
    this.#pages.see(chunk);
    if (this.#headBytes < HEAD_BYTES) {
      // A copy: a slice would keep the whole chunk in memory.
      const part = Buffer.from(chunk.subarray(0, HEAD_BYTES - this.#headBytes));
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    // One character a byte: blanks are ASCII, and no part of another character looks like them. A byte order mark is skipped, too.
    this.#first ??= /[^ \t\r\n\xef\xbb\xbf]/.exec(chunk.toString('latin1'))?.[0] ?? null;
    const end = endOf(chunk);
    if (end > 0) this.#last = String.fromCharCode(chunk[end - 1] ?? 0);
  }
}

/** The position after the last byte that is not blank; 0 when all are. */
function endOf(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0 && BLANKS.has(bytes[end - 1] ?? 0)) end -= 1;
  return end;
}
