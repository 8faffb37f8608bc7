/** A shell that remembers what was written, with a clock that moves only when told. */

import { PassThrough } from 'node:stream';

import { parseCommandLine } from '../../src/commands/command-line.ts';
import { JsonLine } from '../../src/report/terminal/printable.ts';
import type { Shell } from '../../src/report/terminal/shell.ts';

export interface RecordedShell extends Shell {
  readonly printed: string[];
  readonly told: string[];
  readonly painted: string[];
  readonly requested: string[];
  advance(ms: number): void;
}

/** `answer` is what is typed at every question; without one there is no terminal to ask at. */
export function recordedShell(
  options: Partial<Pick<Shell, 'isTerminal' | 'directory'>> & { readonly answer?: string } = {},
): RecordedShell {
  const printed: string[] = [];
  const told: string[] = [];
  const painted: string[] = [];
  const requested: string[] = [];
  let at = Date.parse('2026-02-14T02:30:00Z');
  return {
    environment: {},
    directory: options.directory ?? '/nowhere',
    mode: 0o644,
    signal: new AbortController().signal,
    isTerminal: options.isTerminal ?? false,
    columns: () => 60,
    resultColumns: () => null,
    now: () => new Date(at),
    stdout: new PassThrough(),
    print: (text) => printed.push(textOf(text)),
    printError: (text) => told.push(textOf(text)),
    paint: (text) => painted.push(text),
    canAsk: options.answer !== undefined,
    async ask(question) {
      requested.push(question);
      return options.answer ?? '';
    },
    printed,
    told,
    painted,
    requested,
    advance: (ms) => {
      at += ms;
    },
  };
}

/** What a terminal gets to see of a line. */
export const textOf = (text: string | JsonLine): string =>
  text instanceof JsonLine ? text.text : text;

/** Options as words: `{ lockWait: '5s', json: true }` is `--lock-wait=5s --json`; what is false or undefined is left out. */
export function flags(options: Readonly<Record<string, string | boolean | undefined>>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    const option = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return [value === true ? option : `${option}=${value}`];
  });
}

/** Carries out a command line; resolves to its exit code, rejects with what stopped it. */
export async function carriedOut(shell: Shell, ...argv: readonly string[]): Promise<number> {
  const requested = await parseCommandLine(argv, '1.2.3');
  if (requested.kind !== 'act') throw new Error(requested.text);
  return requested.act(shell);
}
