/**
 * ripen as a library: every verb as a function with a typed result. The command line is a thin shell over it.
 * Nothing here reads argv, the environment or the console, and nothing ends the process. Only the AWS SDK looks for an object
 * store's region, endpoint and credentials where AWS tools do. Every verb rejects with a `Failure`: `INTERRUPTED` once its
 * `signal` has aborted. DuckDB, HTTP client and simulator are loaded when first needed.
 */

import type { Config } from './config/config.ts';
import type { ConfigOptions } from './config/read-config.ts';
import { guarded } from './events.ts';
import type { TourOptions } from './verbs/tour.ts';
import type { InitOptions } from './verbs/first-files.ts';
import {
  type BackfillOptions,
  chosenSlices,
  type Circumstances,
  type Monitor,
  type ResolvedOptions,
  simulatedNow,
  type SliceChoice,
  type StatusOptions,
  type SyncOptions,
  verb,
  withDefaults,
  withService,
} from './run/circumstances.ts';
import type { RunOptions } from './run/run.ts';
import type { Finding } from './report/check/finding.ts';
import type { SyncSummary } from './run/summary.ts';
import type * as simulated from './simulator/simulator.ts';
import type { WorldOptions } from './simulator/world/world.ts';
import type { StatusReport } from './report/status/status-report.ts';

export { dbtSources, drop, dropLoss, exportRows, lakeDdl, publish } from './verbs/copies.ts';
export { catalog, createLink, links, partners, sendSpend, updateLink } from './verbs/account.ts';
export type * from './verbs/account.ts';
export {
  exitCodeOf,
  Failure,
  type FailureCode,
  type FailureKind,
  type WarningCode,
} from './errors.ts';
export type { Emit, RunEvent } from './events.ts';
export { type Day, type DayInterval, parseDay } from './model/calendar.ts';
export type { CatalogSection } from './model/catalog.ts';
export type { CatalogItem } from './model/catalog-item.ts';
export type { Link, Partner } from './model/link.ts';
export type { DropOptions, Dropped, Loss } from './verbs/drop.ts';
export type { Engine } from './publish/words/engines.ts';
export type { Exported, ExportOptions } from './publish/export.ts';
export type { Publication, Published } from './publish/publish.ts';
export type { FailureSummary, SliceSummary } from './run/summary.ts';
export type { PlanReport } from './run/plan-report.ts';
export type { FirstFiles } from './verbs/first-files.ts';
export type { Tour } from './verbs/tour.ts';
export type { SpendSummary } from './account/send-spend.ts';
export type { PeriodStatus, SliceStatus } from './report/status/status-report.ts';
export type {
  BackfillOptions,
  Circumstances,
  Config,
  ConfigOptions,
  Finding,
  InitOptions,
  Monitor,
  ResolvedOptions,
  SliceChoice,
  StatusOptions,
  StatusReport,
  SyncOptions,
  SyncSummary,
  TourOptions,
};

/** `world` sets the account's size and numbers, the same for one seed. */
export type SimulatorOptions = simulated.SomeOf<
  Pick<simulated.SimulatorSettings, 'port' | 'now' | 'token' | 'costCredential'> & {
    readonly world: Partial<
      Pick<WorldOptions, 'seed' | 'apps' | 'partners' | 'links' | 'rowsPerDay'>
    >;
  }
>;

export type Simulator = Pick<
  simulated.RunningSimulator,
  'url' | 'port' | 'credentials' | 'now' | 'setNow' | 'close'
>;

/** Writes a first configuration. Throws `USAGE_INVALID`, and writes nothing, if one of its files exists. */
export const init = verb(async (options: InitOptions) =>
  (await import('./verbs/first-files.ts')).writeFirstFiles(options),
);

/**
 * Throws `CONFIG_MISSING`, or `CONFIG_INVALID` with every problem. With `offline` the credentials may be missing, for verbs
 * that do not call the service.
 */
export const readConfig = verb(async (options: ConfigOptions) =>
  (await import('./config/read-config.ts')).readConfig(options),
);

/** Returns YAML with every default and no secret, and what stars stand for as comments. Throws as `readConfig` does. */
export const resolvedConfig = verb(async (options: ConfigOptions) => {
  const { inspectConfig, resolvedText } = await import('./config/read-config.ts');
  const { hasStars } = await import('./model/stars.ts');
  const read = await inspectConfig(options);
  if (read.config?.slices.some(hasStars) !== true) return resolvedText(read);
  const { starNotes } = await import('./report/check/check.ts');
  return resolvedText(read, await starNotes(read.config));
});

