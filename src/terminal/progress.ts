/** Chooses who listens to a run's events: a terminal's status line, lines of text, lines of JSON, or nobody. */

import type { RunEvent } from '../events.ts';
import { type Progress, terminalProgress } from './live.ts';
import { jsonLine, type JsonLine } from './printable.ts';
import { sentenceOf } from './sentence.ts';
import type { GlobalArguments, Shell } from './shell.ts';

/**
 * The progress display a command asked for, on stderr. `--verbose` writes every event on a terminal too. `--quiet` silences all but, in JSON lines, failures: in text
 * they are printed after the run.
 */
export function openProgress(options: Pick<GlobalArguments, 'log' | 'quiet' | 'verbose'>, shell: Shell): Progress {
  if (options.log === 'json') {
    const lines = new JsonLines();
    return {
      emit(event) {
        const line = lines.line(event, shell.now());
        if (options.quiet !== true || event.type === 'failed') shell.tell(line);
      },
      makeRoom() {},
      close() {},
    };
  }
  if (options.quiet === true) return { emit() {}, makeRoom() {}, close() {} };
  if (shell.isTerminal && options.verbose !== true) return terminalProgress(shell);
  return {
    emit(event) {
      shell.tell(textEventLine(event, shell.now()));
    },
    makeRoom() {},
    close() {},
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
    const { type } = event;
    const head = { at: at.toISOString(), level: levelOf(event), type, run_id: this.#runId };
    return jsonLine({ ...head, ...Object.fromEntries(fields) });
  }
}

/** `2026-02-14T02:30:01.123Z network_daily …`: the instant, then the sentence. */
export function textEventLine(event: RunEvent, at: Date): string {
  return `${at.toISOString()} ${sentenceOf(event)}`;
}
