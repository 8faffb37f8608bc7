/**
 * From arguments to what was asked for, strictly: whatever is unknown is refused with the nearest name.
 *
 * Parsing runs nothing and loads no command, so `--help` and completion answer at once.
 */

import { nearest } from '../config/nearest.ts';
import { Failure, textOf } from '../errors.ts';
import type { Act } from '../terminal/shell.ts';
import { textOptions } from './verb-options.ts';
import type { Chooser } from './verb-options.ts';
import { commandNames, declareCommands, groupNames, type HelpAsked } from './verbs.ts';

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

/** The form the arguments ask for, also when they are refused. */
export function formAsked(argv: readonly string[]): Form {
  const isJsonLog = argv.some(
    (word, index) => word === '--log=json' || (word === '--log' && argv[index + 1] === 'json'),
  );
  return { log: isJsonLog ? 'json' : 'text', json: argv.includes('--json'), verbose: argv.includes('--verbose') };
}

/** What the arguments ask for; `USAGE_INVALID`, with the nearest names, for anything unknown or missing. */
export async function parseCommandLine(argv: readonly string[], version: string): Promise<Asked> {
  const chosen: { act: Act | null } = { act: null };
  const offered = ['help', 'version'];
  const lists = new Set<string>();
  let output = '';
  const chooser: Chooser = {
    choose: (act) => {
      chosen.act = act;
    },
    offer: (options) => {
      for (const [name, { array }] of Object.entries(options)) {
        offered.push(name);
        if (array === true) lists.add(name);
      }
      return options;
    },
  };
  if (isBare(argv)) {
    const help = await parseCommandLine([...argv, '--help'], version);
    return help.kind === 'text' ? { ...help, kind: 'missing' } : help;
  }
  const cli = declareCommands(version, chooser, helpAsked(argv));
  try {
    const parsed = await cli.parseAsync(dashesJoined(argv), {}, (_error, _parsed, printed) => {
      if (printed !== '') output = printed;
    });
    if (chosen.act === null || output !== '') return { kind: 'text', text: output };
    refuseRepeated(Object.entries(parsed), (name) => offered.includes(name) && !lists.has(name));
    return { kind: 'act', act: chosen.act };
  } catch (error) {
    throw usageFailure(textOf(error), argv, offered);
  }
}

/** Of an option that takes one value, and was given several, nobody can say which is meant. */
function refuseRepeated(given: readonly [string, unknown][], isSingle: (name: string) => boolean): void {
  const repeated = given.flatMap(([name, value]) =>
    Array.isArray(value) && isSingle(name) ? [`--${name} was given ${value.length} times`] : [],
  );
  if (repeated.length > 0) throw new Error(repeated.join(', '));
}

/** Nothing, or nothing but a word that needs another behind it. */
function isBare(argv: readonly string[]): boolean {
  return argv.length === 0 || (argv.length === 1 && groupNames.some((name) => name === argv[0]));
}

/** yargs takes a word with a dash for the next option, not for what an option is set to: `-` alone, or a text. */
function dashesJoined(argv: readonly string[]): string[] {
  const isValue = (word = '', option = ''): boolean =>
    word === '-' ? option.startsWith('--') : /^-(?!-)/.test(word) && word !== '-h' && textOptions.has(option);
  return argv.flatMap((word, index) => {
    if (isValue(word, argv[index - 1])) return [];
    const next = argv[index + 1];
    return isValue(next, word) ? [`${word}=${next}`] : [word];
  });
}

function helpAsked(argv: readonly string[]): HelpAsked {
  if (!argv.includes('--help') && !argv.includes('-h')) return 'none';
  return argv.some((word) => commandNames.includes(word)) ? 'command' : 'overview';
}

/** yargs names what it refused only in its message, `Unknown argument: slise` (its own words, locale `en`). */
function usageFailure(message: string, argv: readonly string[], offered: readonly string[]): Failure {
  const [, names = ''] = /^Unknown (?:arguments?|commands?): (.*)$/s.exec(message) ?? [];
  const unknown = names.split(', ').filter((name) => name !== '');
  const nearestNames = unknown
    .map((name) => (argv.includes(name) ? nearest(name, commandNames) : dashed(nearest(name, offered))))
    .filter((name) => name !== null);
  const command = argv.find((word) => commandNames.includes(word));
  const help = `ripen ${command === undefined ? '' : `${command} `}--help`;
  return new Failure('USAGE_INVALID', `The command line was refused: ${message.replaceAll('\n', ' ')}.`, {
    hint:
      nearestNames.length === 0
        ? `See \`${help}\`.`
        : `Did you mean ${nearestNames.map((name) => `\`${name}\``).join(', ')}? See \`${help}\`.`,
  });
}

function dashed(option: string | null): string | null {
  return option === null ? null : `--${option}`;
}
