/**
 * Shows a run's events on stderr: as one terminal line, as lines of text or JSON, or not at all. Libraries paint a line for each
 * task, and a run has fifty. The cursor is never hidden, so that a killed process leaves nothing to repair.
 */

import type { Emit, EventType, RunEvent } from '../../events.ts';
import { RunRecord } from '../../run/summary.ts';
import { countText, elapsedText, groupedText } from '../../model/measure.ts';
import { JsonLine, oneLine, snakeCased } from './printable.ts';
import { restatedText, sentenceOf } from './sentence.ts';
import type { Form, Shell } from './shell.ts';
import { textWidth } from './table.ts';

interface Progress {
  readonly emit: Emit;
  close(): void;
}

const REPAINT_MS = 100;
const TICK_MS = 1000;
const REPORT_MS = 60_000;
const LOG_COLUMNS = 120;
const ERASE_LINE = '\r\u001b[2K';
const ERASE_REST = '\u001b[K';
const STOPPING = 'stopping once the current work has ended; press Ctrl-C again to end at once';

/** With `quiet` JSON shows only failures; text prints them after the run. */
export function openProgress(
  { log, quiet = false, verbose = false }: Form,
  shell: Shell,
): Progress {
  const nothing = () => {};
  const say = (sentence: string) =>
    shell.printError(`${shell.now().toISOString().slice(0, 19)}Z ${sentence}`);
  if (log === 'json') {
    const lineOf = jsonLines();
    const emit: Emit = (event) => {
      const line = lineOf(event, shell.now());
      if (!quiet || event.type === 'failed') shell.printError(line);
    };
    return { emit, close: nothing };
  }
  if (quiet) return { emit: nothing, close: nothing };
  if (verbose) return { emit: (event) => say(sentenceOf(event)), close: nothing };
  const nowMs = () => shell.now().getTime();
  const shown = new Set<string>();
  /** A lock wait, and each new warning or slice failure. The run's own failures are printed later. */
  const isShown = (event: RunEvent) => {
    if (event.type === 'lock_waiting') return true;
    if (event.type !== 'warning' && (event.type !== 'failed' || event.slice === null)) return false;
    const { size } = shown;
    return shown.add(JSON.stringify([event.code, event.message])).size > size;
  };
  const tally = new RunProgress(nowMs());
  if (shell.isTerminal) return terminalProgress(shell, tally, isShown);
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

function terminalProgress(
  shell: Shell,
  tally: RunProgress,
  isShown: (event: RunEvent) => boolean,
): Progress {
  let paintedAt = 0;
  let pending: NodeJS.Timeout | null = null;
  const paint = () => {
    paintedAt = shell.now().getTime();
    pending = null;
    // The rest is erased after the text, not before it: a line that is blank for a moment flickers.
    shell.paint(`\r${tally.line(paintedAt, shell.columns())}${ERASE_REST}`);
  };
  const repaintSoon = () => {
    const waitMs = Math.max(0, paintedAt + REPAINT_MS - shell.now().getTime());
    pending ??= setTimeout(paint, waitMs).unref();
  };
  const say = (line: string) => {
    shell.paint(ERASE_LINE);
    shell.printError(line);
    repaintSoon();
  };
  const tick = setInterval(repaintSoon, TICK_MS).unref();
  const onStop = () => say(STOPPING);
  shell.signal.addEventListener('abort', onStop, { once: true });
  return {
    emit(event) {
      tally.add(event, shell.now().getTime());
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

/** `at` in UTC, `level`, `type`, `run_id` (null before `run_started`), then the event's own fields. */
export function jsonLines(): (event: RunEvent, at: Date) => JsonLine {
  let runId: string | null = null;
  return (event, at) => {
    if (event.type === 'run_started') ({ runId } = event);
    const { type } = event;
    const isWarning = type === 'warning' || type === 'breaker_opened';
    const level = type === 'failed' ? 'error' : isWarning ? 'warning' : 'info';
    return new JsonLine({ at: at.toISOString(), level, type, run_id: runId, ...snakeCased(event) });
  };
}

const steps: Partial<Record<EventType, string>> = {
  run_started: 'catalog',
  lock_waiting: 'waiting for the warehouse',
  catalog_loaded: 'partners and links',
  slice_planned: '',
  window_asked: '',
  window_fetched: '',
  window_missed: '',
  breaker_opened: 'the service keeps failing',
  breaker_closed: '',
};

const BAR_COLUMNS = 10;

class RunProgress {
  readonly #record = new RunRecord();
  #command = 'ripen';
  #startedMs: number;
  #inFlight = 0;
  #step = '';

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  /** Returns a sentence about a slice that has no window left to load. */
  add(event: RunEvent, atMs: number): string | null {
    const { type } = event;
    if (type === 'run_started') [this.#command, this.#startedMs] = [event.command, atMs];
    this.#record.add(event);
    this.#step = steps[type] ?? this.#step;
    if (type === 'links_loaded') this.#step = `links of ${event.app}`;
    if (type === 'published') this.#step = `publishing, ${event.kind} done`;
    if (type === 'spend_settled')
      this.#step = `${groupedText(event.settled)} of ${countText(event.due, 'line')}`;
    if (type === 'window_asked') this.#inFlight += 1;
    if (type === 'window_fetched' || type === 'window_missed') this.#inFlight -= 1;
    const isOutcome =
      type === 'slice_planned' ||
      type === 'windows_regrouped' ||
      type === 'window_loaded' ||
      (type === 'failed' && event.window !== null);
    const summary = isOutcome && this.#record.slices.find(({ name }) => name === event.slice);
    if (!summary) return null;
    const { name, windows, rows, restated_periods: restated } = summary;
    const { planned, loaded, failed } = windows;
    if (loaded + failed < planned) return null;
    if (loaded + failed === 0) return `${oneLine(name)}: nothing due`;
    const failures = failed === 0 ? '' : `, ${groupedText(failed)} failed`;
    return `${oneLine(name)}: ${countText(loaded, 'window')} loaded${failures}, ${countText(rows.loaded, 'row')}${restatedText(restated)}`;
  }

  /** Narrower than the terminal, so that it can be repainted. The least important parts drop out. */
  line(nowMs: number, columns: number): string {
    let [planned, loaded, failed, rows] = [0, 0, 0, 0];
    for (const slice of this.#record.slices) {
      planned += slice.windows.planned;
      loaded += slice.windows.loaded;
      failed += slice.windows.failed;
      rows += slice.rows.loaded;
    }
    const full = planned === 0 ? 0 : Math.floor((BAR_COLUMNS * (loaded + failed)) / planned);
    const isDone = planned > 0 && loaded + failed >= planned;
    const parts = [
      `${this.#command} ${elapsedText(nowMs - this.#startedMs)}`,
      planned === 0 ? '' : '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full),
      planned === 0 ? '' : `${loaded}/${countText(planned, 'window')}`,
      failed === 0 ? '' : `${failed} failed`,
      this.#step === '' && isDone ? 'publishing' : this.#step,
      this.#inFlight === 0 ? '' : `${this.#inFlight} in flight`,
      rows === 0 ? '' : countText(rows, 'row'),
    ].filter((part) => part !== '');
    const line = () => oneLine(parts.join(' · '));
    // One column stays free: many terminals wrap when the last one is written.
    while (parts.length > 0 && textWidth(line()) >= columns) parts.pop();
    return line();
  }
}
