/** The state of a run, as its events add up, and the lines that say it; pure. */

import type { RunEvent } from '../events.ts';
import { countText, elapsedText, groupedText } from './measure.ts';
import { oneLine } from './printable.ts';
import { fitted } from './table.ts';

interface SliceTally {
  readonly planned: number;
  readonly fetched: number;
  readonly loaded: number;
  readonly failed: number;
  readonly rows: number;
  readonly restated: number;
}

export interface Tally {
  readonly command: string;
  /** When the run began, in the milliseconds of whoever tallies. */
  readonly startedMs: number;
  /** When the first window was requested; null before. */
  readonly requestedMs: number | null;
  readonly slices: ReadonlyMap<string, SliceTally>;
  readonly inFlight: number;
  /** What is being done, when it is not windows. */
  readonly doing: string;
}

/** The tally before the first event. */
export const beginning = (startedMs: number): Tally => ({
  command: 'ripen',
  startedMs,
  requestedMs: null,
  slices: new Map(),
  inFlight: 0,
  doing: '',
});

const emptySlice: SliceTally = { planned: 0, fetched: 0, loaded: 0, failed: 0, rows: 0, restated: 0 };

/** The tally after one more event, which happened at a moment. */
export function tallied(tally: Tally, event: RunEvent, atMs: number): Tally {
  const landed = { ...tally, inFlight: Math.max(0, tally.inFlight - 1), doing: '' };
  switch (event.type) {
    case 'run_started':
      return { ...beginning(atMs), command: event.command, doing: 'catalog' };
    case 'lock_waiting':
      return { ...tally, doing: 'waiting for the warehouse' };
    case 'catalog_loaded':
      return { ...tally, doing: 'partners and links' };
    case 'links_loaded':
      return { ...tally, doing: `links of ${event.app}` };
    case 'slice_planned':
      return added({ ...tally, doing: '' }, event.slice, { planned: event.windows });
    case 'window_asked':
      return { ...tally, requestedMs: tally.requestedMs ?? atMs, inFlight: tally.inFlight + 1, doing: '' };
    case 'window_fetched':
      return added(landed, event.slice, { fetched: 1 });
    case 'window_loaded':
      return added(tally, event.slice, { loaded: 1, rows: event.rows, restated: event.restatedPeriods });
    case 'window_split':
      return added(landed, event.slice, { planned: event.into - 1 });
    case 'windows_joined':
      return added(tally, event.slice, { planned: event.into - event.from });
    case 'failed':
      return event.slice === null || event.window === null ? tally : added(landed, event.slice, { failed: 1 });
    case 'breaker_opened':
      return { ...tally, doing: 'the service keeps failing' };
    case 'breaker_closed':
      return { ...tally, doing: '' };
    case 'spend_settled':
      return { ...tally, doing: `${groupedText(event.settled)} of ${countText(event.due, 'line')}` };
    case 'published':
      return { ...tally, doing: `publishing, ${event.kind} done` };
    case 'concurrency_changed':
    case 'partners_loaded':
    case 'periods_let_go':
    case 'request_retried':
    case 'run_finished':
    case 'warning':
    case 'window_asked_again':
    default:
      return tally;
  }
}

function added(tally: Tally, slice: string, more: Partial<SliceTally>): Tally {
  const before = tally.slices.get(slice) ?? emptySlice;
  return { ...tally, slices: new Map(tally.slices).set(slice, sum(before, { ...emptySlice, ...more })) };
}

function sum(one: SliceTally, other: SliceTally): SliceTally {
  return {
    planned: one.planned + other.planned,
    fetched: one.fetched + other.fetched,
    loaded: one.loaded + other.loaded,
    failed: one.failed + other.failed,
    rows: one.rows + other.rows,
    restated: one.restated + other.restated,
  };
}

const isFinished = ({ planned, loaded, failed }: SliceTally): boolean => loaded + failed >= planned;

/** What became of a slice whose last window an event ended; null for any other event. */
export function finishedSlice({ slices }: Tally, event: RunEvent): string | null {
  const isEnd = event.type === 'window_loaded' || event.type === 'slice_planned' || event.type === 'failed';
  if (!isEnd || event.slice === null) return null;
  const of = slices.get(event.slice);
  if (of === undefined || !isFinished(of)) return null;
  if (of.loaded + of.failed === 0) return `${oneLine(event.slice)}: nothing due`;
  const failed = of.failed === 0 ? '' : `, ${groupedText(of.failed)} failed`;
  const restated = of.restated === 0 ? '' : `, ${countText(of.restated, 'period')} restated`;
  return `${oneLine(event.slice)}: ${countText(of.loaded, 'window')} loaded${failed}, ${countText(of.rows, 'row')}${restated}`;
}

const GAP = ' · ';
const BAR_COLUMNS = 10;
/** Before this much of the work is done, what is left of it cannot be told. */
const LEAST_SHARE = 0.1;
/** Nor after so little time. */
const LEAST_MS = 3000;
/** An estimate to the second would not be believed, and flickers. */
const ESTIMATE_STEP_MS = 5000;

/** The run on one line, never as wide as the terminal, so that it can be repainted in place; what matters least comes last. */
export function statusLine(tally: Tally, nowMs: number, columns: number): string {
  const all = [...tally.slices.values()].reduce(sum, emptySlice);
  const planned = Math.max(all.planned, all.loaded + all.failed);
  // A window is half done when it is fetched; one that failed requests nothing more.
  const fetched = Math.max(all.fetched, all.loaded);
  const share = planned === 0 ? 0 : Math.min(1, (fetched + all.loaded + 2 * all.failed) / (2 * planned));
  const full = Math.floor(share * BAR_COLUMNS);
  const doing = tally.doing === '' && planned > 0 && isFinished(all) ? 'publishing' : tally.doing;
  const parts = [
    `${tally.command} ${elapsedText(nowMs - tally.startedMs)}`,
    planned === 0 ? '' : '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full),
    planned === 0 ? '' : `${all.loaded}/${countText(planned, 'window')}`,
    all.failed === 0 ? '' : `${all.failed} failed`,
    doing,
    leftText(share, tally.requestedMs === null ? 0 : nowMs - tally.requestedMs),
    tally.inFlight === 0 ? '' : `${tally.inFlight} in flight`,
    all.rows === 0 ? '' : countText(all.rows, 'row'),
  ];
  // One column stays free: many terminals wrap when the last one is written.
  return fitted(oneLine(parts.filter((part) => part !== '').join(GAP)), Math.max(0, columns - 1));
}

/** `about 20 s left`, of the windows; empty while that cannot be told, and when none is left. */
function leftText(share: number, elapsedMs: number): string {
  if (share < LEAST_SHARE || share === 1 || elapsedMs < LEAST_MS) return '';
  const leftMs = (elapsedMs * (1 - share)) / share;
  return `about ${elapsedText(Math.ceil(leftMs / ESTIMATE_STEP_MS) * ESTIMATE_STEP_MS)} left`;
}
