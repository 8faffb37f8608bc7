/**
 * From arguments to a command, strictly: whatever is unknown is refused with the nearest name.
 *
 * Parsing runs nothing and loads no command, so `--help` and completion answer at once.
 */

import type { Options } from 'yargs';

import { nearest } from '../config/nearest.ts';
import { Failure, textOf } from '../errors.ts';
import type { Act } from '../terminal/shell.ts';
import { declareCommands, type HelpAsked } from './parser.ts';
import { allOptions, commandNames, groupNames } from './verbs.ts';

/** Text to print, the help that belongs where a command is missing, or a command to carry out. */
export type Asked =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing'; readonly text: string }
  | { readonly kind: 'act'; readonly act: Act };

/** What results and failures are to look like. */
export interface Form {
  readonly log: 'text' | 'json';
  readonly json: boolean;
  readonly verbose: boolean;
}

/** The form the arguments request, also when they are refused. */
export function formAsked(argv: readonly string[]): Form {
  const isJsonLog = argv.includes('--log=json') || argv[argv.indexOf('--log') + 1] === 'json';
  const isOn = (option: string): boolean =>
    argv.some((word, at) => word.startsWith(`--${option}`) && word !== `--${option}=false` && argv[at + 1] !== 'false');
  return { log: isJsonLog ? 'json' : 'text', json: isOn('json'), verbose: isOn('verbose') };
}

/** The command the arguments choose; `USAGE_INVALID`, with the nearest names, for anything unknown or missing. */
export async function parseCommandLine(argv: readonly string[], version: string): Promise<Asked> {
  if (argv.length === 0 || (argv.length === 1 && groupNames.includes(argv[0] ?? ''))) {
    const help = await parseCommandLine([...argv, '--help'], version);
    return help.kind === 'text' ? { ...help, kind: 'missing' } : help;
  }
  const chosen: { act: Act | null; options: Readonly<Record<string, Options>> } = { act: null, options: {} };
  const choose = (act: Act, options: Readonly<Record<string, Options>>): void => {
    chosen.act = act;
    chosen.options = options;
  };
  const isCompletion = argv.includes('--get-yargs-completions');
  if (isCompletion && argv.at(-2) === '--slice') {
    // Loaded alone, as other words complete without the configuration.
    const { completeSlices } = await import('./complete-slices.ts');
    return { kind: 'act', act: completeSlices(argv) };
  }
  const cli = declareCommands(version, choose, helpAsked(argv));
  let output = '';
  try {
    if (!isCompletion) refuseUnclear(argv);
    const parsed = await cli.parseAsync(dashJoined(argv), {}, (_error, _parsed, printed) => {
      if (printed !== '') output = printed;
    });
    if (output === '' && chosen.act === null && !isCompletion) throw new Error('no command was given');
    if (chosen.act === null || output !== '') return { kind: 'text', text: output };
    refuseRepeated(parsed, chosen.options);
    return { kind: 'act', act: chosen.act };
  } catch (error) {
    throw usageFailure(textOf(error), argv);
  }
}

/**
 * yargs drops what stands behind a bare `--`, takes `--dryRun` for `--dry-run`, any value of a switch but `true` for false, and
 * of two values the last.
 */
function refuseUnclear(argv: readonly string[]): void {
  if (argv.includes('--')) throw new Error('nothing may stand behind --');
  const values = new Map<string, string>();
  for (const [at, word] of argv.entries()) {
    const [, name = '', stated] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (/[A-Z]/.test(name)) throw new Error(`Unknown argument: ${name}`);
    if (allOptions.get(name)?.type !== 'boolean') continue;
    const value = stated ?? (argv[at + 1] === 'false' ? 'false' : 'true');
    if (value !== 'true' && value !== 'false')
      throw new Error(`--${name} takes no value but true or false, as in --${name}=true`);
    if ((values.get(name) ?? value) !== value) throw new Error(`--${name} was given as both true and false`);
    values.set(name, value);
  }
}

/** Of an option that takes one value, and was given several, nobody can say which is meant. */
function refuseRepeated(parsed: object, options: Readonly<Record<string, Options>>): void {
  for (const [name, value] of Object.entries(parsed)) {
    if (!Array.isArray(value) || !allOptions.has(name) || options[name]?.array === true) continue;
    throw new Error(`--${name} was given ${value.length} times`);
  }
}

/** yargs takes `-` for an option, not for the value of the one before it. */
function dashJoined(argv: readonly string[]): string[] {
  return argv.flatMap((word, at) => {
    if (word === '-' && argv[at - 1]?.startsWith('--') === true) return [];
    return argv[at + 1] === '-' && word.startsWith('--') ? [`${word}=-`] : [word];
  });
}

function helpAsked(argv: readonly string[]): HelpAsked {
  if (!argv.includes('--help') && !argv.includes('-h')) return 'none';
  return argv.some((word) => commandNames.includes(word)) ? 'command' : 'overview';
}

/** yargs names what it refused only in its message, `Unknown argument: slise` (its own words, locale `en`). */
function usageFailure(message: string, argv: readonly string[]): Failure {
  const [, names = ''] = /^Unknown (?:arguments?|commands?): (.*)$/s.exec(message) ?? [];
  // It names each twice, `dry-rnu` and `dryRnu`.
  const unknown = names.split(', ').filter((name) => name !== '' && !/[A-Z]/.test(name));
  const refused = unknown.length === 0 ? message.replaceAll('\n', ' ') : `Unknown argument: ${unknown.join(', ')}`;
  const nearestNames = unknown.flatMap((name) => {
    if (argv.includes(name)) return nearest(name, commandNames) ?? [];
    const option = nearest(name, allOptions.keys());
    return option === null ? [] : `--${option}`;
  });
  const command = argv.find((word) => commandNames.includes(word));
  const meant =
    nearestNames.length === 0 ? '' : `Did you mean ${nearestNames.map((name) => `\`${name}\``).join(', ')}? `;
  return new Failure('USAGE_INVALID', `The command line was refused: ${refused}.`, {
    hint: `${meant}See \`ripen ${command === undefined ? '' : `${command} `}--help\`.`,
  });
}
