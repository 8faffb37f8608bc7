/**
 * One line at the bottom of a terminal that is repainted in place; warnings and failures stay above it.
 *
 * Own and small: the kept libraries paint one line a task, and a run has fifty at once. The cursor is never hidden, so
 * that a killed process leaves nothing to put right.
 */

import type { Emit, RunEvent } from '../events.ts';
import type { Shell } from './shell.ts';
import { sentenceOf } from './sentence.ts';
import { statusLine } from './status-line.ts';
import { emptyTally, tallied } from './tally.ts';

/** A listener to a run's events. */
export interface Progress {
  readonly emit: Emit;
  /** Makes room for a result that is printed while the run goes on. */
  makeRoom(): void;
  /** Leaves the terminal clean; nothing is emitted afterwards. */
  close(): void;
}

/** Ten times a second is as fast as anyone reads, and costs nothing over a slow connection. */
const REPAINT_MS = 100;
/** The elapsed time moves on when nothing happens. */
const TICK_MS = 1000;
const ERASE_LINE = '\r\u001b[2K';
const ERASE_REST = '\u001b[K';
const STOPPING = 'stopping once what is under way has ended; Ctrl-C again ends at once';

/** What stays on the screen; everything else only moves the status line. */
function isPermanent(event: RunEvent): boolean {
  return event.type === 'warning' || event.type === 'failed' || event.type === 'lock_waiting';
}

/** Paints on the shell's stderr until it is closed; closing erases the line. */
export function terminalProgress(shell: Shell): Progress {
  const nowMs = (): number => shell.now().getTime();
  let tally = { ...emptyTally, startedMs: nowMs() };
  let paintedAt = 0;
  let pending: NodeJS.Timeout | null = null;

  const paint = (): void => {
    paintedAt = nowMs();
    pending = null;
    // Erased after the text, not before it: a line that is blank for a moment flickers.
    shell.paint(`\r${statusLine(tally, paintedAt, shell.columns())}${ERASE_REST}`);
  };
  const repaintSoon = (): void => {
    if (pending !== null) return;
    const waitMs = Math.max(0, paintedAt + REPAINT_MS - nowMs());
    pending = setTimeout(paint, waitMs).unref();
  };
  // The service refuses every window of a slice for the same reason; the summary counts them.
  const failures = new Set<string>();
  const isRepeated = (event: RunEvent): boolean => {
    if (event.type !== 'failed') return false;
    const known = failures.size;
    failures.add(JSON.stringify([event.slice, event.code, event.message]));
    return failures.size === known;
  };
  const say = (line: string): void => {
    shell.paint(ERASE_LINE);
    shell.tell(line);
    repaintSoon();
  };
  const tick = setInterval(repaintSoon, TICK_MS).unref();
  const onStop = (): void => {
    say(STOPPING);
  };
  shell.signal.addEventListener('abort', onStop, { once: true });

  return {
    emit(event) {
      tally = tallied(tally, event, nowMs());
      if (isPermanent(event) && !isRepeated(event)) say(sentenceOf(event));
      repaintSoon();
    },
    makeRoom() {
      shell.paint(ERASE_LINE);
    },
    close() {
      shell.signal.removeEventListener('abort', onStop);
      clearInterval(tick);
      if (pending !== null) clearTimeout(pending);
      shell.paint(ERASE_LINE);
    },
  };
}
