/**
 * The fast way of an answer into the warehouse: report JSON to typed Parquet, in one pass, in a thread of its own.
 *
 * Rows are taken only if every cell of them is taken exactly, as the engine itself would store it; anything else, from a
 * number in an unusual form to a second document, makes the reader give the answer up, without a judgement on it.
 */

import { Worker } from 'node:worker_threads';

import { onDisk } from '../spool.ts';
import type { ColumnsRead, Encoding, GaveUp, Order, ReadRequest, Reply, SavedBytes } from './reading.ts';

export interface ColumnReader {
  /** Reads the saved bodies of one answer. Throws `STORAGE_FAILED` when the disk refuses. */
  readonly read: (request: ReadRequest & { readonly bodies: readonly SavedBytes[] }) => Promise<ColumnsRead | GaveUp>;
  /** Reads a body beside its download. */
  readonly begin: (request: ReadRequest & { readonly encoding: Encoding }) => ArrivingBody;
  /** Ends the thread; readings that are under way are rejected, and may leave their file behind. */
  readonly close: () => Promise<void>;
}

/** A body that is read while it comes. */
export interface ArrivingBody {
  /** Hands a copy of the chunk over; resolves when the thread can take more. The caller may go on using the chunk. */
  readonly push: (chunk: Uint8Array) => Promise<void>;
  /** The body is whole: what was read. Throws `STORAGE_FAILED` when the disk refuses. */
  readonly end: () => Promise<ColumnsRead | GaveUp>;
  /** The body will never be whole: nothing is left of it. */
  readonly drop: () => Promise<void>;
}

/** Bytes that may wait for the thread, per body. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** Bytes that are read on the caller's thread until one of its own is worth its start: a usual night has no more. */
const MAX_BYTES_HERE = 2 * 1024 * 1024;

/** TypeScript runs from `src` and JavaScript from `dist`; the compiler changes imports, but no addresses. */
const thread = new URL(`./reading-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** A reading that the thread has not answered yet. */
interface Pending {
  readonly resolve: (result: ColumnsRead | GaveUp) => void;
  readonly reject: (error: Error) => void;
  readonly taken: (bytes: number) => void;
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
    if (reply.kind === 'taken') pending.get(reply.job)?.taken(reply.bytes);
    else if (reply.kind === 'done') settle(reply.job)?.resolve(reply.result);
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
  const send = (order: Order): void => {
    const moved = order.kind === 'chunk' && order.bytes.buffer instanceof ArrayBuffer ? [order.bytes.buffer] : [];
    started().postMessage(order, moved);
  };
  const ask = async (path: string, order: Order, taken: Pending['taken']): Promise<ColumnsRead | GaveUp> =>
    onDisk(
      'spool',
      path,
      async () =>
        new Promise((resolve, reject) => {
          started().ref();
          pending.set(order.job, { resolve, reject, taken });
          send(order);
        }),
    );

  return {
    read: async (request) => {
      const bytes = request.bodies.reduce((sum, { plainBytes }) => sum + (plainBytes ?? Number.POSITIVE_INFINITY), 0);
      if (worker === null && bytesHere + bytes <= MAX_BYTES_HERE) {
        bytesHere += bytes;
        const { readSaved } = await import('./slice-reading.ts');
        return onDisk('spool', request.to, async () => readSaved(request));
      }
      jobs += 1;
      return ask(request.to, { ...request, kind: 'read', job: jobs }, () => {});
    },
    begin: (request) => {
      jobs += 1;
      const job = jobs;
      const waiting = new Waiting();
      const result = ask(request.to, { ...request, kind: 'begin', job }, (bytes) => waiting.less(bytes));
      const settled = result.then(
        () => waiting.end(),
        () => waiting.end(),
      );
      return {
        push: async (chunk) => {
          if (!pending.has(job)) return;
          const bytes = new Uint8Array(chunk);
          send({ kind: 'chunk', job, bytes });
          await waiting.more(bytes.length);
        },
        end: async () => {
          if (pending.has(job)) send({ kind: 'end', job });
          return result;
        },
        drop: async () => {
          if (pending.has(job)) send({ kind: 'drop', job });
          await settled;
        },
      };
    },
    close: async () => {
      await worker?.terminate();
    },
  };
}

/** Bytes on their way to the thread, and who waits for them to become fewer. */
class Waiting {
  #bytes = 0;
  #isOver = false;
  #waiters: (() => void)[] = [];

  async more(bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#isOver || this.#bytes <= MAX_WAITING_BYTES) return;
    await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  less(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes <= MAX_WAITING_BYTES) this.#release();
  }

  end(): void {
    this.#isOver = true;
    this.#release();
  }

  #release(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters = [];
  }
}

/** The thread's error; the name of the system call, which does not pass between threads, is put back. */
function errorOf({ message, syscall }: Extract<Reply, { kind: 'failed' }>): Error {
  return syscall === null ? new Error(message) : Object.assign(new Error(message), { syscall });
}
