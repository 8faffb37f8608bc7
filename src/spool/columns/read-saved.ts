/** Reading saved bodies into columns, on whichever thread. */

import { createReadStream } from 'node:fs';
import { PassThrough, type Readable, type Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';

import type { ColumnsRead, Encoding, GaveUp, ReadRequest, SavedBytes } from './reading.ts';
import { SliceReading } from './slice-reading.ts';

const PIECE_BYTES = 256 * 1024;

/** Decompresses, or passes on. */
export const decoderOf = (encoding: Encoding): Transform =>
  encoding === 'gzip' ? createGunzip({ chunkSize: PIECE_BYTES }) : new PassThrough();

/** Whether the decompressor said that the bytes are not what they claim to be. */
const isGarbled = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');

/** Reads one body to its end, or until the reading is given up. */
export async function consume(input: Readable, reading: SliceReading): Promise<void> {
  try {
    for await (const chunk of input) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('A body came as something else than bytes.');
      if (!reading.take(chunk)) return;
    }
  } catch (error) {
    if (isGarbled(error)) reading.giveUp(`a body that is not whole gzip: ${error.message}`);
    else if (!reading.isGivenUp) throw error;
  }
  reading.endBody();
}

async function readBody({ path, encoding }: SavedBytes, reading: SliceReading): Promise<void> {
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES });
  if (encoding === 'identity') return consume(file, reading);
  const decoder = decoderOf(encoding);
  file.on('error', (error) => decoder.destroy(error));
  try {
    await consume(file.pipe(decoder), reading);
  } finally {
    file.destroy();
  }
}

/** What a reading comes to once its bodies were read; one that ends with an error leaves no file. */
export async function endingReading(reading: SliceReading, read: () => Promise<void>): Promise<ColumnsRead | GaveUp> {
  try {
    await read();
    return reading.finish();
  } catch (error) {
    reading.abandon();
    throw error;
  }
}

/** Reads the saved bodies of one answer. */
export async function readSaved(
  request: ReadRequest & { readonly bodies: readonly SavedBytes[] },
): Promise<ColumnsRead | GaveUp> {
  const reading = new SliceReading(request);
  return endingReading(reading, async () => {
    for (const body of request.bodies) await readBody(body, reading);
  });
}
