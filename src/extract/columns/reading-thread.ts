/** The thread of a column reader: reads the bodies of each request it receives, one request at a time. */

import { parentPort } from 'node:worker_threads';

import { textOf } from '../../errors.ts';
import type { ReadRequest, Reply } from './reading.ts';
import { readSaved } from './slice-reading.ts';

/** What was read, or the error that ended the reading. */
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
