/**
 * `ripen.spend` while lines are being sent: what is about to happen and what has happened, durably and in that order.
 *
 * Steps that come while a commit is under way share the next one, so that workers do not wait for each other's disk
 * writes. This was preferred to announcing lines by the fifty: after a crash only the lines the workers had in hand are
 * unknown, never a batch of which most were not sent.
 */

import { statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { nextDueLines, type DueLine } from './staging.ts';
import type { Settled } from './submit-line.ts';

/** One worker's step: the line it has done, and the one it is about to send. */
export interface Step {
  readonly done: { readonly line: DueLine; readonly settled: Settled } | null;
  readonly next: DueLine | null;
}

interface Waiting {
  readonly step: Step;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class SpendLedger {
  readonly #warehouse: Warehouse;
  readonly #file: string;
  readonly #lines: DueLine[] = [];
  #lastLine = 0;
  #waiting: Waiting[] = [];
  /** The end of what is being done on the connection; never rejects. */
  #turn: Promise<void> = Promise.resolve();

  constructor(warehouse: Warehouse, file: string) {
    this.#warehouse = warehouse;
    this.#file = file;
  }

  /** The next line to send, or null when all were given out. */
  async take(): Promise<DueLine | null> {
    if (this.#lines.length === 0) {
      await this.#inTurn(async () => {
        // Another worker may have asked meanwhile; a page with fewer lines than workers is the last one.
        if (this.#lines.length > 0) return;
        this.#lines.push(...(await nextDueLines(this.#warehouse, this.#lastLine)));
        this.#lastLine = this.#lines.at(-1)?.line ?? this.#lastLine;
      });
    }
    return this.#lines.shift() ?? null;
  }

  /** Resolves once the step is committed; rejects when it could not be, and nothing of it was. */
  record(step: Step): Promise<void> {
    if (step.done === null && step.next === null) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ step, resolve, reject });
      if (this.#waiting.length === 1) void this.#inTurn(() => this.#commitWaiting());
    });
  }

  async #commitWaiting(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      await this.#write(waiting.map(({ step }) => step));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
      return;
    }
    for (const { resolve } of waiting) resolve();
  }

  async #write(steps: readonly Step[]): Promise<void> {
    const done = steps.flatMap((step) => step.done ?? []);
    const rows = [
      ...done.flatMap(({ line, settled }) => (settled.outcome === 'unsent' ? [] : [{ ...line, ...settled }])),
      ...steps.flatMap(({ next }) => (next === null ? [] : [{ ...next, outcome: 'sending' }])),
    ];
    const unsent = done.filter(({ settled }) => settled.outcome === 'unsent').map(({ line }) => line.cost_id);
    const recordSteps = async (): Promise<number> =>
      this.#warehouse.run(statement('spend/record_steps'), [JSON.stringify(rows), this.#file]);
    // One statement is a transaction of its own.
    if (unsent.length === 0) await recordSteps();
    else {
      await this.#warehouse.transact(async () => {
        await this.#warehouse.run(statement('spend/restore_unsent'), [JSON.stringify(unsent)]);
        await this.#warehouse.run(statement('spend/forget_unsent'), [JSON.stringify(unsent)]);
        await recordSteps();
      });
    }
  }

  /** One thing at a time on the connection: a page that is read inside somebody's transaction would end with it. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }
}
