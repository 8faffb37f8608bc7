/** What a command may do to the outside world. All that is written is scrubbed of secrets and, but for `paint`, of control characters. */

import type { Writable } from 'node:stream';

import type { JsonLine } from './printable.ts';

export interface Shell {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working directory, absolute. */
  readonly directory: string;
  /** File rights the user withholds from what they name on the command line. */
  readonly umask: number;
  /** Aborted by the first SIGHUP, SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Whether stderr is a terminal that can be repainted. */
  readonly isTerminal: boolean;
  /** Columns of the terminal stderr goes to; of a usual one where there is none. */
  columns(): number;
  /** Columns of the terminal stdout goes to; null where it goes to a file or a program, which gets texts uncut. */
  resultColumns(): number | null;
  now(): Date;
  /** Writes lines to stdout: results, and nothing else. */
  print(text: string | JsonLine): void;
  /** For results that are rows rather than lines; closed early by a reader that has seen enough. */
  readonly stdout: Writable;
  /** Writes lines to stderr: progress, events, failures. */
  tell(text: string | JsonLine): void;
  /** Whether there is a terminal to ask at. */
  readonly canAsk: boolean;
  /** Asks on the terminal and waits for a line. */
  ask(question: string): Promise<string>;
  /** Writes to stderr as it is, control sequences included. */
  paint(text: string): void;
}

/** The rights of a file that the command line names: what the user's mask leaves of reading and writing. */
export function namedMode({ umask }: Pick<Shell, 'umask'>): number {
  return 0o666 & ~umask;
}
