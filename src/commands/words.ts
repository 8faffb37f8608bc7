/** The words of the command line. */

import type { ArgumentsCamelCase, InferredOptionTypes, Options } from 'yargs';

import { catalogSections } from '../model/catalog.ts';
import { engines } from '../publish/words/engines.ts';

export type OptionTable = Readonly<Record<string, Options>>;

const text = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const;
const needed = (describe: string) => ({ ...text(describe), demandOption: true }) as const;
const list = (describe: string) => ({ ...text(describe), array: true }) as const;
const preset = (value: string, describe: string) =>
  ({ ...text(describe), default: value }) as const;
const word = (describe: string) => ({ type: 'string', describe }) as const;
const flag = (describe: string) => ({ type: 'boolean', default: false, describe }) as const;
/** Can exclude another option. It has no default, as yargs treats a default as given. */
const lever = (describe: string) => ({ type: 'boolean', describe }) as const;
const choice = <const C extends readonly string[]>(choices: C, describe: string) =>
  ({ choices, requiresArg: true, describe }) as const;

export const globalOptions = {
  config: text('Configuration file (default: ./ripen.yaml)'),
  'as-of': text('Instant to plan for, with its offset'),
  log: { ...choice(['text', 'json'], 'Form of events'), default: 'text' },
  quiet: { ...lever('Failures and results only'), conflicts: 'verbose' },
  verbose: lever('Every event, and what caused a failure'),
  json: flag('Result as one line of JSON'),
} as const satisfies OptionTable;

const slices = list('Slices to include (default: all)');
const app = needed('App token');
const lockWait = preset('60s', 'How long to wait for another run');

const verb = <O extends OptionTable>(
  describe: string,
  example: string,
  options: O,
  positional?: string,
) => ({ describe, example, options, positional });

