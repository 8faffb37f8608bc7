/** What a command may do to the outside world. All output is free of secrets and, except by `paint`, of control characters. */

import type { Writable } from 'node:stream';

import type { JsonLine } from './printable.ts';

export interface Shell {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  /** Permissions of files named on the command line. */
  readonly mode: number;
  /** Aborted by the first SIGHUP, SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  readonly isTerminal: boolean;
  columns(): number;
  /** Null if stdout is a file or a program, which receives texts uncut. */
  resultColumns(): number | null;
  now(): Date;
  print(text: string | JsonLine): void;
  /** For results that are rows rather than lines; its reader may close it early. */
  readonly stdout: Writable;
  printError(text: string | JsonLine): void;
  readonly canAsk: boolean;
  ask(question: string): Promise<string>;
  /** Writes text to stderr as it is, control sequences included. */
  paint(text: string): void;
}

export interface Form {
  readonly log: 'text' | 'json';
  readonly json?: boolean;
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
}
