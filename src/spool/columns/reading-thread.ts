/** The thread of a column reader: takes orders, reads, answers. */

import { createReadStream } from 'node:fs';
import { PassThrough, type Readable, type Transform } from 'node:stream';
import { parentPort } from 'node:worker_threads';
import { createGunzip } from 'node:zlib';

import type { Encoding, Order, Reply, SavedBytes } from './reading.ts';
import { SliceReading } from './slice-reading.ts';

const PIECE_BYTES = 256 * 1024;

/** Where the chunks of a body go that the door hands over as they arrive. */
interface Arriving {
  readonly input: Transform;
  readonly drop: () => void;
}

const arriving = new Map<number, Arriving>();
/** Saved bodies are read one answer after the other: there is one thread, and memory for one is enough. */
let lastRead = Promise.resolve();

const answer = (reply: Reply): void => parentPort?.postMessage(reply, []);

/** Decompresses, or passes on. */
const decoderOf = (encoding: Encoding): Transform =>
  encoding === 'gzip' ? createGunzip({ chunkSize: PIECE_BYTES }) : new PassThrough();

/** Whether the decompressor said that the bytes are not what they claim to be. */
const isGarbled = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');

/** Reads one body to its end, or until the reading is given up. */
async function consume(input: Readable, reading: SliceReading): Promise<void> {
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

async function readSaved({ path, encoding }: SavedBytes, reading: SliceReading): Promise<void> {
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

/** Answers with what the work makes of a new reading, or with the error it ended with. */
async function perform(
  job: number,
  begin: () => SliceReading,
  work: (reading: SliceReading) => Promise<void>,
): Promise<void> {
  try {
    const reading = begin();
    try {
      await work(reading);
      answer({ kind: 'done', job, result: reading.finish() });
    } catch (error) {
      reading.abandon();
      throw error;
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const syscall = error instanceof Error && 'syscall' in error ? String(error.syscall) : null;
    answer({ kind: 'failed', job, message, syscall });
  }
}

function obey(order: Order): void {
  const { job } = order;
  switch (order.kind) {
    case 'read':
      lastRead = lastRead.then(async () =>
        perform(
          job,
          () => new SliceReading(order),
          async (reading) => {
            for (const body of order.bodies) await readSaved(body, reading);
          },
        ),
      );
      break;
    case 'begin':
      void begin(order);
      break;
    case 'chunk':
      arriving.get(job)?.input.write(order.bytes, () => answer({ kind: 'taken', job, bytes: order.bytes.length }));
      break;
    case 'end':
      arriving.get(job)?.input.end();
      break;
    case 'drop':
      arriving.get(job)?.drop();
      break;
  }
}

async function begin(order: Extract<Order, { kind: 'begin' }>): Promise<void> {
  const input = decoderOf(order.encoding);
  // Whoever reads the body is told; without a listener the thread would end.
  input.on('error', () => {});
  const start = (): SliceReading => {
    const reading = new SliceReading(order);
    arriving.set(order.job, {
      input,
      drop: () => {
        reading.giveUp('dropped');
        input.destroy();
      },
    });
    return reading;
  };
  await perform(order.job, start, async (reading) => consume(input, reading));
  arriving.delete(order.job);
}

parentPort?.on('message', obey);
