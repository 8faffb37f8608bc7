/**
 * Shows a run's events on stderr: as one terminal line repainted in place, as lines of text or JSON, or not at all.
 * Own code: the maintained libraries paint one line for each task, and a run has fifty at once. The cursor is never hidden, so
 * that a killed process leaves nothing to repair.
 */

import type { Emit, EventType, RunEvent } from '../../events.ts';
import { countText, elapsedText, groupedText } from './measure.ts';
import { JsonLine, oneLine, snakeCased } from './printable.ts';
import { sentenceOf } from './sentence.ts';
import type { Shell } from './shell.ts';
import { textWidth } from './table.ts';

export interface Progress {
  readonly emit: Emit;
  /** Leaves the terminal clean; nothing may be emitted afterwards. */
  close(): void;
}

/** As fast as anyone reads. */
const REPAINT_MS = 100;
/** The elapsed time advances even if nothing happens. */
const TICK_MS = 1000;
const REPORT_MS = 60_000;
const LOG_COLUMNS = 120;
const ERASE_LINE = '\r\u001b[2K';
const ERASE_REST = '\u001b[K';
const STOPPING = 'stopping once the current work has ended; press Ctrl-C again to end at once';

export interface ProgressOptions {
  readonly log: 'text' | 'json';
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
}

/** With `quiet` JSON shows only failures; text prints them after the run. */
export function openProgress(
  { log, quiet = false, verbose = false }: ProgressOptions,
  shell: Shell,
): Progress {
  if (log === 'json') {
    const line = jsonLines();
    return plain((event) => {
      const text = line(event, shell.now());
      if (!quiet || event.type === 'failed') shell.printError(text);
    });
  }
  if (quiet) return plain(() => {});
  if (verbose) return plain((event) => shell.printError(logLine(sentenceOf(event), shell)));
  return shell.isTerminal ? terminalProgress(shell) : logProgress(shell);
}

const plain = (emit: Emit): Progress => ({ emit, close() {} });

/** `2026-02-14T02:30:01Z network_daily …`: the instant, then the sentence. */
const logLine = (sentence: string, shell: Shell): string =>
  `${shell.now().toISOString().slice(0, 19)}Z ${sentence}`;

/** Shows a lock wait, and each new warning or slice failure. The run's own failures are printed later. */
function lineFilter(): (event: RunEvent) => boolean {
  const shown = new Set<string>();
  return (event) => {
    if (event.type === 'lock_waiting') return true;
    if (event.type !== 'warning' && (event.type !== 'failed' || event.slice === null)) return false;
    const known = shown.size;
    shown.add(JSON.stringify([event.code, event.message]));
    return shown.size > known;
  };
}

function logProgress(shell: Shell): Progress {
  const nowMs = (): number => shell.now().getTime();
  const say = (line: string): void => shell.printError(logLine(line, shell));
  const isShown = lineFilter();
  const tally = new RunProgress(nowMs());
  const timer = setInterval(() => say(tally.line(nowMs(), LOG_COLUMNS)), REPORT_MS).unref();
  return {
    emit(event) {
      const finished = tally.add(event, nowMs());
      const isEnd = event.type === 'run_started' || event.type === 'run_finished';
      if (isEnd || isShown(event)) say(sentenceOf(event));
      if (finished !== null) say(finished);
    },
    close: () => clearInterval(timer),
  };
}

/** Paints on the shell's stderr until it is closed; closing erases the line. */
function terminalProgress(shell: Shell): Progress {
  const nowMs = (): number => shell.now().getTime();
  const isShown = lineFilter();
  const tally = new RunProgress(nowMs());
  let paintedAt = 0;
  let pending: NodeJS.Timeout | null = null;
  const paint = (): void => {
    paintedAt = nowMs();
    pending = null;
    // The rest is erased after the text, not before it: a line that is blank for a moment flickers.
    shell.paint(`\r${tally.line(paintedAt, shell.columns())}${ERASE_REST}`);
  };
  const repaintSoon = (): void => {
    pending ??= setTimeout(paint, Math.max(0, paintedAt + REPAINT_MS - nowMs())).unref();
  };
  const say = (line: string): void => {
    shell.paint(ERASE_LINE);
    shell.printError(line);
    repaintSoon();
  };
  const tick = setInterval(repaintSoon, TICK_MS).unref();
  const onStop = (): void => say(STOPPING);
  shell.signal.addEventListener('abort', onStop, { once: true });
  return {
    emit(event) {
      tally.add(event, nowMs());
      if (isShown(event)) say(sentenceOf(event));
      repaintSoon();
    },
    close() {
      shell.signal.removeEventListener('abort', onStop);
      clearInterval(tick);
      if (pending !== null) clearTimeout(pending);
      shell.paint(ERASE_LINE);
    },
  };
}

function levelOf({ type }: RunEvent): 'error' | 'warning' | 'info' {
  if (type === 'failed') return 'error';
  return type === 'warning' || type === 'breaker_opened' ? 'warning' : 'info';
}

/** `at` in UTC, `level`, `type`, `run_id` (null before `run_started`), then the event's own fields. */
export function jsonLines(): (event: RunEvent, at: Date) => JsonLine {
  let runId: string | null = null;
  return (event, at) => {
    if (event.type === 'run_started') ({ runId } = event);
    const head = { at: at.toISOString(), level: levelOf(event), type: event.type, run_id: runId };
    return new JsonLine({ ...head, ...snakeCased(event) });
  };
}

