/**
 * A large body on its way to disk: saved as it came, decoded on the side only to be measured. What is legal and that not
 * every reader takes is rewritten once it is complete.
 *
 * Promises: memory does not grow with the body; what is returned is complete; after a failure no file is left behind,
 * as long as the disk can remove one.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

import type { Secret } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import { decoded, encodingOf } from './body-text.ts';
import type { Answer } from './exchange.ts';
import { HalfSurrogates } from './half-surrogates.ts';
import { PlainGauge } from './plain-gauge.ts';
import type { SavedBody } from './service.ts';
import { Setback, firstWords } from './setback.ts';

/** Private: reports are the account's business. */
const FILE_MODE = 0o600;
/** Written at once: a trip to the thread pool for every chunk of a socket takes more than the writing. */
const WRITE_BYTES = 256 * 1024;

/**
 * Saves the answer's body at a path, overwriting it. Throws `SOURCE_OVERSIZED` beyond `maxPlainBytes`, `DATA_MALFORMED`
 * for a body that holds one of the secrets, `STORAGE_FAILED` when the disk refuses, and a `Setback` for a body that is no
 * JSON object: `garbled`, or `truncated` when only its end is missing.
 */
export async function saveBody(
  answer: Answer,
  path: string,
  maxPlainBytes: number,
  secrets: readonly Secret[],
): Promise<SavedBody> {
  const encoding = encodingOf(answer);
  const gauge = new PlainGauge(maxPlainBytes, secrets);
  const saved = { bytes: 0 };
  const file = await onDisk(path, () => open(path, 'w', FILE_MODE));
  try {
    try {
      await drain(answer, file, path, saved, gauge);
    } finally {
      await onDisk(path, () => file.close());
    }
    expectObject(answer, gauge);
    return await onDisk(path, () =>
      legible(
        {
          path,
          encoding,
          bytes: saved.bytes,
          plainBytes: gauge.bytes,
          pagination: gauge.pagination,
        },
        gauge,
      ),
    );
  } catch (error) {
    // What ended the saving is worth more than a disk that does not let go of the rest.
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

async function legible(body: SavedBody, { markBytes, hasHalves }: PlainGauge): Promise<SavedBody> {
  const isAsUsual = markBytes === 0 && !hasHalves && (body.encoding === 'identity' || (await isUsualGzip(body)));
  return isAsUsual ? body : rewritePlain(body, markBytes, FILE_MODE);
}

async function drain(
  answer: Answer,
  file: FileHandle,
  path: string,
  saved: { bytes: number },
  gauge: PlainGauge,
): Promise<void> {
  async function* saving(): AsyncGenerator<Buffer, void> {
    let [waiting, bytes]: [Buffer[], number] = [[], 0];
    for await (const chunk of answer.chunks) {
      saved.bytes += chunk.length;
      bytes += chunk.length;
      waiting.push(chunk);
      if (bytes >= WRITE_BYTES) {
        const together = waiting;
        [waiting, bytes] = [[], 0];
        await onDisk(path, () => writeAll(file, together));
      }
      yield chunk;
    }
    if (waiting.length > 0) await onDisk(path, () => writeAll(file, waiting));
  }
  try {
    for await (const plain of decoded(saving(), encodingOf(answer))) gauge.see(plain);
  } catch (error) {
    // zlib calls nothing at all an unexpected end; an empty body has a verdict of its own.
    if (saved.bytes > 0 || error instanceof Failure || error instanceof Setback) throw error;
    if (!(error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR')) throw error;
  }
}

async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  let { bytesWritten: offset } = await file.writev(chunks);
  while (offset < bytes) {
    const { bytesWritten } = await file.write(Buffer.concat(chunks), offset);
    offset += bytesWritten;
  }
}

/** A disk's error is no connection's: it must not be tried again. */
async function onDisk<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure('STORAGE_FAILED', `An answer could not be saved: ${reason}`, {
      facts: { path },
      hint: 'Make room on the disk, or correct the rights of the directory.',
      cause: error,
    });
  }
}

function expectObject(answer: Answer, gauge: PlainGauge): void {
  const { status } = answer;
  if (gauge.first === null)
    throw new Setback('garbled', 'empty', `was answered ${status} with an empty body`, { status });
  if (gauge.first !== '{') {
    const message = `was answered ${status} with something that is no JSON object: ${firstWords(gauge.head)}`;
    throw new Setback('garbled', 'no object', message, { status });
  }
  if (gauge.last === '}') return;
  throw new Setback('truncated', 'truncated', `was answered with JSON that ended early, after ${gauge.bytes} bytes`, {
    status,
  });
}

/** Flags of a header that holds at most a file's name (RFC 1952); where they stand, and how long what ends a member is. */
const USUAL_FLAGS: ReadonlySet<number> = new Set([0x00, 0x08]);
const FLAGS_AT = 3;
const SIZE_BYTES = 4;
const SIZES = 2 ** 32;

/** Whether a gzip file is one member with a usual header and nothing behind it: its last bytes are its plain size then. */
async function isUsualGzip({ path, bytes, plainBytes }: SavedBody): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer: start } = await file.read(Buffer.alloc(FLAGS_AT + 1), 0, FLAGS_AT + 1, 0);
    const { buffer: end } = await file.read(Buffer.alloc(SIZE_BYTES), 0, SIZE_BYTES, bytes - SIZE_BYTES);
    return USUAL_FLAGS.has(start.readUInt8(FLAGS_AT)) && end.readUInt32LE(0) === plainBytes % SIZES;
  } finally {
    await file.close();
  }
}

/**
 * Rewrites the body in its own place, without its first `skipped` plain bytes; errors of the file system come out as
 * they are, and leave the old file alone.
 */
async function rewritePlain(body: SavedBody, skipped: number, mode: number): Promise<SavedBody> {
  const unfinished = `${body.path}.plain`;
  let bytes = 0;
  const mended = async function* (): AsyncGenerator<Buffer, void> {
    const chunks = decoded(createReadStream(body.path), body.encoding);
    for await (const piece of plainPieces(chunks, skipped)) {
      bytes += piece.length;
      yield piece;
    }
  };
  try {
    await pipeline(mended, createWriteStream(unfinished, { mode }));
    await rename(unfinished, body.path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    throw error;
  }
  return { ...body, encoding: 'identity', bytes, plainBytes: bytes };
}

async function* plainPieces(chunks: AsyncIterable<Buffer>, skipped: number): AsyncGenerator<Buffer, void> {
  const halves = new HalfSurrogates();
  let toSkip = skipped;
  for await (const chunk of chunks) {
    const piece = chunk.subarray(toSkip);
    toSkip -= chunk.length - piece.length;
    // One character a byte: escapes are ASCII, and no part of another character looks like one.
    yield Buffer.from(halves.take(piece.toString('latin1')), 'latin1');
  }
  yield Buffer.from(halves.end(), 'latin1');
}
