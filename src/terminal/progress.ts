/**
 * Shows a run's events on stderr: one line of a terminal that is repainted in place, lines of text, lines of JSON, or nothing.
 *
 * Own and small: the kept libraries paint one line a task, and a run has fifty at once. The cursor is never hidden, so
 * that a killed process leaves nothing to put right.
 */

import type { Emit, RunEvent } from '../events.ts';
import { jsonLine, type JsonLine } from './printable.ts';
import { sentenceOf } from './sentence.ts';
import type { GlobalArguments, Shell } from './shell.ts';
import { beginning, finishedSlice, statusLine, tallied } from './tally.ts';

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
/** Without a terminal a long run says so often how far it is. */
const REPORT_MS = 60_000;
/** As wide as a line of a log needs to be. */
const LOG_COLUMNS = 120;
const ERASE_LINE = '\r\u001b[2K';
const ERASE_REST = '\u001b[K';
const STOPPING = 'stopping once what is under way has ended; Ctrl-C again ends at once';

/**
 * The progress display a command requests. `--verbose` writes every event. `--quiet` silences all but, in JSON lines,
 * failures: in text they are printed after the run.
 */
export function openProgress(options: Pick<GlobalArguments, 'log' | 'quiet' | 'verbose'>, shell: Shell): Progress {
  const { log, quiet = false, verbose = false } = options;
  if (log === 'json') {
    const lines = new JsonLines();
    return plain((event) => {
      const line = lines.line(event, shell.now());
      if (!quiet || event.type === 'failed') shell.tell(line);
    });
  }
  if (quiet) return plain(() => {});
  if (verbose) return plain((event) => shell.tell(logLine(sentenceOf(event), shell)));
  return shell.isTerminal ? terminalProgress(shell) : logProgress(shell);
}

const plain = (emit: Emit): Progress => ({ emit, makeRoom() {}, close() {} });

/** `2026-02-14T02:30:01Z network_daily …`: the instant, then the sentence. */
const logLine = (sentence: string, shell: Shell): string => `${shell.now().toISOString().slice(0, 19)}Z ${sentence}`;

/** What is always shown; everything else only moves the tally. */
const isPermanent = ({ type }: RunEvent): boolean => type === 'warning' || type === 'failed' || type === 'lock_waiting';

/** Whether an event is shown that says what an earlier one said: the service refuses every window for the same reason. */
function onceEach(): (event: RunEvent) => boolean {
  const shown = new Set<string>();
  return (event) => {
    if (event.type !== 'failed' && event.type !== 'warning') return true;
    const known = shown.size;
    shown.add(JSON.stringify([event.code, event.message]));
    return shown.size > known;
  };
}

/** A line when a slice is done, one a minute, every warning and failure, the begin and the end. */
function logProgress(shell: Shell): Progress {
  const nowMs = (): number => shell.now().getTime();
  const isNew = onceEach();
  let tally = beginning(nowMs());
  const timer = setInterval(
    () => shell.tell(logLine(statusLine(tally, nowMs(), LOG_COLUMNS), shell)),
    REPORT_MS,
  ).unref();
  return {
    emit(event) {
      tally = tallied(tally, event, nowMs());
      const isShown = isPermanent(event) || event.type === 'run_started' || event.type === 'run_finished';
      // What failed the whole run is printed with its remedy right after it.
      const isPrintedLater = event.type === 'failed' && event.slice === null;
      if (isShown && !isPrintedLater && isNew(event)) shell.tell(logLine(sentenceOf(event), shell));
      const finished = finishedSlice(tally, event);
      if (finished !== null) shell.tell(logLine(finished, shell));
    },
    makeRoom() {},
    close: () => clearInterval(timer),
  };
}

/** Paints on the shell's stderr until it is closed; closing erases the line. */
function terminalProgress(shell: Shell): Progress {
  const nowMs = (): number => shell.now().getTime();
  const isNew = onceEach();
  let tally = beginning(nowMs());
  let paintedAt = 0;
  let pending: NodeJS.Timeout | null = null;
  const paint = (): void => {
    paintedAt = nowMs();
    pending = null;
    // Erased after the text, not before it: a line that is blank for a moment flickers.
    shell.paint(`\r${statusLine(tally, paintedAt, shell.columns())}${ERASE_REST}`);
  };
  const repaintSoon = (): void => {
    pending ??= setTimeout(paint, Math.max(0, paintedAt + REPAINT_MS - nowMs())).unref();
  };
  const say = (line: string): void => {
    shell.paint(ERASE_LINE);
    shell.tell(line);
    repaintSoon();
  };
  const tick = setInterval(repaintSoon, TICK_MS).unref();
  const onStop = (): void => say(STOPPING);
  shell.signal.addEventListener('abort', onStop, { once: true });
  return {
    emit(event) {
      tally = tallied(tally, event, nowMs());
      if (isPermanent(event) && isNew(event)) say(sentenceOf(event));
      repaintSoon();
    },
    makeRoom: () => shell.paint(ERASE_LINE),
    close() {
      shell.signal.removeEventListener('abort', onStop);
      clearInterval(tick);
      if (pending !== null) clearTimeout(pending);
      shell.paint(ERASE_LINE);
    },
  };
}

/** How grave an event is: it failed something, wants a look, or is on the way. */
function levelOf({ type }: RunEvent): 'error' | 'warning' | 'info' {
  if (type === 'failed') return 'error';
  return type === 'warning' || type === 'breaker_opened' ? 'warning' : 'info';
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Writes events in order; each but those before `run_started` carries the id of the run, null stands for none yet. */
export class JsonLines {
  #runId: string | null = null;

  /** The event's own fields, in snake_case, after `at`, its instant in UTC, `level`, `type` and `run_id`. */
  line(event: RunEvent, at: Date): JsonLine {
    if (event.type === 'run_started') this.#runId = event.runId;
    const fields = Object.entries(event).map(([name, value]) => [snakeCase(name), value] as const);
    const head = { at: at.toISOString(), level: levelOf(event), type: event.type, run_id: this.#runId };
    return jsonLine({ ...head, ...Object.fromEntries(fields) });
  }
}
