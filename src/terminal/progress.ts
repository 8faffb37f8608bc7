/** Chooses who listens to a run's events: a terminal's status line, lines of text, lines of JSON, or nobody. */

import type { GlobalArguments, Shell } from './shell.ts';
import { JsonLines } from './json-lines.ts';
import { textEventLine } from './lines.ts';
import { terminalProgress, type Progress } from './live.ts';

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
