/** Reads bodies: large ones are saved as received and decoded only to be measured, small ones are checked JSON. */

import { type FileHandle, open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

import { parse } from 'lossless-json';
import { z } from 'zod';

import { secretForms } from '../config/secret.ts';
import { Failure, storageFailed, systemText } from '../errors.ts';
import { errorWords, firstWords } from './error-words.ts';
import { type WireAnswer } from './exchange.ts';
import { Setback } from './setback.ts';

export interface SavedBody {
  readonly path: string;
  readonly encoding: 'gzip' | 'identity';
  readonly bytes: number;
  readonly plainBytes: number;
}

const FILE_MODE = 0o600;
/** A trip to the thread pool for every chunk of a socket takes longer than the writing. */
const WRITE_BYTES = 256 * 1024;
/** Enough to see how a document begins and ends, and to quote its first words. */
const END_BYTES = 4096;

/**
 * Memory does not grow with the body. Throws `SOURCE_OVERSIZED`, `STORAGE_FAILED`, or a `Setback` if it is not a JSON object:
 * `truncated` if only its end is missing. Leaves no file then.
 */
export async function saveBody(
  answer: WireAnswer,
  path: string,
  maxPlainBytes: number,
): Promise<SavedBody> {
  const { status } = answer;
  const encoding = encodingOf(answer);
  const file = await onDisk(path, () => open(path, 'w', FILE_MODE));
  let bytes = 0;
  async function* saved() {
    let waiting: Buffer[] = [];
    for await (const chunk of answer.chunks) {
      waiting.push(chunk);
      bytes += chunk.length;
      if (waiting.reduce((sum, { length }) => sum + length, 0) >= WRITE_BYTES) {
        await onDisk(path, () => writeAll(file, waiting));
        waiting = [];
      }
      yield chunk;
    }
    await onDisk(path, () => writeAll(file, waiting));
  }
  let plainBytes = 0;
  let [start, end] = [Buffer.alloc(0), Buffer.alloc(0)];
  try {
    try {
      for await (const plain of decoded(saved(), encoding)) {
        plainBytes += plain.length;
        if (plainBytes > maxPlainBytes) throw oversized(maxPlainBytes);
        const room = END_BYTES - start.length;
        if (room > 0) start = Buffer.concat([start, plain.subarray(0, room)]);
        end = Buffer.concat([end, plain.subarray(-END_BYTES)]).subarray(-END_BYTES);
      }
    } finally {
      await onDisk(path, () => file.close());
    }
    const text = new TextDecoder().decode(start).trimStart();
    if (text === '') throw garbled(status, 'empty', 'an empty body');
    if (!text.startsWith('{')) {
      const what = `something that is not a JSON object: ${firstWords(text)}`;
      throw garbled(status, 'no object', what);
    }
    if (!end.toString('utf8').trimEnd().endsWith('}')) {
      const message = `was answered with JSON that ended early, after ${plainBytes} bytes`;
      throw new Setback('truncated', 'truncated', message, { status });
    }
    return { path, encoding, bytes, plainBytes };
  } catch (error) {
    // The error that ended the saving counts, even if the disk cannot remove the rest.
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

/** Writes chunks without copying them. A disk may take less than it was given. */
async function writeAll(file: FileHandle, chunks: readonly Buffer[]) {
  const { bytesWritten } = await file.writev(chunks);
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  if (bytesWritten < bytes) await file.appendFile(Buffer.concat(chunks).subarray(bytesWritten));
}

/** Makes an error of the disk a `Failure`: unlike one of the connection, it must not be retried. */
async function onDisk<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw storageFailed('An answer could not be saved', error, {
      facts: { path },
      hint: 'Free space on the disk, or fix the rights of the directory.',
    });
  }
}

function oversized(maxBytes: number) {
  const message = `The answer grew beyond ${maxBytes} bytes after decompression and was cut off`;
  return new Failure('SOURCE_OVERSIZED', message, {
    facts: { maxBytes },
    hint: 'Request less at once, or raise service.max_response_bytes if answers of this size are expected.',
  });
}

/** Fewer trips to the thread pool than with zlib's 16 KiB. */
const CHUNK_BYTES = 64 * 1024;

function encodingOf(answer: WireAnswer): SavedBody['encoding'] {
  const name = answer.header('content-encoding')?.trim().toLowerCase() ?? '';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === '' || name === 'identity') return 'identity';
  const message = `was answered in the encoding ${JSON.stringify(name)} instead of gzip`;
  throw new Setback('garbled', 'encoding', message, { status: answer.status });
}