const none = { planned: 0, loaded: 0, failed: 0, rows: 0, restated: 0 };

type Counts = Readonly<typeof none>;

const sum = (one: Counts, other: Partial<Counts>): Counts => ({
  planned: one.planned + (other.planned ?? 0),
  loaded: one.loaded + (other.loaded ?? 0),
  failed: one.failed + (other.failed ?? 0),
  rows: one.rows + (other.rows ?? 0),
  restated: one.restated + (other.restated ?? 0),
});

interface Change {
  readonly slice?: string | null;
  readonly counts?: Partial<Counts>;
  readonly inFlight?: 1 | -1;
  /** What the run is doing, empty for windows; unchanged if missing. */
  readonly step?: string;
}

const changes: { readonly [T in EventType]?: (event: RunEvent<T>) => Change } = {
  run_started: () => ({ step: 'catalog' }),
  lock_waiting: () => ({ step: 'waiting for the warehouse' }),
  catalog_loaded: () => ({ step: 'partners and links' }),
  links_loaded: ({ app }) => ({ step: `links of ${app}` }),
  slice_planned: ({ slice, windows }) => ({ slice, counts: { planned: windows }, step: '' }),
  window_asked: () => ({ inFlight: 1, step: '' }),
  window_fetched: () => ({ inFlight: -1, step: '' }),
  window_loaded: ({ slice, rows, restatedPeriods: restated }) => ({
    slice,
    counts: { loaded: 1, rows, restated },
  }),
  window_split: ({ slice, by, into }) => ({
    slice,
    counts: { planned: by === 'days' ? into - 1 : 0 },
    inFlight: -1,
    step: '',
  }),
  windows_regrouped: ({ slice, from, into }) => ({ slice, counts: { planned: into - from } }),
  failed: ({ slice, window }) =>
    window === null ? {} : { slice, counts: { failed: 1 }, inFlight: -1, step: '' },
  breaker_opened: () => ({ step: 'the service keeps failing' }),
  breaker_closed: () => ({ step: '' }),
  spend_settled: ({ settled, due }) => ({
    step: `${groupedText(settled)} of ${countText(due, 'line')}`,
  }),
  published: ({ kind }) => ({ step: `publishing, ${kind} done` }),
};

const changeOf = <T extends EventType>(type: T, event: RunEvent<T>): Change =>
  changes[type]?.(event) ?? {};

const isFinished = ({ planned, loaded, failed }: Counts): boolean => loaded + failed >= planned;

const GAP = ' · ';
const BAR_COLUMNS = 10;

class RunProgress {
  readonly #slices = new Map<string, Counts>();
  #command = 'ripen';
  #startedMs: number;
  #inFlight = 0;
  #step = '';

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  /** Adds an event. Returns a sentence about its slice once no window of the slice is left to load. */
  add(event: RunEvent, atMs: number): string | null {
    if (event.type === 'run_started') {
      this.#slices.clear();
      [this.#command, this.#startedMs, this.#inFlight] = [event.command, atMs, 0];
    }
    const {
      slice = null,
      counts: adds = {},
      inFlight = 0,
      step = this.#step,
    } = changeOf(event.type, event);
    this.#inFlight = Math.max(0, this.#inFlight + inFlight);
    this.#step = step;
    if (slice === null) return null;
    const counts = sum(this.#slices.get(slice) ?? none, adds);
    this.#slices.set(slice, counts);
    const isEnd = ['window_loaded', 'windows_regrouped', 'slice_planned', 'failed'].includes(
      event.type,
    );
    return isEnd && isFinished(counts) ? finishedText(oneLine(slice), counts) : null;
  }

  /** Narrower than the terminal, so that it can be repainted. The least important parts drop out. */
  line(nowMs: number, columns: number): string {
    const all = [...this.#slices.values()].reduce(sum, none);
    const planned = Math.max(all.planned, all.loaded + all.failed);
    const full =
      planned === 0 ? 0 : Math.floor((BAR_COLUMNS * (all.loaded + all.failed)) / planned);
    const parts = [
      `${this.#command} ${elapsedText(nowMs - this.#startedMs)}`,
      planned === 0 ? '' : '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full),
      planned === 0 ? '' : `${all.loaded}/${countText(planned, 'window')}`,
      all.failed === 0 ? '' : `${all.failed} failed`,
      this.#step === '' && planned > 0 && isFinished(all) ? 'publishing' : this.#step,
      this.#inFlight === 0 ? '' : `${this.#inFlight} in flight`,
      all.rows === 0 ? '' : countText(all.rows, 'row'),
    ].filter((part) => part !== '');
    const line = (): string => oneLine(parts.join(GAP));
    // One column stays free: many terminals wrap when the last one is written.
    while (parts.length > 0 && textWidth(line()) >= columns) parts.pop();
    return line();
  }
}

function finishedText(slice: string, { loaded, failed, rows, restated }: Counts): string {
  if (loaded + failed === 0) return `${slice}: nothing due`;
  const failures = failed === 0 ? '' : `, ${groupedText(failed)} failed`;
  const changed = restated === 0 ? '' : `, ${countText(restated, 'period')} restated`;
  return `${slice}: ${countText(loaded, 'window')} loaded${failures}, ${countText(rows, 'row')}${changed}`;
}
