/** The thread of a column reader: takes orders, reads, answers. */

import type { Transform } from 'node:stream';
import { parentPort } from 'node:worker_threads';

import { consume, decoderOf, endingReading, readSaved, SliceReading } from './slice-reading.ts';
import type { Order, Reply } from './reading.ts';

/** Where the chunks of a body go that the door hands over as they arrive. */
interface Arriving {
  readonly input: Transform;
  readonly drop: () => void;
}

const arriving = new Map<number, Arriving>();
/** Saved bodies are read one answer after the other: there is one thread, and memory for one is enough. */
let lastRead = Promise.resolve();

const answer = (reply: Reply): void => parentPort?.postMessage(reply, []);

/** Answers with what a reading came to, or with the error it ended with. */
async function perform(job: number, read: () => ReturnType<typeof readSaved>): Promise<void> {
  try {
    answer({ kind: 'done', job, result: await read() });
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
      lastRead = lastRead.then(async () => perform(job, async () => readSaved(order)));
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
  await perform(order.job, async () => {
    const reading = new SliceReading(order);
    arriving.set(order.job, {
      input,
      drop: () => {
        reading.giveUp('dropped');
        input.destroy();
      },
    });
    return endingReading(reading, async () => consume(input, reading));
  });
  arriving.delete(order.job);
}

parentPort?.on('message', obey);
