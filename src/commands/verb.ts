/** What the commands share. */

import { dirname } from 'node:path';

import { Failure, storageFailed } from '../errors.ts';
import { readConfig, type Circumstances, type Config } from '../index.ts';
import { addDays, parseDay, parseInstant } from '../model/calendar.ts';
import { parseDuration } from '../model/duration.ts';
import { LAST_DAY } from '../model/period.ts';
import { makeDirectory, writeOutput } from '../publish/places/replacement.ts';
import { openProgress } from '../report/terminal/progress.ts';
import type { Shell } from '../report/terminal/shell.ts';
import type { CommandOutcome } from './outcome.ts';
import type { GlobalArguments } from './words.ts';

type VerbArguments = Pick<GlobalArguments, 'config' | 'asOf' | 'log' | 'quiet' | 'verbose'> & {
  readonly lockWait?: string | undefined;
};

type VerbOptions = Required<Circumstances>;

const configured =
  (isOffline: boolean) =>
  <A extends VerbArguments>(
    act: (config: Config, options: VerbOptions, args: A, shell: Shell) => Promise<CommandOutcome>,
  ) =>
  async (args: A, shell: Shell) =>
    withConfig(args, shell, isOffline, async (config, options) =>
      act(config, options, args, shell),
    );

/** Needs a complete configuration, credentials included. */
export const online = configured(false);

/** Does not call the service: the configuration may lack the credentials. */
export const offline = configured(true);

/** Throws as `readConfig` and the verb do. */
export async function withConfig<T>(
  args: VerbArguments,
  shell: Shell,
  isOffline: boolean,
  verb: (config: Config, options: VerbOptions) => Promise<T>,
) {
  const lockWaitMs = parseOption(durationOf, args.lockWait, '--lock-wait');
  const config = await readConfig({ ...placeOf(args, shell), offline: isOffline });
  return inProgress(args, shell, async (options) => verb(config, { ...options, lockWaitMs }));
}

export async function inProgress<T>(
  args: VerbArguments,
  shell: Shell,
  verb: (options: VerbOptions) => Promise<T>,
) {
  const asOf = parseOption(instantOf, args.asOf, '--as-of');
  const progress = openProgress(args, shell);
  try {
    return await verb({ asOf, emit: progress.emit, signal: shell.signal, lockWaitMs: null });
  } finally {
    progress.close();
  }
}

export const placeOf = (
  { config: file }: Pick<GlobalArguments, 'config'>,
  { directory, environment }: Shell,
) => ({ directory, environment, file });

export async function writeNamed(path: string, text: string, shell: Shell, makesFolder = false) {
  try {
    if (makesFolder) await makeDirectory(dirname(path), shell.mode);
    await writeOutput(path, text, shell.mode);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const hint = 'Name a file in a folder that exists and may be written to.';
    throw storageFailed(`The file ${path} could not be written`, error, { hint });
  }
}

const usage = (message: string, hint: string) => new Failure('USAGE_INVALID', message, { hint });

const reader =
  <T>(parse: (text: string) => T | null, noun: string, form: string) =>
  (text: string, option: string): T => {
    const value = parse(text);
    if (value !== null) return value;
    throw usage(`${option} must be ${noun}; got "${text}".`, `Write ${option} ${form}.`);
  };

export const parseOption = <T>(
  read: (text: string, option: string) => T,
  text: string | undefined,
  option: string,
) => (text === undefined ? null : read(text, option));

export const instantOf = reader(
  parseInstant,
  'an instant with an offset',
  'as an ISO 8601 instant such as 2026-02-14T02:30:00Z or 2026-02-14T02:30:00+01:00',
);
export const durationOf = reader(
  parseDuration,
  'a duration',
  'as a number and a unit, s m h d, such as 90m',
);
export const dayOf = reader(parseDay, 'a date', 'as YYYY-MM-DD');
export const wholeNumberUpTo = (most: number) =>
  reader(
    (text) => (/^\d+$/.test(text) && Number(text) <= most ? Number(text) : null),
    `a whole number from 0 to ${most}`,
    'in digits',
  );

/** Both days are inclusive. */
export function dayRange(from: string, to: string) {
  const [first, last] = [dayOf(from, '--from'), dayOf(to, '--to')];
  const hint = 'Pass the first day as --from and the last day as --to.';
  if (last < first) throw usage(`--from ${first} was later than --to ${last}.`, hint);
  const late = `--to was ${last}, later than the last day of all, ${LAST_DAY}.`;
  if (last > LAST_DAY) throw usage(late, 'Correct the year of --to.');
  return { start: first, end: addDays(last, 1) };
}
