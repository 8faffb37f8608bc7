/** The options of every command, as yargs reads them, and what a command is declared with. No option takes a token. */

import type { Argv, InferredOptionTypes, Options } from 'yargs';

import { catalogSections } from '../model/catalog.ts';
import { engines } from '../publish/engines.ts';
import type { Act } from '../terminal/shell.ts';

export const globalOptions = {
  config: { type: 'string', requiresArg: true, describe: 'Configuration file; else ./ripen.yaml' },
  'as-of': { type: 'string', requiresArg: true, describe: 'Instant to plan for, with its offset' },
  log: { choices: ['text', 'json'], default: 'text', requiresArg: true, describe: 'Form of events' },
  quiet: { type: 'boolean', conflicts: 'verbose', describe: 'Failures and results only' },
  verbose: { type: 'boolean', describe: 'Every event, and what caused a failure' },
  json: { type: 'boolean', default: false, describe: 'Result as one line of JSON' },
} as const satisfies Record<string, Options>;

export const text = { type: 'string', requiresArg: true } as const;
const needed = { ...text, demandOption: true } as const;
const lockWait = { ...text, default: '60s', describe: 'How long to wait for another run' } as const;

export const slice = { ...text, array: true, describe: 'Only these slices [all]' } as const;
export const initOptions = {
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
} as const;
export const checkOptions = {
  resolved: { type: 'boolean', default: false, describe: 'Only print the configuration as it is understood' },
} as const;
export const planOptions = { slice, 'lock-wait': lockWait } as const;
export const syncOptions = {
  slice,
  deadline: { ...text, describe: 'Start nothing new after this long, such as 90m' },
  'metrics-file': { ...text, describe: 'Write metrics for Prometheus to this file' },
  'lock-wait': lockWait,
} as const;
export const backfillOptions = {
  slice: { ...needed, describe: 'The slice' },
  from: { ...needed, describe: 'First day, YYYY-MM-DD' },
  to: { ...needed, describe: 'Last day, YYYY-MM-DD' },
  'accept-loss': { type: 'boolean', default: false, describe: 'Load even if most rows would vanish' },
  'lock-wait': lockWait,
} as const;
export const statusOptions = {
  html: { ...text, describe: 'Write one page with pictures to this file' },
  'fail-on': { choices: ['watch', 'failed'], requiresArg: true, describe: 'End with 65 if so or worse' },
  maturation: { type: 'boolean', describe: 'Show how much of a final value is known at each age' },
  backtest: { type: 'boolean', describe: 'Show what projections would have come to' },
  'lock-wait': { ...text, describe: 'How long to wait for a run before its snapshot is read' },
} as const;
export const publishOptions = {
  ddl: {
    choices: engines,
    requiresArg: true,
    conflicts: 'dbt',
    describe: 'Only print how an engine reads the lake',
  },
  dbt: { type: 'string', describe: 'Only write models for dbt to this folder, or x.yml' },
  'lock-wait': lockWait,
} as const;
export const dropOptions = {
  slice: { ...needed, describe: 'The slice, configured or not' },
  before: { ...text, describe: 'Only periods that ended by this day, YYYY-MM-DD' },
  yes: { type: 'boolean', default: false, describe: 'Do not ask' },
  'lock-wait': lockWait,
} as const;
export const catalogOptions = {
  section: { choices: catalogSections, requiresArg: true, describe: 'Only metrics of this section' },
} as const;
export const linksOptions = {
  app: { ...needed, describe: 'App token' },
  parent: { ...text, describe: 'Token of the link whose sub-links to list' },
} as const;
export const linksCreateOptions = {
  app: { ...needed, describe: 'App token' },
  name: { ...needed, describe: 'Name of the new link' },
  parent: { ...text, describe: 'Token of the parent, for a sub-link' },
  'dry-run': { type: 'boolean', default: false, describe: 'Judge the link, create nothing' },
  'even-if-taken': { type: 'boolean', default: false, describe: 'Create a second one of its name' },
} as const;
export const linksUpdateOptions = {
  app: { ...needed, describe: 'App token' },
  link: { ...needed, describe: 'Token of the link' },
  partner: { ...text, describe: 'Id of the partner to attach' },
  'cost-data': { choices: ['true', 'false'], requiresArg: true, describe: 'Whether ad cost data is enabled' },
} as const;
export const spendOptions = {
  file: { ...needed, describe: 'Lines to send: .csv, .ndjson or .parquet' },
  'dry-run': { type: 'boolean', default: false, describe: 'Judge the lines, send nothing' },
  'resend-unknown': { type: 'boolean', default: false, describe: 'Send unknown outcomes again' },
  'lock-wait': lockWait,
} as const;
export const exportOptions = {
  slice: { ...text, conflicts: 'table', describe: 'The slice' },
  table: { ...text, conflicts: 'final-only', describe: 'Another table or view, such as links' },
  output: { ...needed, describe: 'A file (.csv.gz), s3://…, or -' },
  format: { ...text, describe: 'parquet, csv or ndjson [the extension]' },
  from: { ...text, describe: 'First day, YYYY-MM-DD' },
  to: { ...text, describe: 'Last day, YYYY-MM-DD' },
  'final-only': { type: 'boolean', describe: 'Cells that are not final are empty' },
  'as-is': { type: 'boolean', default: false, describe: 'No apostrophe before formulas' },
  'lock-wait': lockWait,
} as const;
export const simulatorOptions = {
  port: { ...text, default: '0', describe: 'Port on loopback; 0 takes a free one' },
  seed: { ...text, default: '1', describe: 'Which world to simulate' },
  now: { ...text, describe: 'The instant its clock stands at [the clock]' },
} as const;

/** Every option, as typed, that takes the word behind it. */
export const textOptions: ReadonlySet<string> = new Set(
  [
    globalOptions,
    initOptions,
    syncOptions,
    backfillOptions,
    statusOptions,
    publishOptions,
    dropOptions,
    catalogOptions,
    linksCreateOptions,
    linksUpdateOptions,
    spendOptions,
    exportOptions,
    simulatorOptions,
  ].flatMap((options: Readonly<Record<string, Options>>) =>
    Object.entries(options).flatMap(([name, { requiresArg }]) => (requiresArg === true ? [`--${name}`] : [])),
  ),
);

/** Told what the arguments chose, and which options the chosen command offers. */
export interface Chooser {
  choose(act: Act): void;
  /** Returns the options. */
  offer<O extends Record<string, Options>>(options: O): O;
}

/** A parser that knows the options of every command. */
export type Verbs = Argv<InferredOptionTypes<typeof globalOptions>>;
