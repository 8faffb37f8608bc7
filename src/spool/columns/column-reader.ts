/**
 * The way of an answer into the warehouse: report JSON to Parquet, larger ones in a thread of its own.
 *
 * Cells are read into the types of their columns, exactly. A row with a cell that no wider column would take is there with its
 * reasons; numbers that a wider one would take are counted, and the answer is to be read again into that.
 */

import { Worker } from 'node:worker_threads';

import { onDisk } from '../spool.ts';
import type { ColumnsRead, Order, ReadRequest, Reply } from './reading.ts';

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

/** A reading that the thread has not answered yet. */
interface Pending {
  readonly resolve: (result: ColumnsRead) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A column reader; its thread starts once there is more to read than its start takes, and keeps the process alive only while
 * a reading is under way.
 */
export function openColumnReader(): ColumnReader {
  const pending = new Map<number, Pending>();
  let worker: Worker | null = null;
  let jobs = 0;
  let bytesHere = 0;

  const settle = (job: number): Pending | undefined => {
    const found = pending.get(job);
    pending.delete(job);
    if (pending.size === 0) worker?.unref();
    return found;
  };
  const rejectAll = (error: Error): void => {
    worker = null;
    for (const job of pending.keys()) settle(job)?.reject(error);
  };
  const receive = (reply: Reply): void => {
    if (reply.kind === 'done') settle(reply.job)?.resolve(reply.result);
    else settle(reply.job)?.reject(errorOf(reply));
  };
  const started = (): Worker => {
    if (worker !== null) return worker;
    const starting = new Worker(thread);
    starting.on('message', receive);
    const lost = (error: Error): void => {
      if (worker === starting) rejectAll(error);
    };
    starting.on('error', (error) => lost(error instanceof Error ? error : new Error(String(error))));
    starting.on('exit', () => lost(new Error('The thread of the column reader ended.')));
    worker = starting;
    return starting;
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
        jobs += 1;
        return new Promise((resolve, reject) => {
          const order: Order = { ...request, job: jobs };
          pending.set(jobs, { resolve, reject });
          const answering = started();
          answering.ref();
          answering.postMessage(order, []);
        });
      });
    },
    close: async () => {
      await worker?.terminate();
    },
  };
}

/** The thread's error; the name of the system call, which does not pass between threads, is put back. */
function errorOf({ message, syscall }: Extract<Reply, { kind: 'failed' }>): Error {
  return syscall === null ? new Error(message) : Object.assign(new Error(message), { syscall });
}
