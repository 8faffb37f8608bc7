/**
 * The words of the command line: every command, option, help text and example, on one page.
 *
 * The commands themselves are loaded when one is carried out, never before.
 */

import yargs from 'yargs';

import { linksVerbs, spendVerbs } from './verb-groups.ts';
import {
  backfillOptions,
  catalogOptions,
  checkOptions,
  type Chooser,
  dropOptions,
  exportOptions,
  globalOptions,
  initOptions,
  planOptions,
  publishOptions,
  simulatorOptions,
  statusOptions,
  syncOptions,
  type Verbs,
} from './verb-options.ts';

export const commandNames = [
  'init',
  'check',
  'plan',
  'sync',
  'backfill',
  'status',
  'replay',
  'publish',
  'drop',
  'catalog',
  'partners',
  'links',
  'list',
  'create',
  'update',
  'export',
  'spend',
  'send',
  'simulator',
  'demo',
  'completion',
];

/** Commands that are carried out by a command of their own. */
export const groupNames = ['links', 'spend'] as const;

const HELP_COLUMNS = 80;

/** What `ripen --help` lists: all commands, without the options they share, which would not fit a screen with them. */
const overview = `ripen <command> [options]; \`ripen <command> --help\` shows the options
Pulls reports into a warehouse and refreshes every cohort until it is final.`;

/** What kind of help was asked for: none, that of `ripen` itself, or that of a command. */
export type HelpAsked = 'none' | 'overview' | 'command';

