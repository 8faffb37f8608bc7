/**
 * What comes of one request: the head of its answer, and the body in the pieces the connection brought. Undici's own stream of
 * a body takes a third of a second more for half a gigabyte.
 */

import type { Dispatcher } from 'undici';

/** Bytes that may wait for whoever reads them; the connection rests meanwhile. */
const MAX_WAITING_BYTES = 256 * 1024;

interface Head {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
}

export class Reception implements Dispatcher.DispatchHandler {
  /** Resolves once the head has come; rejects with what ended the request before. */
  readonly head: Promise<Head>;
  readonly #counted: (bytes: number) => void;
  #settle: { readonly resolve: (head: Head) => void; readonly reject: (error: Error) => void } | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isWhole = false;
  #failure: Error | null = null;
  #wake = (): void => {};

  /** Sends the request; `counted` is told of the bytes of its answer's body as they come. */
  constructor(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, counted: (bytes: number) => void) {
    this.#counted = counted;
    this.head = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    try {
      dispatcher.dispatch(request, this);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The body as it comes, read once; throws what the connection failed with. */
  async *chunks(): AsyncGenerator<Buffer, void> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      const chunk = this.#waiting.shift();
      if (chunk === undefined) {
        if (this.#isWhole) return;
        await this.#more();
      } else {
        this.#waitingBytes -= chunk.length;
        yield chunk;
      }
    }
  }

  async #more(): Promise<void> {
    const more = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#controller?.resume();
    await more;
  }

  /** Gives up what has not come yet; nothing where all has. */
  abort(reason: Error): void {
    if (this.#isWhole || this.#failure !== null) return;
    this.#fail(reason);
    this.#controller?.abort(reason);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#waiting = [];
    this.#settle?.reject(error);
    this.#settle = null;
    this.#wake();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure !== null) controller.abort(this.#failure);
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Head['headers']): void {
    // What is told before the answer, 100 or 103, is none.
    if (status < 200) return;
    this.#settle?.resolve({ status, headers });
    this.#settle = null;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#failure !== null) return;
    this.#counted(chunk.length);
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes >= MAX_WAITING_BYTES) controller.pause();
    this.#wake();
  }

  onResponseEnd(): void {
    this.#isWhole = true;
    this.#wake();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }
}
