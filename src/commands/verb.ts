/** What the commands share: a configuration, the circumstances of a verb, progress while it works, a result in one form. */

import { readConfig, type Circumstances, type Config } from '../index.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { durationOf, instantOf } from './instant.ts';

/** The options of a verb's command; those about the warehouse's lock only where it has them. */
export type VerbArguments = GlobalArguments & { readonly lockWait?: string | undefined };

/** What the arguments say of a verb's circumstances. */
export type Stated = Required<Circumstances>;

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
  const { directory, environment } = shell;
  const config = await readConfig({ ...fileOf(args), directory, environment, offline: isOffline });
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

/** The file `--config` names, where it does. */
export function fileOf({ config }: Pick<GlobalArguments, 'config'>): { readonly file?: string } {
  return config === undefined ? {} : { file: config };
}

/** Prints a result: one line of JSON if that was asked for, else its text. */
export function printResult(args: GlobalArguments, shell: Shell, result: object, text: () => string): void {
  shell.print(args.json ? jsonLine(result) : text());
}
