/** The thread of a column reader: reads the bodies of each request it receives, one request at a time. */

import { parentPort } from 'node:worker_threads';

import { systemText, textOf } from '../../errors.ts';
import type { ReadRequest, Reply } from './reading.ts';
import { readSaved } from './slice-reading.ts';

const postReply = (reply: Reply): void => parentPort?.postMessage(reply, []);

parentPort?.on('message', (request: ReadRequest) => {
  void readSaved(request).then(postReply, (error: unknown) => {
    postReply({ message: textOf(error), syscall: systemText(error, 'syscall') });
  });
});
