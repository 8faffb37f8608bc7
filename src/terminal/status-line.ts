/** A run's tally as one line of a terminal: what is in flight, how far it is, how long it will take; pure. */

import { countText, elapsedText } from './measure.ts';
import { oneLine } from './printable.ts';
import { fitted, textWidth } from './text-width.ts';
import type { Tally } from './tally.ts';

const MS_PER_SECOND = 1000;
const MS_PER_MINUTE = 60_000;
const GAP = ' · ';
const BAR_COLUMNS = 10;
/** Before this much of the work is done, what is left of it cannot be told. */
const LEAST_SHARE = 0.1;
/** Nor after so little time. */
const LEAST_MS = 3000;
/** An estimate to the second would not be believed, and flickers. */
const ESTIMATE_STEP_MS = 5000;
/** A report that takes longer than this is worth a name. */
const LONG_MS = 10_000;

interface Part {
  readonly text: string;
  /** Where there is too little room, the part of the highest rank is left out first. */
  readonly rank: number;
}

/** The status line at a moment, never as wide as the terminal, so that it can be repainted in place. */
export function statusLine(tally: Tally, nowMs: number, columns: number): string {
  // One column stays free: many terminals wrap when the last one is written.
  const room = Math.max(0, columns - 1);
  let parts = partsOf(tally, nowMs).filter(({ text }) => text !== '');
  while (parts.length > 1 && textWidth(joined(parts)) > room) {
    const highest = Math.max(...parts.map(({ rank }) => rank));
    parts = parts.filter(({ rank }) => rank !== highest);
  }
  return fitted(joined(parts), room);
}

function joined(parts: readonly Part[]): string {
  return oneLine(parts.map(({ text }) => text).join(GAP));
}

function partsOf(tally: Tally, nowMs: number): Part[] {
  const { windowsPlanned, windowsDone, windowsFailed, inFlight, rows, retries, limit } = tally;
  const planned = Math.max(windowsPlanned, windowsDone + windowsFailed);
  return [
    { rank: 0, text: `${tally.command} ${elapsedText(nowMs - tally.startedMs)}` },
    { rank: 5, text: planned === 0 ? '' : barText(shareDone(tally)) },
    { rank: 1, text: planned === 0 ? '' : `${windowsDone}/${countText(planned, 'window')}` },
    { rank: 2, text: windowsFailed === 0 ? '' : `${windowsFailed} failed` },
    { rank: 4, text: inFlight.size === 0 ? '' : `${inFlight.size} in flight` },
    { rank: 3, text: remainingText(tally, nowMs) },
    { rank: 3, text: tally.doing },
    { rank: 7, text: rows === 0 ? '' : countText(rows, 'row') },
    { rank: 6, text: retries === 0 ? '' : `${retries} retried` },
    { rank: 8, text: limit === null ? '' : `at most ${limit} at once` },
    { rank: 9, text: longestText(tally, nowMs) },
  ];
}

/** How much of the work is done: a window is half done when it is fetched; one that failed asks for nothing more. */
function shareDone({ windowsPlanned, windowsFetched, windowsDone, windowsFailed }: Tally): number {
  const planned = Math.max(windowsPlanned, windowsDone + windowsFailed);
  if (planned === 0) return 0;
  const fetched = Math.max(windowsFetched, windowsDone);
  return Math.min(1, (fetched + windowsDone + 2 * windowsFailed) / (2 * planned));
}

function barText(share: number): string {
  const full = Math.floor(share * BAR_COLUMNS);
  return '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full);
}

/** `about 20 s left`, of the windows; empty while that cannot be told, and when none is left. */
function remainingText(tally: Tally, nowMs: number): string {
  const share = shareDone(tally);
  if (tally.askingSinceMs === null || share < LEAST_SHARE || share === 1) return '';
  const elapsedMs = nowMs - tally.askingSinceMs;
  if (elapsedMs < LEAST_MS) return '';
  const leftMs = (elapsedMs * (1 - share)) / share;
  const estimateMs = Math.ceil(leftMs / ESTIMATE_STEP_MS) * ESTIMATE_STEP_MS;
  return `about ${estimateMs < MS_PER_MINUTE ? `${estimateMs / MS_PER_SECOND} s` : elapsedText(estimateMs)} left`;
}

/** The window that has been in flight longest, once that is long. */
function longestText({ inFlight }: Tally, nowMs: number): string {
  const [oldest] = inFlight;
  if (oldest === undefined || nowMs - oldest[1] < LONG_MS) return '';
  return `${oldest[0]} for ${elapsedText(nowMs - oldest[1])}`;
}