/** A name of two words is a command of a group. */
export const verbs = {
  init: verb(
    'Write a first ripen.yaml, .env.example, editor schema',
    'init trial --simulator',
    {
      simulator: {
        ...lever('For the bundled simulator, without an account'),
        conflicts: 'from-account',
      },
      'from-account': lever('From what the account of RIPEN_TOKEN lists'),
      'base-url': text('Its campaign API [RIPEN_BASE_URL]'),
      'reports-url': text('Its reports [RIPEN_REPORTS_URL]'),
      dir: { ...word('Where to write; nothing is overwritten'), default: '.' },
    },
    'dir',
  ),
  check: verb('Find what is wrong before a sync; writes nothing', 'check --config prod.yaml', {
    resolved: flag('Only print the resolved configuration'),
  }),
  plan: verb(
    'Show what the next sync would request, and why',
    'plan --as-of 2026-02-14T02:30:00Z',
    { slice: list('Show the windows of these slices'), 'lock-wait': lockWait },
  ),
  sync: verb(
    'The nightly job: load whatever is due, then publish',
    'sync --slice network_daily --deadline 90m',
    {
      slice: slices,
      deadline: text('Start nothing new after this long, such as 90m'),
      'metrics-file': text('Write metrics for Prometheus to this file'),
      'lock-wait': lockWait,
    },
  ),
  backfill: verb(
    'Reload days, final or not, then publish',
    'backfill --slice network_daily --from 2026-01-01 --to 2026-01-31',
    {
      slice: needed('The slice'),
      from: needed('First day, YYYY-MM-DD'),
      to: needed('Last day, YYYY-MM-DD'),
      'accept-loss': flag('Load even if most rows would be lost'),
      'lock-wait': lockWait,
    },
  ),
  status: verb('Show what is fresh, final, restated, and last runs', 'status --html status.html', {
    slice: list('Details of these slices'),
    news: flag('Only show what the last night brought'),
    since: text('News since this instant, with its offset'),
    html: text('Write one page with pictures to this file'),
    'fail-on': choice(['watch', 'failed'], 'Exit 65 at this state or worse'),
    maturation: flag('Share of a value known at each age'),
    backtest: flag('How accurate past projections were'),
    'lock-wait': text('How long to wait before reading the snapshot'),
  }),
  replay: verb('Load again from the archive, without the service', 'replay --slice network_daily', {
    slice: slices,
    'lock-wait': lockWait,
  }),
  publish: verb('Update the published copies', 'publish --ddl trino', {
    config: list('Configuration file; with --ddl one for each account'),
    ddl: { ...choice(engines, 'Only print the statements for an engine'), conflicts: 'dbt' },
    dbt: word('Only write models for dbt to this folder, or x.yml'),
    'lock-wait': lockWait,
  }),
  drop: verb('Remove a slice, or its oldest periods, everywhere', 'drop --slice network_old', {
    slice: needed('The slice, configured or not'),
    before: text('Only periods that ended by this day, YYYY-MM-DD'),
    yes: flag('Do not ask'),
    'lock-wait': lockWait,
  }),
  export: verb(
    'Write one slice as Parquet, CSV or NDJSON',
    'export --slice network_daily --output january.csv',
    {
      slice: { ...text('The slice'), conflicts: 'table' },
      table: { ...text('Another table or view, such as links'), conflicts: 'final-only' },
      output: needed('A file (.csv.gz), or -'),
      format: choice(['parquet', 'csv', 'ndjson'], 'Form [the extension]'),
      from: text('First day, YYYY-MM-DD'),
      to: text('Last day, YYYY-MM-DD'),
      'final-only': lever('Cells that are not final are empty'),
      'as-is': flag('Do not escape formulas'),
      'lock-wait': lockWait,
    },
  ),
  catalog: verb(
    'Search metrics, dimensions, apps …',
    'catalog revenue',
    {
      section: choice(catalogSections, 'Only metrics of this section'),
      word: word('Part of an id or a name, in any case'),
    },
    'word',
  ),
  partners: verb('List the partners of the service', 'partners --json', {}),
  'links list': verb(
    'List network links, or the sub-links of one',
    'links list --app abc123def456 --parent 1a2b3c',
    { app, parent: text('Token of the link whose sub-links to list') },
  ),
  'links create': verb(
    'Create a network link, or a sub-link',
    'links create --app abc123def456 --name Summer',
    {
      app,
      name: needed('Name of the new link'),
      parent: text('Token of the parent, for a sub-link'),
    },
  ),
  'links update': verb(
    "Change a link's partner or cost data",
    'links update --app abc123def456 --link 1a2b3c --partner 174',
    {
      app,
      link: needed('Token of the link'),
      partner: text('Id of the partner to attach'),
      'cost-data': choice(['true', 'false'], 'Whether ad cost data is enabled'),
    },
  ),
  'spend send': verb('Send ad spend, no Cost ID twice', 'spend send --file spend.csv --dry-run', {
    file: needed('Lines to send: .csv or .ndjson'),
    'dry-run': flag('Check it, send nothing'),
    'resend-unknown': flag('Send unknown outcomes again'),
    'lock-wait': lockWait,
  }),
  simulator: verb(
    'Serve the whole service interface on loopback',
    'simulator --port 8080 --seed 7',
    {
      port: preset('0', 'Port on loopback; 0 takes a free one'),
      seed: preset('1', 'Seed of the simulated world'),
      now: text('Instant of its clock (default: now)'),
    },
  ),
  demo: verb('The guided tour: a month of simulated nights into ./data', 'demo', {
    nights: preset('28', 'Number of nights; with fewer nothing is projected'),
  }),
} as const;

export type VerbName = keyof typeof verbs;

export const groups: Readonly<Record<string, { describe: string; example: string }>> = {
  links: {
    describe: 'List, create and update the links of an app',
    example: 'links list --app abc123def456',
  },
  spend: {
    describe: 'Send ad spend to the service',
    example: 'spend send --file spend.csv --dry-run',
  },
};

export type GlobalArguments = ArgumentsCamelCase<InferredOptionTypes<typeof globalOptions>>;

/** The value of each option under its name in camelCase. */
export type Arguments<N extends VerbName> = ArgumentsCamelCase<
  Omit<InferredOptionTypes<typeof globalOptions>, keyof (typeof verbs)[N]['options']> &
    InferredOptionTypes<(typeof verbs)[N]['options']>
>;

export const commandNames: readonly string[] = [
  ...new Set(Object.keys(verbs).flatMap((name) => name.split(' '))),
  'completion',
];

export const allOptions: ReadonlyMap<string, Options> = new Map(
  [
    globalOptions,
    ...Object.values(verbs).map(({ options }): OptionTable => options),
    { help: lever(''), version: lever('') },
  ].flatMap((options) => Object.entries<Options>(options)),
);
