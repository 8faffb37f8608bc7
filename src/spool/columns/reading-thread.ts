/** The thread of a column reader: takes orders, reads one answer after the other, as memory is for one, and answers. */

import { parentPort } from 'node:worker_threads';

import { textOf } from '../../errors.ts';
import { readSaved } from './slice-reading.ts';
import type { Order, Reply } from './reading.ts';

let lastRead = Promise.resolve();

/** Answers with what a reading came to, or with the error it ended with. */
async function obey(order: Order): Promise<void> {
  parentPort?.postMessage(await replyTo(order), []);
}

async function replyTo({ job, ...request }: Order): Promise<Reply> {
  try {
    return { kind: 'done', job, result: await readSaved(request) };
  } catch (error) {
    const message = textOf(error);
    const syscall = error instanceof Error && 'syscall' in error ? String(error.syscall) : null;
    return { kind: 'failed', job, message, syscall };
  }
}

parentPort?.on('message', (order: Order) => {
  lastRead = lastRead.then(async () => obey(order));
});