async function* decoded(chunks: AsyncIterable<Buffer>, encoding: SavedBody['encoding']) {
  if (encoding === 'identity') {
    yield* chunks;
    return;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // The callback only silences: the iteration below throws the same error.
  pipeline(chunks, gunzip, () => {});
  try {
    for await (const chunk of gunzip) if (Buffer.isBuffer(chunk)) yield chunk;
  } catch (error) {
    // zlib reports an unexpected end if there are no bytes at all.
    if (systemText(error, 'code') !== 'Z_BUF_ERROR' || gunzip.bytesWritten > 0) throw error;
  } finally {
    gunzip.destroy();
  }
}

/** Never throws: returns what has arrived. */
export async function readStart(answer: WireAnswer, maxBytes: number) {
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

const garbled = (status: number, because: string, what: string, cause?: unknown) =>
  new Setback('garbled', because, `was answered ${status} with ${what}`, { status, cause });

/** The largest catalogs take a few megabytes. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;
/** The levels searched for an error: the document and its `data`. */
const ENVELOPE_LEVELS = 2;

/** No type, JSON under any of its names, or plain text, which a gateway may make of it. */
const MAY_BE_JSON = /^\s*(?:$|text\/plain\b|[^;]*json)/i;

export async function expectJson(answer: WireAnswer): Promise<void> {
  const type = answer.header('content-type') ?? '';
  if (MAY_BE_JSON.test(type)) return;
  const words = firstWords((await readStart(answer, END_BYTES)).text);
  const quote = words === '' ? '' : `: ${words}`;
  throw garbled(answer.status, 'content type', `${firstWords(type)} instead of JSON${quote}`);
}

/** Throws `SOURCE_OVERSIZED`, `DATA_MALFORMED` for a secret, and a setback for anything but JSON of the schema. */
export async function readJson<T extends z.ZodType>(
  answer: WireAnswer,
  schema: T,
): Promise<z.output<T>> {
  await expectJson(answer);
  const { status } = answer;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of decoded(answer.chunks, encodingOf(answer))) {
    bytes += chunk.length;
    if (bytes > MAX_JSON_BYTES) throw oversized(MAX_JSON_BYTES);
    parts.push(chunk);
  }
  // Decoded without a byte order mark.
  const text = new TextDecoder().decode(Buffer.concat(parts));
  if (text.trim() === '') throw garbled(status, 'empty', 'an empty body');
  if (secretForms().some((form) => text.includes(form))) {
    throw new Failure('DATA_MALFORMED', 'The answer contained a credential and was discarded', {
      hint: 'Reset the credential and report it to the operator of the service; state a header that is no secret as plain text.',
    });
  }
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (cause) {
    if (!text.trimStart().startsWith('{')) {
      throw garbled(status, 'no JSON', `something that is not JSON: ${firstWords(text)}`, cause);
    }
    const message = `was answered ${status} with broken JSON of ${text.length} characters`;
    throw new Setback('truncated', 'truncated', message, { status, cause });
  }
  // Data beside an error is what existed when the error occurred, not an answer.
  const error = errorWords(document, ENVELOPE_LEVELS);
  if (error !== null) throw garbled(status, 'error', `an error: ${error}`);
  const checked = schema.safeParse(document);
  if (checked.success) return checked.data;
  const words = firstWords(z.prettifyError(checked.error));
  throw garbled(status, 'unexpected shape', `JSON of another shape: ${words}`);
}

const LONG_INTEGER = /^-?\d{16,}$/;
const LONG_DIGITS = /\d{16}/;

/** Parses JSON, but keeps integers of 16 or more digits as strings. The built-in parser is 3 times as fast. */
export function parseJson(document: string): unknown {
  const text = document.replace(/^\u{feff}/u, '');
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  return parse(text, null, {
    parseNumber: (number) => (LONG_INTEGER.test(number) ? number : Number(number)),
    // As the built-in parser does.
    onDuplicateKey: ({ newValue }) => newValue,
  });
}
