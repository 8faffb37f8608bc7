/** How the outcome of a command is printed. */

import { exitCodeOf } from '../errors.ts';
import { failuresText, type PrintedFailure } from '../report/terminal/failure-text.ts';
import { JsonLine } from '../report/terminal/printable.ts';
import type { Form, Shell } from '../report/terminal/shell.ts';

export interface CommandOutcome {
  /** What `--json` prints (default: nothing). */
  readonly json?: object;
  /** Printed without `--json`. `columns` is the width of the terminal, if there is one. */
  readonly text?: string | ((columns: number | null) => string);
  /** Printed unless the log is JSON, which already contains them as events. */
  readonly failures?: readonly PrintedFailure[];
  readonly exitCode?: number;
}

export function present(
  { json, text = '', failures = [], exitCode = exitCodeOf(failures) }: CommandOutcome,
  { log, json: isJson = false, verbose }: Form,
  shell: Shell,
): number {
  if (log === 'text' && failures.length > 0) shell.printError(failuresText(failures, verbose));
  if (isJson && json !== undefined) shell.print(new JsonLine(json));
  const printed = typeof text === 'function' ? text(shell.resultColumns()) : text;
  if (!isJson && printed !== '') shell.print(printed);
  return exitCode;
}
