/**
 * A saved body that is legal and that not every reader takes: with a byte order mark, halves of characters, or a gzip
 * stream of more than the usual header and one member. It is written anew, uncompressed and without them.
 */

import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

import { decoded } from './decoded.ts';
import { HalfSurrogates } from './half-surrogates.ts';
import type { SavedBody } from './service.ts';

/** Flags of a header that holds at most a file's name (RFC 1952); where they stand, and how long what ends a member is. */
const USUAL_FLAGS: ReadonlySet<number> = new Set([0x00, 0x08]);
const FLAGS_AT = 3;
const SIZE_BYTES = 4;
const SIZES = 2 ** 32;

/** Whether a gzip file is one member with a usual header and nothing behind it: its last bytes are its plain size then. */
export async function isUsualGzip({ path, bytes, plainBytes }: SavedBody): Promise<boolean> {
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
 * Writes the body anew in its own place, without its first `skipped` plain bytes; errors of the file system come out as
 * they are, and leave the old file alone.
 */
export async function rewritePlain(body: SavedBody, skipped: number, mode: number): Promise<SavedBody> {
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
