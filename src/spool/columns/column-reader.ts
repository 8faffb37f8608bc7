/**
 * The way of an answer into the warehouse: report JSON to Parquet, larger ones in a thread of its own.
 *
 * Cells are read into the types of their columns, exactly. A row with a cell that no wider column would take is there with its
 * reasons; numbers that a wider one would take are counted, and the answer is to be read again into that.
 */

import { Worker } from 'node:worker_threads';

import { onDisk } from '../spool.ts';
import type { ColumnsRead, ReadRequest, Reply } from './reading.ts';

export interface ColumnReader {
  /** Reads the saved bodies of one answer. Throws `STORAGE_FAILED` when the disk refuses. */
  readonly read: (request: ReadRequest) => Promise<ColumnsRead>;
  /** Ends the thread; readings that are under way are rejected, and may leave their file behind. */
  readonly close: () => Promise<void>;
}

/** Bytes that are read on the caller's thread until one of its own is worth its start: a usual night has no more. */
const MAX_BYTES_HERE = 2 * 1024 * 1024;

/** TypeScript runs from `src` and JavaScript from `dist`; the compiler changes imports, but no addresses. */
const thread = new URL(`./reading-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/**
 * A column reader; its thread starts once there is more to read than its start takes, and keeps the process alive only while
 * a reading is under way.
 */
export function openColumnReader(): ColumnReader {
  let worker: Worker | null = null;
  let bytesHere = 0;
  let isClosed = false;
  /** Settles after the latest reading of the thread, which reads one at a time. */
  let latest: Promise<unknown> = Promise.resolve();

  const started = (): Worker => {
    if (worker !== null) return worker;
    const starting = new Worker(thread);
    starting.once('exit', () => {
      if (worker === starting) worker = null;
    });
    worker = starting;
    return starting;
  };
  const readInThread = async (request: ReadRequest): Promise<ColumnsRead> => {
    if (isClosed) throw ended();
    const answering = started();
    answering.ref();
    try {
      const reply = await replyOf(answering, request);
      if (reply.kind === 'done') return reply.result;
      // The name of the system call does not pass between threads with its error.
      throw Object.assign(new Error(reply.message), reply.syscall === null ? {} : { syscall: reply.syscall });
    } finally {
      answering.unref();
    }
  };

  return {
    read: async (request) => {
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
    close: async () => {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

const ended = (): Error => new Error('The thread of the column reader ended.');

/** What the thread answers; rejects when it ends instead. */
function replyOf(worker: Worker, request: ReadRequest): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const end = (error?: unknown): void => {
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
