/** Reads answers into Parquet files, larger ones in a thread. */

import { Worker } from 'node:worker_threads';

import { secretForms } from '../../config/secret.ts';
import { onDisk } from '../spool.ts';
import type { BodyHead, ColumnsRead, ReadRequest, Reply, SavedBytes } from './reading.ts';

export interface ColumnReader {
  readonly read: (request: ReadRequest) => Promise<ColumnsRead>;
  /** Reads a small body on the caller's thread. Throws `STORAGE_FAILED`. */
  readonly readHead: (body: SavedBytes) => Promise<BodyHead>;
  /** Ends the thread. Readings under way are rejected and may leave their files behind. */
  readonly close: () => Promise<void>;
}

/** Read on the caller's thread before another is worth its start. A usual night has no more. */
const MAX_BYTES_HERE = 2 * 1024 * 1024;

/** The bundler changes imports, but not URLs. */
const threadFile = new URL(
  `./reading-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`,
  import.meta.url,
);

/** The thread starts once there is enough to read, and keeps the process alive only during a reading. */
export function openColumnReader(): ColumnReader {
  let worker: Worker | null = null;
  let bytesHere = 0;
  let isClosed = false;
  /** The thread reads one request at a time. */
  let latest: Promise<unknown> = Promise.resolve();

  const readInThread = async (request: ReadRequest): Promise<ColumnsRead> => {
    if (isClosed) throw ended();
    const thread = worker ?? new Worker(threadFile);
    if (worker === null)
      thread.once('exit', () => {
        if (worker === thread) worker = null;
      });
    worker = thread;
    thread.ref();
    try {
      const reply = await replyOf(thread, request);
      if (!('message' in reply)) return reply;
      const { message, syscall } = reply;
      // An error that passes between threads loses the name of its system call.
      throw Object.assign(new Error(message), { syscall });
    } finally {
      thread.unref();
    }
  };

  return {
    read: async (wanted) => {
      const request = { ...wanted, secrets: secretForms() };
      const bytes = request.bodies.reduce((sum, { plainBytes }) => sum + plainBytes, 0);
      const isHere = worker === null && bytesHere + bytes <= MAX_BYTES_HERE;
      return onDisk('spool', request.to, async () => {
        if (isHere) {
          bytesHere += bytes;
          const { readSaved } = await import('./slice-reading.ts');
          return readSaved(request);
        }
        const reading = latest.then(async () => readInThread(request));
        latest = reading.catch(() => {});
        return reading;
      });
    },
    readHead: async (body) =>
      onDisk('spool', body.path, async () => {
        const { readHead } = await import('./slice-reading.ts');
        return readHead(body);
      }),
    close: async () => {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

const ended = () => new Error('The thread of the column reader ended.');

/** Rejects if the thread ends instead. */
function replyOf(worker: Worker, request: ReadRequest): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const end = (error?: unknown) => {
      reject(error instanceof Error ? error : ended());
    };
    worker.once('exit', end);
    worker.once('error', end);
    worker.once('message', (reply: Reply) => {
      worker.off('exit', end);
      worker.off('error', end);
      resolve(reply);
    });
    worker.postMessage(request, []);
  });
}
