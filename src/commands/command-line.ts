/** Turns arguments into a command. Loads no command, so that `--help` is quick. */

import yargs, { type Argv, type InferredOptionTypes } from 'yargs';

import { nearest } from '../config/nearest.ts';
import { Failure, textOf } from '../errors.ts';
import type { Form, Shell } from '../report/terminal/shell.ts';
import { type CommandOutcome, present } from './outcome.ts';
import {
  allOptions,
  type Arguments,
  commandNames,
  globalOptions,
  groups,
  type OptionTable,
  type VerbName,
  verbs,
} from './words.ts';

/** `missing` is the help to print if the command is missing. */
type Requested =
  | { readonly kind: 'text' | 'missing'; readonly text: string }
  | { readonly kind: 'act'; readonly act: (shell: Shell) => Promise<number> };

/** Even of arguments that are refused. */
export function requestedForm(argv: readonly string[]): Form {
  const isJsonLog = argv.includes('--log=json') || argv[argv.indexOf('--log') + 1] === 'json';
  const isOn = (option: string) =>
    argv.some(
      (word, at) =>
        word.startsWith(`--${option}`) && word !== `--${option}=false` && argv[at + 1] !== 'false',
    );
  return { log: isJsonLog ? 'json' : 'text', json: isOn('json'), verbose: isOn('verbose') };
}

export async function parseCommandLine(
  argv: readonly string[],
  version: string,
): Promise<Requested> {
  if (argv.length === 0 || (argv.length === 1 && Object.hasOwn(groups, argv[0] ?? ''))) {
    const help = await parseCommandLine([...argv, '--help'], version);
    return help.kind === 'text' ? { ...help, kind: 'missing' } : help;
  }
  const isCompletion = argv.includes('--get-yargs-completions');
  const chosen: Chosen = { form: requestedForm(argv), act: null, options: {} };
  let output = '';
  try {
    if (!isCompletion) refuseUnclear(argv);
    const isHelp = argv.includes('--help') || argv.includes('-h');
    const isOfCommand = argv.some((word) => commandNames.includes(word));
    const help = isHelp ? (isOfCommand ? 'command' : 'overview') : 'none';
    const cli = parser(version, chosen, help);
    const parsed = await cli.parseAsync(dashJoined(argv), {}, (_error, _parsed, printed) => {
      if (printed !== '') output = printed;
    });
    if (output === '' && chosen.act === null && !isCompletion)
      throw new Error('no command was given');
    if (chosen.act === null || output !== '') return { kind: 'text', text: output };
    for (const [name, value] of Object.entries(parsed)) {
      const isList = !allOptions.has(name) || chosen.options[name]?.array === true;
      if (Array.isArray(value) && !isList)
        throw new Error(`--${name} was given ${value.length} times`);
    }
    return { kind: 'act', act: chosen.act };
  } catch (error) {
    throw usageFailure(textOf(error), argv);
  }
}

interface Chosen {
  readonly form: Form;
  act: ((shell: Shell) => Promise<number>) | null;
  options: OptionTable;
}

const overview = `ripen <command> [options]; \`ripen <command> --help\` shows the options
Pulls reports into a warehouse and refreshes every cohort until it is final.`;

type Cli = Argv<InferredOptionTypes<typeof globalOptions>>;

function parser(version: string, chosen: Chosen, help: 'none' | 'overview' | 'command'): Cli {
  const cli = yargs()
    .scriptName('ripen')
    .locale('en')
    .exitProcess(false)
    .fail(false)
    .parserConfiguration({
      'parse-positional-numbers': false,
      // Otherwise a dot would fill an option with an object.
      'dot-notation': false,
      // Otherwise `-dash` would contain the `-h` of help.
      'short-option-groups': false,
      // Otherwise `--no-config` would be an option that is not declared.
      'boolean-negation': false,
    })
    .wrap(80)
    .usage(overview)
    .options(globalOptions);
  for (const { name, declare } of commands) if (!name.includes(' ')) declare(cli, chosen);
  for (const [word, { describe, example }] of Object.entries(groups)) {
    const inner = commands.filter(({ name }) => name.startsWith(`${word} `));
    const names = inner.map(({ name }) => name.split(' ')[1]).join(', ');
    cli.command(word, describe, (group: Cli) => {
      for (const { declare } of inner) declare(group, chosen);
      return group
        .group(Object.keys(globalOptions), shared)
        .epilogue(`Example: ripen ${example}`)
        .demandCommand(1, 1, `${word} needs a command: ${names}`);
    });
  }
  cli
    .command(
      'completion',
      'Print a script for shell completion',
      (inner) => inner.epilogue('Example: ripen completion >> ~/.bashrc'),
      () => {},
    )
    // If both had the same name, yargs would print its script first, even if help is requested.
    .completion(help === 'none' ? 'completion' : 'completion-script', false)
    .version(version)
    .alias('help', 'h')
    .strict()
    .demandCommand(1, 'no command was given');
  if (help !== 'command') cli.epilogue('Example: ripen init && ripen check && ripen sync');
  const hidden = help === 'overview' ? Object.keys(globalOptions) : [];
  for (const option of ['help', 'version', ...hidden]) cli.hide(option);
  return cli;
}

