/** The state of a run as one line of a terminal shows it; pure. */

import type { RunEvent } from '../../events.ts';
import { countText, elapsedText } from '../measure.ts';
import { oneLine } from '../printable.ts';

export interface Tally {
  readonly command: string;
  readonly slices: number;
  readonly windowsPlanned: number;
  readonly windowsDone: number;
  readonly windowsFailed: number;
  readonly rows: number;
  readonly retries: number;
  /** Simultaneous calls the service is trusted with; null until that was changed. */
  readonly limit: number | null;
  /** What is being done, when it is not windows. */
  readonly doing: string;
}

export const emptyTally: Tally = {
  command: 'ripen',
  slices: 0,
  windowsPlanned: 0,
  windowsDone: 0,
  windowsFailed: 0,
  rows: 0,
  retries: 0,
  limit: null,
  doing: '',
};

/** The tally after one more event. */
export function tallied(tally: Tally, event: RunEvent): Tally {
  switch (event.type) {
    case 'run_started':
      return { ...emptyTally, command: event.command };
    case 'lock_waiting':
      return { ...tally, doing: 'waiting for the warehouse' };
    case 'slice_planned':
      return {
        ...tally,
        slices: tally.slices + 1,
        windowsPlanned: tally.windowsPlanned + event.windows,
        doing: '',
      };
    case 'window_loaded':
      return { ...tally, windowsDone: tally.windowsDone + 1, rows: tally.rows + event.rows, doing: '' };
    case 'failed':
      return event.window === null ? tally : { ...tally, windowsFailed: tally.windowsFailed + 1 };
    case 'window_split':
      return { ...tally, windowsPlanned: tally.windowsPlanned + event.into - 1 };
    case 'request_retried':
      return { ...tally, retries: tally.retries + 1 };
    case 'concurrency_changed':
      return { ...tally, limit: event.to };
    case 'breaker_opened':
      return { ...tally, doing: 'the service keeps failing' };
    case 'breaker_closed':
      return { ...tally, doing: '' };
    case 'links_loaded':
      return { ...tally, doing: `links of ${event.app}` };
    case 'published':
      return { ...tally, doing: `published ${event.kind}` };
    case 'window_fetched':
    case 'window_asked_again':
    case 'warning':
    case 'catalog_loaded':
    case 'partners_loaded':
    case 'run_finished':
    default:
      return tally;
  }
}

/** The status line, never wider than the terminal, so that it can be repainted. */
export function statusLine(tally: Tally, elapsedMs: number, columns: number): string {
  const parts = [
    `${tally.command} ${elapsedText(elapsedMs)}`,
    tally.slices === 0 ? '' : countText(tally.slices, 'slice'),
    tally.windowsPlanned === 0
      ? ''
      : `${tally.windowsDone}/${countText(Math.max(tally.windowsPlanned, tally.windowsDone), 'window')}`,
    tally.windowsFailed === 0 ? '' : `${tally.windowsFailed} failed`,
    tally.rows === 0 ? '' : countText(tally.rows, 'row'),
    tally.retries === 0 ? '' : `${tally.retries} retried`,
    tally.limit === null ? '' : `at most ${tally.limit} at once`,
    tally.doing,
  ];
  const line = oneLine(parts.filter((part) => part !== '').join(' · '));
  // One column stays free: many terminals wrap when the last one is written.
  return Array.from(line)
    .slice(0, Math.max(0, columns - 1))
    .join('');
}
