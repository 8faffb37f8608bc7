/**
 * The words of the command line: every command with its options, help text and example, as one table.
 *
 * The commands themselves are loaded when one is carried out, never before.
 */

import type { ArgumentsCamelCase, Argv, InferredOptionTypes, Options } from 'yargs';

import { catalogSections } from '../model/catalog.ts';
import { engines } from '../publish/engines.ts';
import type { Act, Shell } from '../terminal/shell.ts';

const text = { type: 'string', requiresArg: true } as const;
const flag = { type: 'boolean', default: false } as const;
const needed = { ...text, demandOption: true } as const;

export const globalOptions = {
  config: { ...text, describe: 'Configuration file; else ./ripen.yaml' },
  'as-of': { ...text, describe: 'Instant to plan for, with its offset' },
  log: { choices: ['text', 'json'], default: 'text', requiresArg: true, describe: 'Form of events' },
  quiet: { type: 'boolean', conflicts: 'verbose', describe: 'Failures and results only' },
  verbose: { type: 'boolean', describe: 'Every event, and what caused a failure' },
  json: { ...flag, describe: 'Result as one line of JSON' },
} as const satisfies Record<string, Options>;

const slices = { ...text, array: true, describe: 'Only these slices [all]' } as const;
const first = { ...text, describe: 'First day, YYYY-MM-DD' } as const;
const last = { ...text, describe: 'Last day, YYYY-MM-DD' } as const;
const app = { ...needed, describe: 'App token' } as const;
const dryRun = { ...flag, describe: 'Check it, send nothing' } as const;
const lockWait = { ...text, default: '60s', describe: 'How long to wait for another run' } as const;

/** A parser that knows the options of every command. */
export type Verbs = Argv<InferredOptionTypes<typeof globalOptions>>;
type Given<O extends Readonly<Record<string, Options>>> = ArgumentsCamelCase<
  Omit<InferredOptionTypes<typeof globalOptions>, keyof O> & InferredOptionTypes<O>
>;
export type Choose = (act: Act, options: Readonly<Record<string, Options>>) => void;

interface Verb {
  readonly words: string;
  readonly options: Readonly<Record<string, Options>>;
  declare(cli: Verbs, choose: Choose): void;
}

/** A row of the table: the words, what the command does, an example, its options, and what carries it out. */
function verb<O extends Readonly<Record<string, Options>>>(
  [words, describe, example]: readonly [words: string, describe: string, example: string],
  options: O,
  load: () => Promise<(args: Given<O>, shell: Shell) => Promise<number>>,
): Verb {
  const [, positional] = /\[(\w+)\]/.exec(words) ?? [];
  const build = (cli: Verbs) =>
    cli
      .options(options)
      .group(positional ?? [], 'Positionals:')
      .group(
        Object.keys(options).filter((name) => name !== positional),
        'Options:',
      )
      .group(Object.keys(globalOptions), SHARED)
      .epilogue(`Example: ${example}`);
  return {
    words,
    options,
    declare: (cli, choose) => {
      cli.command(words, describe, build, (args) => {
        choose(async (shell) => (await load())(args, shell), options);
      });
    },
  };
}

/** A command that is carried out by commands of its own. */
function group([word, describe, example]: readonly [string, string, string], verbs: readonly Verb[]): Verb {
  const names = verbs.map(({ words }) => words).join(', ');
  return {
    words: word,
    options: {},
    declare: (cli, choose) => {
      cli.command(word, describe, (inner: Verbs) => {
        for (const each of verbs) each.declare(inner, choose);
        return inner
          .group(Object.keys(globalOptions), SHARED)
          .epilogue(`Example: ${example}`)
          .demandCommand(1, 1, `${word} needs a command: ${names}`);
      });
    },
  };
}

const SHARED = 'For every command:';

