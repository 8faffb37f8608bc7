/** The windows of a run that are neither loaded nor failed yet, and the order in which those that wait are requested. */

import { type Asking, unanswered } from '../extract/extract.ts';
import type { Slice } from '../model/slice.ts';
import type { Window } from '../model/window.ts';
import type { Answers } from './source.ts';

export class WindowQueue {
  /** The windows that wait, the next one first; the source takes them off. */
  readonly waiting: Asking[] = [];
  /** The slice of each window that is neither loaded nor failed yet, by the window's id. */
  readonly #open = new Map<string, string>();

  /** The slice of each window that is neither loaded nor failed yet. */
  get openSlices(): readonly string[] {
    return [...this.#open.values()];
  }

  /** Puts windows in front of all others. */
  putFirst(askings: readonly Asking[]): void {
    for (const { window } of askings) this.#open.set(window.id, window.slice.name);
    this.waiting.unshift(...askings);
  }

  /** Records that a window was loaded, has failed or was divided. */
  close({ id }: Window): void {
    this.#open.delete(id);
  }

  /** Takes all windows off that wait; they stay open. */
  stop(): void {
    this.waiting.length = 0;
  }

  /** The waiting windows of a slice, in order. */
  waitingOf({ name }: Slice): Window[] {
    return this.waiting.map(({ window }) => window).filter((window) => window.slice.name === name);
  }

  /** Puts windows behind all others, in place of those of the same slice. */
  replaceWaiting(slice: Slice, windows: readonly Window[]): void {
    const others = this.waiting.filter(({ window }) => window.slice.name !== slice.name);
    for (const window of this.waitingOf(slice)) this.close(window);
    this.stop();
    this.putFirst([...others, ...windows.map((window) => unanswered(window))]);
  }

  /** The answers that no waiting window needs. */
  unneeded(answers: Answers): Answers {
    const needed = new Set(this.waiting.flatMap(({ answered }) => [...answered.values()].flatMap(pathsOf)));
    return answers.filter((answer) => pathsOf(answer).every((path) => !needed.has(path)));
  }
}

const pathsOf = ({ pages }: Answers[number]): string[] => pages.map(({ path }) => path);
