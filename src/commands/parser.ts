/** The parser of the command line: every command of the table declared, what `--help` shows, and the script for completion. */

import yargs from 'yargs';

import { type Choose, globalOptions, type Verbs, verbs } from './verbs.ts';

const HELP_COLUMNS = 80;

/** What `ripen --help` shows: all commands, without the options they share, which would not fit a screen with them. */
const overview = `ripen <command> [options]; \`ripen <command> --help\` shows the options
Pulls reports into a warehouse and refreshes every cohort until it is final.`;

/** What kind of help the arguments request: none, that of `ripen` itself, or that of a command. */
export type HelpAsked = 'none' | 'overview' | 'command';

/** The parser with every command declared; for the `overview` the options that every command takes are not listed. */
export function declareCommands(version: string, choose: Choose, help: HelpAsked): Verbs {
  const cli = yargs()
    .scriptName('ripen')
    .locale('en')
    .exitProcess(false)
    .fail(false)
    .parserConfiguration({
      'parse-positional-numbers': false,
      // A name with a dot is no option's: it would fill one with an object.
      'dot-notation': false,
      // In groups `-dash` would hold the `-h` of help.
      'short-option-groups': false,
      // `--no-config` would be an option that nobody declared.
      'boolean-negation': false,
    })
    .wrap(HELP_COLUMNS)
    .usage(overview)
    .options(globalOptions);
  for (const each of verbs) each.declare(cli, choose);
  cli
    .command(
      'completion',
      'Print a script for shell completion',
      (inner) => inner.epilogue('Example: ripen completion >> ~/.bashrc'),
      () => {},
    )
    // Of the same name yargs prints its script before anything else, even when help is requested.
    .completion(help === 'none' ? 'completion' : 'completion-script', false)
    .version(version)
    .alias('help', 'h')
    .strict()
    .demandCommand(1, 'no command was given');
  if (help !== 'command') cli.epilogue('Example: ripen init && ripen check && ripen sync');
  for (const option of ['help', 'version', ...(help === 'overview' ? Object.keys(globalOptions) : [])])
    cli.hide(option);
  return cli;
}
