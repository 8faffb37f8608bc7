/**
 * From arguments to what was asked for, strictly: whatever is unknown is refused with the nearest name.
 *
 * Parsing runs nothing and loads no command, so `--help` and completion answer at once.
 */

import { nearest } from '../config/nearest.ts';
import { Failure, textOf } from '../errors.ts';
import { countText } from '../terminal/measure.ts';
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
  const words = statedWords(argv);
  const isAsked = (option: string): boolean =>
    words.some(({ name, value, next }) => name === option && (value ?? next) !== 'false');
  const isJsonLog = words.some(({ name, value, next }) => name === 'log' && (value ?? next) === 'json');
  return { log: isJsonLog ? 'json' : 'text', json: isAsked('json'), verbose: isAsked('verbose') };
}

/** What the arguments ask for; `USAGE_INVALID`, with the nearest names, for anything unknown or missing. */
export async function parseCommandLine(argv: readonly string[], version: string): Promise<Asked> {
  const chosen: { act: Act | null } = { act: null };
  const offered = ['help', 'version'];
  const lists = new Set<string>();
  const switches = new Set(['help', 'h', 'version']);
  let output = '';
  const chooser: Chooser = {
    choose: (act) => {
      chosen.act = act;
    },
    offer: (options) => {
      for (const [name, { array, type }] of Object.entries(options)) {
        offered.push(name);
        if (array === true) lists.add(name);
        if (type === 'boolean') switches.add(name);
      }
      return options;
    },
  };
  if (isBare(argv)) {
    const help = await parseCommandLine([...argv, '--help'], version);
    return help.kind === 'text' ? { ...help, kind: 'missing' } : help;
  }
  const isCompletion = argv.includes('--get-yargs-completions');
  const cli = declareCommands(version, chooser, helpAsked(argv));
  try {
    if (!isCompletion) refuseBehindDashes(argv);
    const parsed = await cli.parseAsync(dashesJoined(argv), {}, (_error, _parsed, printed) => {
      if (printed !== '') output = printed;
    });
    if (output === '' && chosen.act === null && !isCompletion) throw new Error('no command was given');
    refuseUnclear(statedWords(argv), switches);
    if (chosen.act === null || output !== '') return { kind: 'text', text: output };
    refuseRepeated(Object.entries(parsed), (name) => /^[a-z-]+$/.test(name) && !lists.has(name));
    return { kind: 'act', act: chosen.act };
  } catch (error) {
    throw usageFailure(textOf(error), argv, offered);
  }
}

/** yargs hands what stands behind a bare `--` to nobody: an option there would be dropped in silence. */
function refuseBehindDashes(argv: readonly string[]): void {
  const words = dashesJoined(argv);
  const behind = words.slice(words.indexOf('--') + 1);
  if (!words.includes('--') || behind.length === 0) return;
  throw new Error(`nothing may stand behind --, where ${countText(behind.length, 'word')} stood`);
}

/** An option as it was typed. */
interface StatedWord {
  /** As the options are named; with its `no-`, where one was typed. */
  readonly name: string;
  /** What stands behind its `=`; null without one. */
  readonly value: string | null;
  /** The word behind it. */
  readonly next: string | undefined;
}

/** The options among the arguments, in order. yargs takes `--dryRun` for `--dry-run`, and one dash for two. */
function statedWords(argv: readonly string[]): StatedWord[] {
  const words = dashesJoined(argv);
  return words.flatMap((word, index) => {
    const [, typed = '', value = null] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const name = typed.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return name === '' ? [] : [{ name, value, next: words[index + 1] }];
  });
}

/** yargs takes any value of a switch but `true` for false, the last of two for what was meant, and `--no-` with any option. */
function refuseUnclear(words: readonly StatedWord[], switches: ReadonlySet<string>): void {
  const stated = new Map<string, boolean>();
  for (const { name, value, next } of words) {
    const negated = /^no-(.*)$/s.exec(name)?.[1] ?? null;
    if (negated !== null && !switches.has(negated)) throw new Error(`Unknown argument: ${name}`);
    if (negated === null && !switches.has(name)) continue;
    if (value !== null && value !== 'true' && value !== 'false') {
      throw new Error(`--${name} takes no value but true or false, as in --${name}=true`);
    }
    const said = negated === null && (value ?? next) !== 'false';
    const option = negated ?? name;
    if (stated.has(option) && stated.get(option) !== said)
      throw new Error(`--${option} was given as both true and false`);
    stated.set(option, said);
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
