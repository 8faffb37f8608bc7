/**
 * Reads bodies: large ones are saved as received and decoded only to be measured; small ones must be JSON and are checked.
 *
 * Memory does not grow with a saved body. What is returned is complete. A failure leaves no file, if the disk can remove it.
 */

import { type FileHandle, open, rm } from 'node:fs/promises';

import { parse } from 'lossless-json';
import { z } from 'zod';

import type { Secret } from '../config/secret.ts';
import { storageFailed } from '../errors.ts';
import { errorWords } from './error-words.ts';
import { type WireAnswer } from './exchange.ts';
import { firstWords, Setback } from './setback.ts';
import { decoded, encodingOf, PlainGauge, readStart, readText } from './plain-text.ts';

export interface SavedBody {
  readonly path: string;
  /** Encoding of the file's bytes, which are stored as received. */
  readonly encoding: 'gzip' | 'identity';
  readonly bytes: number;
  /** Bytes after decompression. */
  readonly plainBytes: number;
}

/** Only the owner may read reports. */
const FILE_MODE = 0o600;
/** Bytes written at once: a trip to the thread pool for every chunk of a socket takes longer than the writing. */
const WRITE_BYTES = 256 * 1024;

/**
 * Saves the answer's body at a path, overwriting it. Throws `SOURCE_OVERSIZED` beyond `maxPlainBytes`, `DATA_MALFORMED` if the
 * body contains one of the secrets, `STORAGE_FAILED` if the disk fails, and a `Setback` if the body is no JSON object:
 * `garbled`, or `truncated` if only its end is missing.
 */
export async function saveBody(
  answer: WireAnswer,
  path: string,
  maxPlainBytes: number,
  secrets: readonly Secret[],
): Promise<SavedBody> {
  const encoding = encodingOf(answer);
  const gauge = new PlainGauge(maxPlainBytes, secrets);
  const file = await onDisk(path, () => open(path, 'w', FILE_MODE));
  let bytes = 0;
  async function* saved(): AsyncGenerator<Buffer, void> {
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
  try {
    try {
      for await (const plain of decoded(saved(), encoding)) gauge.see(plain);
    } finally {
      await onDisk(path, () => file.close());
    }
    const plainBytes = gauge.bytes;
    expectObject(answer.status, { ...gauge.ends(), plainBytes });
    return { path, encoding, bytes, plainBytes };
  } catch (error) {
    // The error that ended the saving counts, even if the disk cannot remove the rest.
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

/** Writes chunks without copying them; a disk may take less than it was given. */
async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await file.writev(chunks);
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  if (bytesWritten < bytes) await file.appendFile(Buffer.concat(chunks).subarray(bytesWritten));
}

/** Turns an error of the disk into a `Failure`: unlike an error of the connection, it must not be retried. */
async function onDisk<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw storageFailed('An answer could not be saved', error, {
      facts: { path },
      hint: 'Make room on the disk, or correct the rights of the directory.',
    });
  }
}

function expectObject(
  status: number,
  {
    head,
    end,
    plainBytes,
  }: { readonly head: string; readonly end: string; readonly plainBytes: number },
): void {
  if (head.trim() === '') throw garbled(status, 'empty', 'an empty body');
  if (!head.trimStart().startsWith('{')) {
    throw garbled(status, 'no object', `something that is no JSON object: ${firstWords(head)}`);
  }
  if (end.trimEnd().endsWith('}')) return;
  const message = `was answered with JSON that ended early, after ${plainBytes} bytes`;
  throw new Setback('truncated', 'truncated', message, { status });
}

const garbled = (status: number, because: string, what: string, cause?: unknown): Setback =>
  new Setback('garbled', because, `was answered ${status} with ${what}`, { status, cause });

/** Lists of some hundred items take kilobytes, the largest catalogs a few megabytes. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;
const HEAD_BYTES = 4096;
/** Levels searched for an error: the document and its `data`. */
const ENVELOPE_LEVELS = 2;

/** No type, JSON under any of its names, or plain text, which a gateway may make of it: then the text itself decides. */
const MAY_BE_JSON = /^\s*(?:$|text\/plain\b|[^;]*json)/i;

/** Throws a `garbled` setback with the first words of the body if the stated type is something other than JSON. */
export async function expectJson(answer: WireAnswer): Promise<void> {
  const type = answer.header('content-type') ?? '';
  if (MAY_BE_JSON.test(type)) return;
  const words = firstWords((await readStart(answer, HEAD_BYTES)).text);
  const what = `${firstWords(type)} instead of JSON${words === '' ? '' : `: ${words}`}`;
  throw garbled(answer.status, 'content type', what);
}

/**
 * The answer's JSON as the schema reads it. Throws `SOURCE_OVERSIZED`, `DATA_MALFORMED` if it contains a secret, or a
 * `truncated` or `garbled` setback if it is no JSON, states an error or does not match the schema.
 */
export async function readJson<T extends z.ZodType>(
  answer: WireAnswer,
  schema: T,
  secrets: readonly Secret[],
): Promise<z.output<T>> {
  await expectJson(answer);
  const text = await readText(answer, MAX_JSON_BYTES, secrets);
  const { status } = answer;
  if (text.trim() === '') throw garbled(status, 'empty', 'an empty body');
  const document = parsed(text, status);
  // Data beside an error is what existed when the error occurred, not an answer.
  const error = errorWords(document, ENVELOPE_LEVELS);
  if (error !== null) throw garbled(status, 'error', `an error: ${error}`);
  const checked = schema.safeParse(document);
  if (checked.success) return checked.data;
  throw garbled(
    status,
    'unexpected shape',
    `JSON of another shape: ${firstWords(z.prettifyError(checked.error))}`,
  );
}

function parsed(text: string, status: number): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!text.trimStart().startsWith('{')) {
      throw garbled(status, 'no JSON', `something that is no JSON: ${firstWords(text)}`, cause);
    }
    const message = `was answered ${status} with broken JSON of ${text.length} characters`;
    throw new Setback('truncated', 'truncated', message, { status, cause });
  }
}

const LONG_INTEGER = /^-?\d{16,}$/;
const LONG_DIGITS = /\d{16}/;

/** Parses JSON, integers of 16 or more digits as strings; throws if it is none. The built-in parser is 3 times as fast. */
export function parseJson(document: string): unknown {
  const text = document.replace(/^\u{feff}/u, '');
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  return parse(text, null, {
    parseNumber: (number) => (LONG_INTEGER.test(number) ? number : Number(number)),
    // As the built-in parser does.
    onDuplicateKey: ({ newValue }) => newValue,
  });
}