const shared = 'For every command:';

function command<N extends VerbName>(
  name: N,
  load: () => Promise<(args: Arguments<N>, shell: Shell) => Promise<CommandOutcome>>,
) {
  const { describe, example, positional, options } = verbs[name];
  const word = name.split(' ').at(-1) ?? name;
  const usage = positional === undefined ? word : `${word} [${positional}]`;
  const named = Object.keys(options).filter((option) => option !== positional);
  const build = (cli: Cli) =>
    cli
      .options<(typeof verbs)[N]['options']>(options)
      .group(positional ?? [], 'Positionals:')
      .group(named, 'Options:')
      .group(Object.keys(globalOptions), shared)
      .epilogue(`Example: ripen ${example}`);
  const declare = (cli: Cli, chosen: Chosen) => {
    cli.command(usage, describe, build, (args) => {
      chosen.options = options;
      chosen.act = async (shell) => present(await (await load())(args, shell), chosen.form, shell);
    });
  };
  return { name, declare };
}

const commands = [
  command('init', async () => (await import('./check.ts')).init),
  command('check', async () => (await import('./check.ts')).check),
  command('plan', async () => (await import('./plan.ts')).plan),
  command('sync', async () => (await import('./sync.ts')).sync),
  command('backfill', async () => (await import('./sync.ts')).backfill),
  command('status', async () => (await import('./status.ts')).status),
  command('replay', async () => (await import('./sync.ts')).replay),
  command('publish', async () => (await import('./copies.ts')).publish),
  command('drop', async () => (await import('./copies.ts')).drop),
  command('export', async () => (await import('./copies.ts')).exportRows),
  command('catalog', async () => (await import('./account.ts')).catalog),
  command('partners', async () => (await import('./account.ts')).partners),
  command('links list', async () => (await import('./account.ts')).linksList),
  command('links create', async () => (await import('./account.ts')).linksCreate),
  command('links update', async () => (await import('./account.ts')).linksUpdate),
  command('spend send', async () => (await import('./account.ts')).spendSend),
  command('simulator', async () => (await import('./simulator.ts')).simulator),
  command('demo', async () => (await import('./demo.ts')).demo),
];

/** Refuses what yargs drops or misunderstands (`--dryRun`, `--dry-run=1`). */
function refuseUnclear(argv: readonly string[]) {
  if (argv.includes('--')) throw new Error('nothing may stand behind --');
  const values = new Map<string, string>();
  for (const [at, word] of argv.entries()) {
    const [, name = '', written] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (/[A-Z]/.test(name)) throw new Error(`Unknown argument: ${name}`);
    if (allOptions.get(name)?.type !== 'boolean') continue;
    const value = written ?? (argv[at + 1] === 'false' ? 'false' : 'true');
    if (value !== 'true' && value !== 'false')
      throw new Error(`--${name} takes no value but true or false, as in --${name}=true`);
    if ((values.get(name) ?? value) !== value)
      throw new Error(`--${name} was given as both true and false`);
    values.set(name, value);
  }
}

/** Joins `-` to the option before it: yargs takes `-` for an option, not for a value. */
function dashJoined(argv: readonly string[]) {
  return argv.flatMap((word, at) => {
    if (word === '-' && argv[at - 1]?.startsWith('--') === true) return [];
    return argv[at + 1] === '-' && word.startsWith('--') ? [`${word}=-`] : [word];
  });
}

/** Reads yargs' message, such as `Unknown argument: slise` (locale `en`). */
function usageFailure(message: string, argv: readonly string[]) {
  const [, names = ''] = /^Unknown (?:arguments?|commands?): (.*)$/s.exec(message) ?? [];
  // yargs names each twice, as `dry-rnu` and `dryRnu`.
  const unknown = names.split(', ').filter((name) => name !== '' && !/[A-Z]/.test(name));
  const reason =
    unknown.length === 0
      ? message.replaceAll('\n', ' ')
      : `Unknown argument: ${unknown.join(', ')}`;
  const meant = unknown.flatMap((name) => {
    const isWord = argv.includes(name);
    const near = nearest(name, isWord ? commandNames : allOptions.keys());
    return near === null ? [] : `\`${isWord ? '' : '--'}${near}\``;
  });
  const suggestion = meant.length === 0 ? '' : `Did you mean ${meant.join(', ')}? `;
  const command = argv.find((word) => commandNames.includes(word));
  return new Failure('USAGE_INVALID', `The command line was refused: ${reason}.`, {
    hint: `${suggestion}See \`ripen ${command === undefined ? '' : `${command} `}--help\`.`,
  });
}