/** The parser with every command declared; for the `overview` the options that every command takes are not listed. */
export function declareCommands(version: string, chooser: Chooser, help: HelpAsked): Verbs {
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
    })
    .wrap(HELP_COLUMNS)
    .usage(overview)
    .options(chooser.offer(globalOptions))
    .group(Object.keys(globalOptions), 'For every command:')
    .command(
      'init [dir]',
      'Write a first ripen.yaml, .env.example, editor schema',
      (cli) =>
        cli
          .options(chooser.offer(initOptions))
          // Taken as everywhere, and of no use here.
          .hide('as-of')
          .hide('config')
          .example('ripen init trial --simulator', 'one that works at once, in ./trial')
          .positional('dir', { type: 'string', default: '.', describe: 'Where to write; nothing is ever overwritten' }),
      (args) => {
        chooser.choose(async (shell) => (await import('./init.ts')).init(args, shell));
      },
    )
    .command(
      'check',
      'Find what is wrong before a sync; writes nothing',
      (cli) =>
        cli.options(chooser.offer(checkOptions)).example('ripen check --config prod.yaml', 'all findings at once'),
      (args) => {
        chooser.choose(async (shell) => (await import('./check.ts')).check(args, shell));
      },
    )
    .command(
      'plan',
      'Show what the next sync would request, and why',
      (cli) =>
        cli
          .options(chooser.offer(planOptions))
          .example('ripen plan --as-of 2026-02-14T02:30:00Z', 'asks the service nothing'),
      (args) => {
        chooser.choose(async (shell) => (await import('./plan.ts')).plan(args, shell));
      },
    )
    .command(
      'sync',
      'The nightly job: load whatever is due, then publish',
      (cli) =>
        cli
          .options(chooser.offer(syncOptions))
          .example('ripen sync --slice network_daily --deadline 90m', 'one slice, for 90 minutes'),
      (args) => {
        chooser.choose(async (shell) => (await import('./sync.ts')).sync(args, shell));
      },
    )
    .command(
      'backfill',
      'Load periods again, whatever their state, publish',
      (cli) =>
        cli
          .options(chooser.offer(backfillOptions))
          .example(
            'ripen backfill --slice network_daily --from 2026-01-01 --to 2026-01-31',
            'the whole of January again',
          ),
      (args) => {
        chooser.choose(async (shell) => (await import('./sync.ts')).backfill(args, shell));
      },
    )
    .command(
      'status',
      'Show what is fresh, final, restated, and last runs',
      (cli) =>
        cli
          .options(chooser.offer(statusOptions))
          .example('ripen status --html status.html', 'the same as a page with pictures'),
      (args) => {
        chooser.choose(async (shell) => (await import('./status.ts')).status(args, shell));
      },
    )
    .command(
      'replay',
      'Load again from the archive, without the service',
      (cli) =>
        cli
          .options(chooser.offer(planOptions))
          .example('ripen replay --slice network_daily', 'what was archived of one slice, then publishes'),
      (args) => {
        chooser.choose(async (shell) => (await import('./sync.ts')).replay(args, shell));
      },
    )
    .command(
      'publish',
      'Bring the published copies up to the warehouse',
      (cli) =>
        cli
          .options(chooser.offer(publishOptions))
          .example('ripen publish', 'rewrites only what changed')
          .example('ripen publish --ddl trino', 'the statements to read the lake with'),
      (args) => {
        chooser.choose(async (shell) => (await import('./publish.ts')).publish(args, shell));
      },
    )
    .command(
      'drop',
      'Remove a slice, or its oldest periods, everywhere',
      (cli) =>
        cli
          .options(chooser.offer(dropOptions))
          .example('ripen drop --slice network_old', 'says what that deletes, and asks'),
      (args) => {
        chooser.choose(async (shell) => (await import('./drop.ts')).drop(args, shell));
      },
    )
    .command(
      'export',
      'Write one slice as Parquet, CSV or NDJSON',
      (cli) =>
        cli
          .options(chooser.offer(exportOptions))
          // Taken as everywhere, and of no use here: the rest fills the screen.
          .hide('as-of')
          .hide('log')
          .example('ripen export --slice network_daily --output january.csv', 'formulas in text are defused'),
      (args) => {
        chooser.choose(async (shell) => (await import('./export.ts')).exportRows(args, shell));
      },
    )
    .command(
      'catalog [word]',
      'Search the metrics, dimensions, apps … there are',
      (cli) =>
        cli
          .options(chooser.offer(catalogOptions))
          .example('ripen catalog revenue', 'every item with the word in its id or names')
          .positional('word', { type: 'string', describe: 'Part of an id or a name, in any case' }),
      (args) => {
        chooser.choose(async (shell) => (await import('./catalog.ts')).catalog(args, shell));
      },
    )
    .command(
      'partners',
      'List the partners of the service',
      (cli) => cli.example('ripen partners --json', 'as one JSON object'),
      (args) => {
        chooser.choose(async (shell) => (await import('./catalog.ts')).partners(args, shell));
      },
    )
    .command('links', 'List, create and update the links of an app', (cli) => linksVerbs(cli, chooser))
    .command('spend', 'Send ad spend to the service', (cli) => spendVerbs(cli, chooser))
    .command(
      'simulator',
      'Serve the whole service interface on loopback',
      (cli) =>
        cli.options(chooser.offer(simulatorOptions)).example('ripen simulator --port 8080 --seed 7', 'until Ctrl-C'),
      (args) => {
        chooser.choose(async (shell) => (await import('./simulator.ts')).simulator(args, shell));
      },
    )
    .command(
      'demo',
      'The guided tour: two simulated nights into ./data',
      (cli) => cli.example('ripen demo', 'needs no account and no configuration'),
      (args) => {
        chooser.choose(async (shell) => (await import('./demo.ts')).demo(args, shell));
      },
    )
    .command(
      'completion',
      'Print a script for shell completion',
      (cli) => cli.example('ripen completion >> ~/.bashrc', 'or >> ~/.zshrc'),
      () => {},
    )
    // Of the same name yargs prints its script before anything else, even when asked for help.
    .completion(help === 'none' ? 'completion' : 'completion-script', false)
    .example('ripen init && ripen check && ripen sync', 'the first night')
    .version(version)
    .alias('help', 'h')
    .strict()
    .demandCommand(1, 'no command was given');
  const hidden = ['help', 'version', ...(help === 'overview' ? Object.keys(globalOptions) : [])];
  for (const option of hidden) cli.hide(option);
  return cli;
}
