/** The state of a run, as its events add up; pure. */

import type { RunEvent } from '../events.ts';
import { countText, groupedText } from './measure.ts';

export interface Tally {
  readonly command: string;
  /** When the run began, in the milliseconds of whoever tallies. */
  readonly startedMs: number;
  /** When the first window was asked for; null before. */
  readonly askingSinceMs: number | null;
  readonly slices: number;
  readonly windowsPlanned: number;
  readonly windowsFetched: number;
  readonly windowsDone: number;
  readonly windowsFailed: number;
  /** Asked for and not answered yet, by slice and days, with the moment they were asked for; oldest first. */
  readonly inFlight: ReadonlyMap<string, number>;
  readonly rows: number;
  readonly retries: number;
  /** Simultaneous calls the service is trusted with; null until that was changed. */
  readonly limit: number | null;
  /** What is being done, when it is not windows. */
  readonly doing: string;
}

export const emptyTally: Tally = {
  command: 'ripen',
  startedMs: 0,
  askingSinceMs: null,
  slices: 0,
  windowsPlanned: 0,
  windowsFetched: 0,
  windowsDone: 0,
  windowsFailed: 0,
  inFlight: new Map(),
  rows: 0,
  retries: 0,
  limit: null,
  doing: '',
};

type Windowed = { readonly slice: string; readonly window: string };

const nameOf = ({ slice, window }: Windowed): string => `${slice} ${window}`;

/** The tally after one more event, which happened at a moment. */
export function tallied(tally: Tally, event: RunEvent, atMs: number): Tally {
  switch (event.type) {
    case 'run_started':
      return { ...emptyTally, command: event.command, startedMs: atMs, doing: 'catalog' };
    case 'lock_waiting':
      return { ...tally, doing: 'waiting for the warehouse' };
    case 'catalog_loaded':
      return { ...tally, doing: 'partners and links' };
    case 'slice_planned':
      return {
        ...tally,
        slices: tally.slices + 1,
        windowsPlanned: tally.windowsPlanned + event.windows,
        doing: '',
      };
    case 'window_asked':
      return {
        ...tally,
        askingSinceMs: tally.askingSinceMs ?? atMs,
        inFlight: new Map(tally.inFlight).set(nameOf(event), atMs),
        doing: '',
      };
    case 'window_fetched':
      return { ...landed(tally, event), windowsFetched: tally.windowsFetched + 1 };
    case 'window_loaded':
      return withoutWork({ ...tally, windowsDone: tally.windowsDone + 1, rows: tally.rows + event.rows, doing: '' });
    case 'window_split':
      return { ...landed(tally, event), windowsPlanned: tally.windowsPlanned + event.into - 1 };
    case 'failed':
      if (event.slice === null || event.window === null) return tally;
      return withoutWork({
        ...landed(tally, { slice: event.slice, window: event.window }),
        windowsFailed: tally.windowsFailed + 1,
      });
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
    case 'spend_settled':
      return { ...tally, doing: `${groupedText(event.settled)} of ${countText(event.due, 'line')}` };
    case 'published':
      return { ...tally, doing: `publishing, ${event.kind} done` };
    case 'run_finished':
      return { ...tally, doing: 'done' };
    case 'window_asked_again':
    case 'window_read_as_texts':
    case 'periods_let_go':
    case 'warning':
    case 'partners_loaded':
    default:
      return tally;
  }
}

/** A window that is no longer in flight, whatever became of it. */
function landed(tally: Tally, window: Windowed): Tally {
  const inFlight = new Map(tally.inFlight);
  inFlight.delete(nameOf(window));
  return { ...tally, inFlight };
}

/** After the last window only publishing is left. */
function withoutWork(tally: Tally): Tally {
  return tally.windowsDone + tally.windowsFailed < tally.windowsPlanned ? tally : { ...tally, doing: 'publishing' };
}
