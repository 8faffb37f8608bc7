/** Chooses who listens to a run's events: a terminal's status line, lines of text, lines of JSON, or nobody. */

import type { GlobalArguments, Shell } from '../shell.ts';
import { jsonEventLine } from './json-lines.ts';
import { textEventLine } from './lines.ts';
import { terminalProgress, type Progress } from './terminal.ts';

/**
 * The progress display a command asked for, on stderr. `--quiet` silences all but, in JSON lines, failures: in text
 * they are printed after the run.
 */
export function openProgress(options: Pick<GlobalArguments, 'log' | 'quiet'>, shell: Shell): Progress {
  if (options.log === 'json') {
    return {
      emit(event) {
        if (!options.quiet || event.type === 'failed') shell.tell(jsonEventLine(event, shell.now()));
      },
      makeRoom() {},
      close() {},
    };
  }
  if (options.quiet) return { emit() {}, makeRoom() {}, close() {} };
  if (shell.isTerminal) return terminalProgress(shell);
  return {
    emit(event) {
      shell.tell(textEventLine(event, shell.now()));
    },
    makeRoom() {},
    close() {},
  };
}