const linksVerbs = [
  verb(
    ['list', 'List network links, or the sub-links of one', 'ripen links list --app abc123def456 --parent 1a2b3c'],
    { app, parent: { ...text, describe: 'Token of the link whose sub-links to list' } },
    async () => (await import('./account.ts')).linksList,
  ),
  verb(
    ['create', 'Create a network link, or a sub-link', 'ripen links create --app abc123def456 --name Summer'],
    {
      app,
      name: { ...needed, describe: 'Name of the new link' },
      parent: { ...text, describe: 'Token of the parent, for a sub-link' },
      'dry-run': dryRun,
      'even-if-taken': { ...flag, describe: 'Create a second one of its name' },
    },
    async () => (await import('./account.ts')).linksCreate,
  ),
  verb(
    [
      'update',
      "Change a link's partner or cost data",
      'ripen links update --app abc123def456 --link 1a2b3c --partner 174',
    ],
    {
      app,
      link: { ...needed, describe: 'Token of the link' },
      partner: { ...text, describe: 'Id of the partner to attach' },
      'cost-data': {
        choices: ['true', 'false'] as const,
        requiresArg: true,
        describe: 'Whether ad cost data is enabled',
      },
    },
    async () => (await import('./account.ts')).linksUpdate,
  ),
];

const spendVerbs = [
  verb(
    ['send', 'Send ad spend, no Cost ID twice', 'ripen spend send --file spend.csv --dry-run'],
    {
      file: { ...needed, describe: 'Lines to send: .csv, .ndjson or .parquet' },
      'dry-run': dryRun,
      'resend-unknown': { ...flag, describe: 'Send unknown outcomes again' },
      'lock-wait': lockWait,
    },
    async () => (await import('./spend-send.ts')).spendSend,
  ),
];

