/** What a command came to, and how that is printed: failures on stderr, the result on stdout as text or as JSON. */

import { exitCodeOf } from '../errors.ts';
import { failuresText, type PrintedFailure } from '../terminal/failure-text.ts';
import { JsonLine } from '../terminal/printable.ts';
import type { Shell } from '../terminal/shell.ts';
import type { GlobalArguments } from './words.ts';

export interface CommandOutcome {
  /** What `--json` prints; nothing is printed without it. */
  readonly json?: object;
  /** What people read; `columns` are those of the terminal, null without one. */
  readonly text?: string | ((columns: number | null) => string);
  /** What failed; a log of JSON has them as events already. */
  readonly failures?: readonly PrintedFailure[];
  /** By default that of the gravest failure. */
  readonly exitCode?: number;
}

/** Prints an outcome; returns its exit code. */
export function present(
  { json, text = '', failures = [], exitCode = exitCodeOf(failures) }: CommandOutcome,
  { log, json: isJson, verbose = false }: Pick<GlobalArguments, 'log' | 'json' | 'verbose'>,
  shell: Shell,
): number {
  if (log === 'text' && failures.length > 0) shell.tell(failuresText(failures, verbose));
  if (isJson && json !== undefined) shell.print(new JsonLine(json));
  const shown = typeof text === 'function' ? text(shell.resultColumns()) : text;
  if (!isJson && shown !== '') shell.print(shown);
  return exitCode;
}
