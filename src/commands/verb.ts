/** What the commands share: a configuration, the circumstances of a verb, progress while it works, a result as text or JSON. */

import { readConfig, type Circumstances, type Config } from '../index.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { durationOf, instantOf } from './instant.ts';

/** The options of a verb's command; those about the warehouse's lock only where it has them. */
export type VerbArguments = GlobalArguments & { readonly lockWait?: string | undefined };

/** What the arguments say of a verb's circumstances. */
export type Stated = Required<Circumstances>;

/** How a command is carried out and what it prints. */
export interface Presenter<A extends VerbArguments, Result> {
  /** Whether the configuration may lack its credentials. */
  readonly offline: boolean;
  readonly act: (config: Config, stated: Stated, args: A, shell: Shell) => Promise<Result>;
  /** What `--json` prints; by default the result itself. */
  readonly json?: (result: Result, args: A) => object;
  /** What people read; `columns` are those of the terminal, null without one. */
  readonly text: (result: Result, args: A, columns: number | null) => string;
}

/** A command that reads the configuration, carries out one verb, prints its result and ends with 0. */
export function presented<A extends VerbArguments, Result extends object>(
  presenter: Presenter<A, Result>,
): (args: A, shell: Shell) => Promise<number> {
  return async (args, shell) => {
    const { offline, act, json = (result: Result): object => result, text } = presenter;
    const result = await withConfig(args, shell, offline, async (config, stated) => act(config, stated, args, shell));
    shell.print(args.json ? jsonLine(json(result, args)) : text(result, args, shell.resultColumns()));
    return 0;
  };
}

/**
 * Reads the configuration (with `isOffline` one that may lack its credentials) and carries out a verb in the circumstances the
 * arguments state, showing its progress. Throws `USAGE_INVALID`, `CONFIG_MISSING`, `CONFIG_INVALID`, and what the verb throws.
 */
export async function withConfig<T>(
  args: VerbArguments,
  shell: Shell,
  isOffline: boolean,
  verb: (config: Config, stated: Stated) => Promise<T>,
): Promise<T> {
  const lockWaitMs = args.lockWait === undefined ? null : durationOf(args.lockWait, '--lock-wait');
  const config = await readConfig({ ...placeOf(args, shell), offline: isOffline });
  return inProgress(args, shell, async (stated) => verb(config, { ...stated, lockWaitMs }));
}

/** Carries out what needs no configuration yet, showing its progress. */
export async function inProgress<T>(
  args: GlobalArguments,
  shell: Shell,
  verb: (stated: Stated) => Promise<T>,
): Promise<T> {
  const asOf = args.asOf === undefined ? null : instantOf(args.asOf, '--as-of');
  const progress = openProgress(args, shell);
  try {
    return await verb({ asOf, emit: progress.emit, signal: shell.signal, lockWaitMs: null });
  } finally {
    progress.close();
  }
}

/** Where the configuration is to be found. */
export function placeOf({ config }: GlobalArguments, { directory, environment }: Shell) {
  return { directory, environment, ...(config === undefined ? {} : { file: config }) };
}
