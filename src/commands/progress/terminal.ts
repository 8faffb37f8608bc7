/**
 * One line at the bottom of a terminal that is repainted in place; warnings and failures stay above it.
 *
 * Own and small: the kept libraries paint one line a task, and a run has fifty at once.
 */

import type { Emit, RunEvent } from '../../events.ts';
import type { Shell } from '../shell.ts';
import { sentenceOf } from './sentence.ts';
import { emptyTally, statusLine, tallied } from './tally.ts';

/** A listener to a run's events. */
export interface Progress {
  readonly emit: Emit;
  /** Leaves the terminal clean; nothing is emitted afterwards. */
  close(): void;
}

/** Ten times a second is as fast as anyone reads, and costs nothing over a slow connection. */
const REPAINT_MS = 100;
/** The elapsed time moves on when nothing happens. */
const TICK_MS = 1000;
const ERASE_LINE = '\r\u001b[2K';

/** What stays on the screen; everything else only moves the status line. */
function isPermanent(event: RunEvent): boolean {
  return event.type === 'warning' || event.type === 'failed' || event.type === 'lock_waiting';
}

/** Paints on the shell's stderr until it is closed; closing erases the line. */
export function terminalProgress(shell: Shell): Progress {
  const startedAt = shell.now().getTime();
  let tally = emptyTally;
  let paintedAt = 0;
  let pending: NodeJS.Timeout | null = null;

  const paint = (): void => {
    paintedAt = shell.now().getTime();
    pending = null;
    shell.paint(ERASE_LINE + statusLine(tally, paintedAt - startedAt, shell.columns()));
  };
  const repaintSoon = (): void => {
    if (pending !== null) return;
    const waitMs = Math.max(0, paintedAt + REPAINT_MS - shell.now().getTime());
    pending = setTimeout(paint, waitMs).unref();
  };
  const tick = setInterval(repaintSoon, TICK_MS).unref();

  return {
    emit(event) {
      tally = tallied(tally, event);
      if (isPermanent(event)) {
        shell.paint(ERASE_LINE);
        shell.tell(sentenceOf(event));
      }
      repaintSoon();
    },
    close() {
      clearInterval(tick);
      if (pending !== null) clearTimeout(pending);
      shell.paint(ERASE_LINE);
    },
  };
}