export const verbs: readonly Verb[] = [
  verb(
    ['init [dir]', 'Write a first ripen.yaml, .env.example, editor schema', 'ripen init trial --simulator'],
    {
      simulator: {
        type: 'boolean',
        conflicts: 'from-account',
        describe: 'For the bundled simulator, without an account',
      },
      'from-account': { type: 'boolean', describe: 'From what the account of RIPEN_TOKEN lists' },
      'base-url': { ...text, describe: 'Its campaign API [RIPEN_BASE_URL]' },
      'reports-url': { ...text, describe: 'Its reports [RIPEN_REPORTS_URL]' },
      app: { ...text, array: true, describe: 'Only these app tokens [all]' },
      currency: { ...text, describe: 'Currency of money [that of most apps]' },
      dir: { type: 'string', default: '.', describe: 'Where to write; nothing is overwritten' },
    },
    async () => (await import('./check.ts')).init,
  ),
  verb(
    ['check', 'Find what is wrong before a sync; writes nothing', 'ripen check --config prod.yaml'],
    { resolved: { ...flag, describe: 'Only print the configuration as it is understood' } },
    async () => (await import('./check.ts')).check,
  ),
  verb(
    ['plan', 'Show what the next sync would request, and why', 'ripen plan --as-of 2026-02-14T02:30:00Z'],
    { slice: { ...slices, describe: 'These slices, window by window' }, 'lock-wait': lockWait },
    async () => (await import('./plan.ts')).plan,
  ),
  verb(
    ['sync', 'The nightly job: load whatever is due, then publish', 'ripen sync --slice network_daily --deadline 90m'],
    {
      slice: slices,
      deadline: { ...text, describe: 'Start nothing new after this long, such as 90m' },
      'metrics-file': { ...text, describe: 'Write metrics for Prometheus to this file' },
      'lock-wait': lockWait,
    },
    async () => (await import('./sync.ts')).sync,
  ),
  verb(
    [
      'backfill',
      'Load periods again, whatever their state, publish',
      'ripen backfill --slice network_daily --from 2026-01-01 --to 2026-01-31',
    ],
    {
      slice: { ...needed, describe: 'The slice' },
      from: { ...first, demandOption: true },
      to: { ...last, demandOption: true },
      'accept-loss': { ...flag, describe: 'Load even if most rows would vanish' },
      'lock-wait': lockWait,
    },
    async () => (await import('./sync.ts')).backfill,
  ),
  verb(
    ['status', 'Show what is fresh, final, restated, and last runs', 'ripen status --html status.html'],
    {
      slice: { ...slices, describe: 'Details of these slices' },
      html: { ...text, describe: 'Write one page with pictures to this file' },
      'fail-on': { choices: ['watch', 'failed'] as const, requiresArg: true, describe: 'End with 65 if so or worse' },
      maturation: { type: 'boolean', describe: 'Show how much of a final value is known at each age' },
      backtest: { type: 'boolean', describe: 'Show what projections would have come to' },
      'lock-wait': { ...text, describe: 'How long to wait for a run before its snapshot is read' },
    },
    async () => (await import('./status.ts')).status,
  ),
  verb(
    ['replay', 'Load again from the archive, without the service', 'ripen replay --slice network_daily'],
    { slice: slices, 'lock-wait': lockWait },
    async () => (await import('./sync.ts')).replay,
  ),
  verb(
    ['publish', 'Bring the published copies up to the warehouse', 'ripen publish --ddl trino'],
    {
      config: { ...text, array: true, describe: 'Configuration file; with --ddl one for each account' },
      ddl: {
        choices: engines,
        requiresArg: true,
        conflicts: 'dbt',
        describe: 'Only print how an engine reads the lake',
      },
      dbt: { type: 'string', describe: 'Only write models for dbt to this folder, or x.yml' },
      'lock-wait': lockWait,
    },
    async () => (await import('./publish.ts')).publish,
  ),
  verb(
    ['drop', 'Remove a slice, or its oldest periods, everywhere', 'ripen drop --slice network_old'],
    {
      slice: { ...needed, describe: 'The slice, configured or not' },
      before: { ...text, describe: 'Only periods that ended by this day, YYYY-MM-DD' },
      yes: { ...flag, describe: 'Do not ask' },
      'lock-wait': lockWait,
    },
    async () => (await import('./drop.ts')).drop,
  ),
  verb(
    ['export', 'Write one slice as Parquet, CSV or NDJSON', 'ripen export --slice network_daily --output january.csv'],
    {
      slice: { ...text, conflicts: 'table', describe: 'The slice' },
      table: { ...text, conflicts: 'final-only', describe: 'Another table or view, such as links' },
      output: { ...needed, describe: 'A file (.csv.gz), or -' },
      format: { ...text, describe: 'parquet, csv or ndjson [the extension]' },
      from: first,
      to: last,
      'final-only': { type: 'boolean', describe: 'Cells that are not final are empty' },
      'as-is': { ...flag, describe: 'No apostrophe before formulas' },
      'lock-wait': lockWait,
    },
    async () => (await import('./export.ts')).exportRows,
  ),
  verb(
    ['catalog [word]', 'Search the metrics, dimensions, apps … there are', 'ripen catalog revenue'],
    {
      section: { choices: catalogSections, requiresArg: true, describe: 'Only metrics of this section' },
      word: { type: 'string', describe: 'Part of an id or a name, in any case' },
    },
    async () => (await import('./account.ts')).catalog,
  ),
  verb(
    ['partners', 'List the partners of the service', 'ripen partners --json'],
    {},
    async () => (await import('./account.ts')).partners,
  ),
  group(['links', 'List, create and update the links of an app', 'ripen links list --app abc123def456'], linksVerbs),
  group(['spend', 'Send ad spend to the service', 'ripen spend send --file spend.csv --dry-run'], spendVerbs),
  verb(
    ['simulator', 'Serve the whole service interface on loopback', 'ripen simulator --port 8080 --seed 7'],
    {
      port: { ...text, default: '0', describe: 'Port on loopback; 0 takes a free one' },
      seed: { ...text, default: '1', describe: 'Which world to simulate' },
      now: { ...text, describe: 'The instant its clock stands at [the clock]' },
    },
    async () => (await import('./simulator.ts')).simulator,
  ),
  verb(
    ['demo', 'The guided tour: a month of simulated nights into ./data', 'ripen demo'],
    { nights: { ...text, default: '28', describe: 'How many; with fewer nothing is projected yet' } },
    async () => (await import('./demo.ts')).demo,
  ),
];

/** Commands that are carried out by commands of their own. */
export const groupNames: readonly string[] = ['links', 'spend'];

const all = [...verbs, ...linksVerbs, ...spendVerbs];

/** Every word that names a command. */
export const commandNames: readonly string[] = [...all.map(({ words }) => words.split(' ')[0] ?? ''), 'completion'];

/** Every option there is, by name. */
export const allOptions: ReadonlyMap<string, Options> = new Map(
  [
    globalOptions,
    ...all.map(({ options }) => options),
    { help: { type: 'boolean' }, version: { type: 'boolean' } } as const,
  ].flatMap((options) => Object.entries<Options>(options)),
);