/** Finds what would stop or mislead a sync. Writes nothing. */
export const check = verb(
  async (
    config: Config | ConfigOptions,
    options: Circumstances = {},
  ): Promise<readonly Finding[]> => {
    const { findingsOf, problemFindings } = await import('./report/check/check.ts');
    const { inspectConfig, noPositions } = await import('./config/read-config.ts');
    const read =
      'directory' in config
        ? await inspectConfig(config)
        : { config, problems: [], stated: noPositions };
    if (read.config === null) return problemFindings(read.problems);
    const { planAt: at, emit, signal } = withDefaults(read.config, options);
    return findingsOf(read.config, { stated: read.stated, at, signal }, emit);
  },
);

/** Returns what the next sync would request, and why. Requests nothing itself. */
export const plan = verb(async (config: Config, options: Circumstances & SliceChoice = {}) => {
  const { explainPlan } = await import('./run/plan-report.ts');
  const resolved = withDefaults(config, options);
  return explainPlan(config, { ...resolved, slices: options.slices ?? null });
});

/**
 * Loads every due window and publishes. Failures of windows are in the summary, and all else is committed. Throws what
 * kept the run from starting.
 */
export const sync = verb(async (config: Config, options: SyncOptions = {}) =>
  run(config, { ...options, command: 'sync' }),
);

/** Refetches and replaces periods of one slice, whatever their state, and publishes. Resolves as `sync` does. */
export const backfill = verb(async (config: Config, { slice, days, ...options }: BackfillOptions) =>
  run(config, { ...options, command: 'backfill', slices: [slice], forced: days }),
);

async function run(config: Config, options: RunOptions & Circumstances & Monitor) {
  const { fromService } = await import('./run/service-source.ts');
  const pipeline = await import('./sync.ts');
  const { reportRunEnd } = await import('./report/run-end.ts');
  const { command, metricsFile = null, mode = 0o644 } = options;
  const { signal = new AbortController().signal } = options;
  if (metricsFile !== null)
    await (await import('./publish/places/destinations.ts')).assertOutput(config, metricsFile);
  const emit = guarded(options.emit ?? (() => {}));
  const asOf = options.asOf ?? simulatedNow(config);
  const context = { command, config, asOf, emit, signal, metricsFile, mode };
  return reportRunEnd(context, async (onFinished) => {
    // A scheduled run with impossible options is a run that could not start, and a monitor must see it.
    const { planAt } = withDefaults(config, options);
    return withService(config, { planAt, emit }, async (service) => {
      const watched = { emit, signal, onFinished };
      return pipeline.sync(config, { ...options, asOf }, fromService(service), watched);
    });
  });
}

/** Loads the archived answers again, without the service, and publishes. Resolves as `sync` does. */
export const replay = verb(
  async (config: Config, options: Circumstances & SliceChoice = {}): Promise<SyncSummary> => {
    const { fromArchive } = await import('./run/archive-source.ts');
    const pipeline = await import('./sync.ts');
    const { explained } = await import('./report/terminal/failure-text.ts');
    const resolved = withDefaults(config, options);
    const order = { ...options, command: 'replay', asOf: resolved.asOf } as const;
    const summary = await pipeline.sync(config, order, fromArchive(config), resolved);
    const failures = await explained(summary.failures, config, null, summary.run_id);
    return { ...summary, failures };
  },
);

/** Returns what is fresh, final and changed. Reads the snapshot while a run has the warehouse, at once by default. */
export const status = verb(
  async (config: Config, options: StatusOptions & SliceChoice = {}): Promise<StatusReport> => {
    const { statusOf } = await import('./report/status/status.ts');
    const slices = chosenSlices(config, options.slices ?? null);
    if (options.output !== undefined)
      await (await import('./publish/places/destinations.ts')).assertOutput(config, options.output);
    const { planAt, emit, signal } = withDefaults(config, options);
    const { lockWaitMs = null, since = null } = options;
    const report = await statusOf(config, planAt, lockWaitMs, { emit, signal, since });
    const isChosen = (name: string) => slices.some((slice) => slice.name === name);
    const items = report.news.items.filter(({ slice }) => slice === null || isChosen(slice));
    return {
      ...report,
      news: { ...report.news, items },
      slices: report.slices.filter(({ name }) => isChosen(name)),
    };
  },
);

/** Returns one self-contained HTML page with pictures. */
export const statusPage = verb(async (report: StatusReport) =>
  (await import('./report/page/page.ts')).statusPage(report),
);

/** Serves the service interface on loopback until closed. Throws `USAGE_INVALID` if the port is not available. */
export const startSimulator = verb(async (options: SimulatorOptions = {}): Promise<Simulator> => {
  return (await import('./simulator/simulator.ts')).startSimulator(options);
});

/** Loads a month of simulated nights into `./data`. Resolves to the nights it ran. */
export const demo = verb(async (options: TourOptions) =>
  (await import('./verbs/tour.ts')).runTour(options),
);
