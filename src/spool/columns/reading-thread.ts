/** The thread of a column reader: reads an answer each time it is sent a request, one at a time. */

import { parentPort } from 'node:worker_threads';

import { textOf } from '../../errors.ts';
import type { ReadRequest, Reply } from './reading.ts';
import { readSaved } from './slice-reading.ts';

/** What was read, or the error that the reading ended with. */
async function replyTo(request: ReadRequest): Promise<Reply> {
  try {
    return { kind: 'done', result: await readSaved(request) };
  } catch (error) {
    const syscall = error instanceof Error && 'syscall' in error ? String(error.syscall) : null;
    return { kind: 'failed', message: textOf(error), syscall };
  }
}

parentPort?.on('message', (request: ReadRequest) => {
  void replyTo(request).then((reply) => parentPort?.postMessage(reply, []));
});
