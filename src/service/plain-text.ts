/** Bodies as plain bytes: small ones as text under a cap, large ones measured as they stream by. None may contain a secret. */

import { createHash } from 'node:crypto';
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

/** Room for the totals and warnings of hundreds of metrics. */
const END_BYTES = 256 * 1024;
/** Enough to distinguish pages: two pages of one report do not begin with as many bytes of the same rows. */
const HEAD_BYTES = 64 * 1024;

const NAME = '"pagination"';
/** Most members of that name that are tried from the end; rows, for example, may contain others. */
const MAX_TRIED = 20;

/** Measures a document that streams by: its size, its two ends, and that it contains no secret. */
export class PlainGauge {
  readonly #maxBytes: number;
  readonly #secrets: SecretSearch;
  bytes = 0;
  #head = Buffer.alloc(0);
  readonly #end: Buffer[] = [];
  #endBytes = 0;

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
    const room = HEAD_BYTES - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    this.#end.push(chunk);
    this.#endBytes += chunk.length;
    for (
      let first = this.#end[0];
      first !== undefined && this.#endBytes - first.length >= END_BYTES;
      [first] = this.#end
    ) {
      this.#endBytes -= first.length;
      this.#end.shift();
    }
  }

  /** The beginning of the document, without a byte order mark, and its end. */
  ends(): DocumentEnds {
    return {
      head: new TextDecoder().decode(this.#head),
      end: Buffer.concat(this.#end).subarray(-END_BYTES).toString('utf8'),
    };
  }
}

interface DocumentEnds {
  readonly head: string;
  readonly end: string;
}

/**
 * The own `pagination` of a document, parsed; its rows may contain others. Null if there is none near its end or before its
 * rows; one that stands elsewhere is found when the whole document is read.
 */
export function paginationOf({ head, end }: DocumentEnds): unknown {
  for (let at = end.lastIndexOf(NAME), tried = 0; at > 0 && tried < MAX_TRIED; tried += 1) {
    // From a name of the document itself on, the rest is an object; from a name inside one of its values it is not.
    const stated = memberOf(`{${end.slice(at)}`);
    if (stated !== undefined) return stated;
    at = end.lastIndexOf(NAME, at - 1);
  }
  const beforeRows = head.slice(0, Math.max(0, head.indexOf('"rows"'))).trimEnd();
  return memberOf(`${beforeRows.replace(/,$/, '')}}`) ?? null;
}

/** A digest that identifies the rows of a document: two pages of one report never begin with the same rows. */
export function rowsDigestOf({ head }: DocumentEnds): string {
  const to = head.lastIndexOf(NAME);
  const from = head.indexOf('"rows"');
  const beginning = head.slice(Math.max(0, from), to > from ? to : head.length);
  return createHash('sha256').update(beginning).digest('base64');
}

/** The `pagination` of a JSON object; undefined if it has none, or if the text is no JSON object. */
function memberOf(json: string): unknown {
  try {
    const document: unknown = JSON.parse(json);
    return typeof document === 'object' && document !== null && 'pagination' in document
      ? document.pagination
      : undefined;
  } catch {
    return undefined;
  }
}
