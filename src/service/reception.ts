/**
 * What comes of one request: the head of its answer, and the body in the pieces the connection brought. Undici's own stream of
 * a body takes a third of a second more for half a gigabyte.
 */

import type { Dispatcher } from 'undici';

/**
 * Bodies that go on in one turn of the event loop, each by what its connection holds, the oldest first. With all of fifty at once
 * a turn takes 20 ms, which everything else in the process waits for, the statements of a load one after the other; and all
 * bodies would end at the same time, so that none could be read before.
 */
const BODIES_A_TURN = 8;
/** What each may bring in its turn. */
const BYTES_A_TURN = 128 * 1024;

/** Whose turn it is to go on: of the process, as its event loop is. */
class Turns {
  readonly #waiting: { readonly age: number; readonly goOn: () => void }[] = [];
  #left = BODIES_A_TURN;
  #isCounting = false;

  /** Goes on in this turn or a later one. */
  take(age: number, goOn: () => void): void {
    const behind = this.#waiting.findIndex((other) => other.age > age);
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, { age, goOn });
    this.#serve();
  }

  #serve(): void {
    for (; this.#left > 0; this.#left -= 1) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      next.goOn();
    }
    if (this.#isCounting || this.#left === BODIES_A_TURN) return;
    this.#isCounting = true;
    setImmediate(() => {
      this.#isCounting = false;
      this.#left = BODIES_A_TURN;
      this.#serve();
    });
  }
}

const turns = new Turns();
let receptions = 0;

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
  /** Its number among all requests of the process. */
  readonly #age: number;
  #waiting: Buffer[] = [];
  /** What it may still bring before it waits for its next turn. */
  #allowed = BYTES_A_TURN;
  #isWhole = false;
  #failure: Error | null = null;
  #wake = (): void => {};

  /** Sends the request; `counted` is told of the bytes of its answer's body as they come. */
  constructor(
    dispatcher: Pick<Dispatcher, 'dispatch'>,
    request: Dispatcher.DispatchOptions,
    counted: (bytes: number) => void,
  ) {
    this.#counted = counted;
    receptions += 1;
    this.#age = receptions;
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
        yield chunk;
      }
    }
  }

  async #more(): Promise<void> {
    const more = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (this.#allowed <= 0) turns.take(this.#age, () => this.#goOn());
    await more;
  }

  #goOn(): void {
    this.#allowed = BYTES_A_TURN;
    this.#controller?.resume();
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
    this.#allowed -= chunk.length;
    if (this.#allowed <= 0) controller.pause();
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
