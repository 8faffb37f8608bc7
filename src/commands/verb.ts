/** What the commands share: what words of an option mean, a configuration, progress while a verb works, files that are named to be written. */

import { dirname } from 'node:path';

import { Failure, storageFailed } from '../errors.ts';
import { readConfig, type Circumstances, type Config } from '../index.ts';
import { addDays, parseDay, type Day, type DayInterval } from '../model/calendar.ts';
import { parseDuration } from '../model/duration.ts';
import { LAST_DAY } from '../model/period.ts';
import { makeDirectory, writeOutput } from '../publish/replacement.ts';
import { openProgress } from '../terminal/progress.ts';
import { namedMode, type Shell } from '../terminal/shell.ts';
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

/** Completes the names of slices behind `--slice`, from the configuration the words name; prints nothing where there is none. */
export async function completeSlices(words: readonly string[], shell: Shell): Promise<number> {
  const { directory, environment } = shell;
  const [begun, file] = [words.at(-1) ?? '', words[words.indexOf('--config') + 1]];
  const named = words.includes('--config') && file !== undefined ? { file } : {};
  const config = await readConfig({ directory, environment, offline: true, ...named }).catch(() => null);
  for (const { name } of config?.slices ?? []) if (name.startsWith(begun)) shell.print(name);
  return 0;
}

/** A date alone is refused: it would name another instant in every time zone. */
const instantForm =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

const usage = (message: string, hint: string): Failure => new Failure('USAGE_INVALID', message, { hint });

/** An option's meaning; null where it was not given. */
export function given<T>(read: (text: string, option: string) => T, text: string | undefined, option: string) {
  return text === undefined ? null : read(text, option);
}

/** An ISO 8601 instant with its offset. */
export function instantOf(text: string, option: string): Date {
  if (parseDay(instantForm.exec(text)?.[1] ?? '') !== null) return new Date(text);
  const form = 'an ISO 8601 instant such as 2026-02-14T02:30:00Z or 2026-02-14T02:30:00+01:00';
  throw usage(`${option} was "${text}", which is no instant with an offset.`, `Write ${option} as ${form}.`);
}

/** Milliseconds of a duration such as `90m`. */
export function durationOf(text: string, option: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  const hint = `Write ${option} as a number and a unit, s m h d, such as 90m.`;
  throw usage(`${option} was "${text}", which is no duration.`, hint);
}

/** A whole number from 0 to `most`. */
export function wholeNumberOf(text: string, option: string, most: number): number {
  if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
  throw usage(`${option} was "${text}", which is no whole number from 0 to ${most}.`, `Write ${option} in digits.`);
}

/** A civil day. */
export function dayOf(text: string, option: string): Day {
  const parsed = parseDay(text);
  if (parsed !== null) return parsed;
  throw usage(`${option} was "${text}", which is no date.`, `Write ${option} as YYYY-MM-DD.`);
}

/** The days from the first to the last, both inclusive, as a half-open interval. */
export function dayRange(from: string, to: string): DayInterval {
  const [first, last] = [dayOf(from, '--from'), dayOf(to, '--to')];
  const hint = 'Give the first day as --from and the last day as --to.';
  if (last < first) throw usage(`--from ${first} was later than --to ${last}.`, hint);
  if (last <= LAST_DAY) return { start: first, end: addDays(last, 1) };
  throw usage(`--to was ${last}, later than the last day of all, ${LAST_DAY}.`, 'Correct the year of --to.');
}
