/** What the commands share: a configuration, the circumstances of a verb, progress while it works, files that are named to be written. */

import { dirname } from 'node:path';

import { Failure, storageFailed } from '../errors.ts';
import { readConfig, type Circumstances, type Config } from '../index.ts';
import { makeDirectory, writeOutput } from '../publish/replacement.ts';
import { openProgress } from '../terminal/progress.ts';
import { namedMode, type Shell } from '../terminal/shell.ts';
import { durationOf, given, instantOf } from './instant.ts';
import type { CommandOutcome } from './outcome.ts';
import type { GlobalArguments } from './words.ts';

/** The options of a verb's command; that about the warehouse's lock only where it has it. */
export type VerbArguments = Pick<GlobalArguments, 'config' | 'asOf' | 'log' | 'quiet' | 'verbose'> & {
  readonly lockWait?: string | undefined;
};

/** What the arguments say of a verb's circumstances. */
export type Stated = Required<Circumstances>;

/** What a command does once the configuration is read. */
type Act<A> = (config: Config, stated: Stated, args: A, shell: Shell) => Promise<CommandOutcome>;

const configured =
  (isOffline: boolean) =>
  <A extends VerbArguments>(act: Act<A>) =>
  async (args: A, shell: Shell): Promise<CommandOutcome> =>
    withConfig(args, shell, isOffline, async (config, stated) => act(config, stated, args, shell));

/** A command that needs a whole configuration. */
export const online = configured(false);

/** A command that asks the service nothing: its configuration may lack its credentials. */
export const offline = configured(true);

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
  const lockWaitMs = given(durationOf, args.lockWait, '--lock-wait');
  const config = await readConfig({ ...placeOf(args, shell), offline: isOffline });
  return inProgress(args, shell, async (stated) => verb(config, { ...stated, lockWaitMs }));
}

/** Carries out what needs no configuration yet, showing its progress. */
export async function inProgress<T>(
  args: VerbArguments,
  shell: Shell,
  verb: (stated: Stated) => Promise<T>,
): Promise<T> {
  const asOf = given(instantOf, args.asOf, '--as-of');
  const progress = openProgress(args, shell);
  try {
    return await verb({ asOf, emit: progress.emit, signal: shell.signal, lockWaitMs: null });
  } finally {
    progress.close();
  }
}

/** Where the configuration is to be found. */
export function placeOf({ config: file }: Pick<GlobalArguments, 'config'>, { directory, environment }: Shell) {
  return { directory, environment, ...(file === undefined ? {} : { file }) };
}

/** Writes what the command line names, whole or not at all; with `makesFolder` its folder too. Throws `STORAGE_FAILED`, `USAGE_INVALID`. */
export async function writeNamed(path: string, text: string, shell: Shell, makesFolder = false): Promise<void> {
  const mode = namedMode(shell);
  try {
    if (makesFolder) await makeDirectory(dirname(path), mode);
    await writeOutput(path, text, mode);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const hint = 'Name a file in a folder that exists and may be written to.';
    throw storageFailed(`The file ${path} could not be written`, error, { hint });
  }
}
