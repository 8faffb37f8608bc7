/**
 * ripen as a library: the verbs of the command line as functions with typed results.
 *
 * Nothing here reads argv, the environment or the console, and nothing ends the process. Every verb rejects with a
 * `Failure`. DuckDB, the HTTP client and the simulator are loaded when first needed.
 */

import type { Config } from './config/config.ts';
import type { Dropped, Loss } from './drop.ts';
import type { Emit } from './events.ts';
import type { CatalogItem, CatalogSection } from './model/catalog.ts';
import type { Day, DayInterval } from './model/calendar.ts';
import type { PlanReport } from './run/plan-report.ts';
import type { Publication } from './publish/publish.ts';
import type { Simulator, SimulatorOptions } from './simulator/simulator.ts';
import type { StatusReport } from './status/status-report.ts';
import type { SyncSummary } from './run/summary.ts';
import type { Finding } from './check/finding.ts';

export type { Config } from './config/config.ts';
export type { Emit, RunEvent } from './events.ts';
export type { CatalogItem, CatalogSection } from './model/catalog.ts';
export type { Day, DayInterval } from './model/calendar.ts';
export type { PlanReport } from './run/plan-report.ts';
export type { Dropped, Loss } from './drop.ts';
export type { Publication, Published } from './publish/publish.ts';
export type { Simulator, SimulatorOptions } from './simulator/simulator.ts';
export type { PeriodStatus, SliceStatus, StatusReport } from './status/status-report.ts';
export type { FailureSummary, SliceSummary, SyncSummary } from './run/summary.ts';
export type { Finding } from './check/finding.ts';
export { exitCodeOf, Failure, type FailureCode, type FailureKind } from './errors.ts';

/** What every verb that works on a configuration can be told. */
export interface Circumstances {
  /** The instant to plan for, and to count as the fetch; now by default. */
  readonly asOf?: Date;
  /** Told what happens, as it happens; nobody by default. */
  readonly emit?: Emit;
  /** Stops the work: nothing new is started, the one open transaction is finished or rolled back. */
  readonly signal?: AbortSignal;
  /** How long to wait for another run to let go of the warehouse; a minute by default. */
  readonly lockWaitMs?: number;
}

export interface SyncOptions extends Circumstances {
  /** Names of the slices to refresh; all by default. */
  readonly slices?: readonly string[];
  /** Nothing new is asked for after this long. */
  readonly deadlineMs?: number;
}

export interface BackfillOptions extends Circumstances {
  readonly slice: string;
  /** The days to refetch, half-open; every period they touch is replaced. */
  readonly days: DayInterval;
  /** Loads an answer, too, that would take more than half of the rows. */
  readonly acceptLoss?: boolean;
}

export interface DropOptions extends Circumstances {
  readonly slice: string;
  /** Only the periods that ended by the start of this day; all by default. */
  readonly before?: Day;
  /** Told what would be deleted; false leaves everything as it is. Nobody is asked by default. */
  readonly agree?: (loss: Loss) => Promise<boolean>;
}

const LOCK_WAIT_MS = 60_000;

/** Reads and checks a configuration file. Throws `CONFIG_MISSING`, or `CONFIG_INVALID` with every problem there is. */
export async function readConfig(options: {
  /** `ripen.yaml` in the directory by default. */
  readonly file?: string;
  readonly directory: string;
  /** Where `${NAME}` is taken from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For what asks the service nothing: the credentials may be missing. */
  readonly offline?: boolean;
}): Promise<Config> {
  return (await import('./config/read-config.ts')).readConfig(options);
}

/**
 * Loads every due window and publishes. Resolves also when windows failed: their failures are in the summary, and
 * whatever could be loaded is committed. Throws what kept the run from starting.
 */
export async function sync(config: Config, options: SyncOptions = {}): Promise<SyncSummary> {
  const { slices = null, deadlineMs = null } = options;
  return run(config, options, { command: 'sync', slices, forced: null, acceptLoss: false, deadlineMs });
}

/** Refetches and replaces periods of one slice, whatever their state, and publishes; resolves as `sync` does. */
export async function backfill(config: Config, options: BackfillOptions): Promise<SyncSummary> {
  const { slice, days, acceptLoss = false } = options;
  return run(config, options, { command: 'backfill', slices: [slice], forced: days, acceptLoss, deadlineMs: null });
}

/** Loads again what the archive holds, without the service, and publishes; resolves as `sync` does. */
export async function replay(
  config: Config,
  options: Circumstances & { readonly slices?: readonly string[] } = {},
): Promise<SyncSummary> {
  const { replay: carryOut } = await import('./replay.ts');
  const { asOf = null, slices = null, emit = silent, signal = never(), lockWaitMs = LOCK_WAIT_MS } = options;
  return carryOut(config, { asOf, slices, lockWaitMs }, emit, signal);
}

/** The windows the next sync would ask for, with their reasons; asks the service nothing. */
export async function plan(
  config: Config,
  options: Circumstances & { readonly slices?: readonly string[] } = {},
): Promise<PlanReport> {
  const { explainPlan } = await import('./run/plan-report.ts');
  const { asOf = new Date(), slices = null, emit = silent, signal = never(), lockWaitMs = LOCK_WAIT_MS } = options;
  return explainPlan(config, { asOf, slices, lockWaitMs, emit, signal });
}

/** What is fresh, what is final, what moved; asks the service nothing. */
export async function status(config: Config, options: Circumstances = {}): Promise<StatusReport> {
  const { statusOf } = await import('./status/status-of.ts');
  return statusOf(config, options.asOf ?? new Date(), options.lockWaitMs ?? null, options.emit ?? silent);
}

/** A status report as one HTML page with pictures that needs nothing else. */
export async function statusPage(report: StatusReport): Promise<string> {
  const { statusPage: page } = await import('./page/page.ts');
  return page(report);
}

/** Everything about the configuration, the service and the disk that would stop or mislead a sync; writes nothing. */
export async function check(config: Config, options: Circumstances = {}): Promise<readonly Finding[]> {
  const { findingsOf } = await import('./check/check.ts');
  const { asOf = new Date(), emit = silent, signal = never() } = options;
  return findingsOf(config, asOf, emit, signal);
}

/** Brings the published copies up to the warehouse; a target that fails does not keep the others back, one that could not be
 * written at all does. */
export async function publish(config: Config, options: Circumstances = {}): Promise<Publication> {
  const { withWarehouse } = await import('./warehouse/opening.ts');
  const { publish: publishCopies } = await import('./publish/publish.ts');
  const { refuseUnwritablePlaces } = await import('./run/unwritable-places.ts');
  await refuseUnwritablePlaces(config);
  const { emit = silent, signal = never(), lockWaitMs = LOCK_WAIT_MS } = options;
  return withWarehouse(config.warehouse, { mode: 'write', lockWaitMs, emit, signal }, async (warehouse) =>
    publishCopies(config, warehouse, emit, signal),
  );
}

/**
 * Removes a slice, configured or not, or its periods that ended by the start of a day, from the warehouse and from every
 * copy; the next sync loads what is configured again.
 */
export async function drop(config: Config, options: DropOptions): Promise<Dropped> {
  const { dropSlice } = await import('./drop.ts');
  const { slice, before = null, lockWaitMs = LOCK_WAIT_MS } = options;
  const { emit = silent, signal = never(), agree = async () => true } = options;
  return dropSlice(config, { slice, before, lockWaitMs }, { emit, signal, agree });
}

/** What filters-data lists: every item, or those whose id or names hold a word; with a section its metrics alone. */
export async function catalog(
  config: Config,
  options: Circumstances & { readonly word?: string; readonly section?: CatalogSection } = {},
): Promise<readonly CatalogItem[]> {
  const { listedItems } = await import('./run/listed-items.ts');
  const { withService } = await import('./run/service-in-use.ts');
  const { asOf = new Date(), emit = silent, signal = never(), word = '', section = null } = options;
  return withService(config, asOf, emit, async (service) => listedItems(service, { word, section }, emit, signal));
}

/** Serves the whole service interface on loopback until it is closed. */
export async function startSimulator(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  return (await import('./simulator/simulator.ts')).startSimulator(options);
}

interface RunOrder {
  readonly command: 'sync' | 'backfill';
  readonly slices: readonly string[] | null;
  readonly forced: DayInterval | null;
  readonly acceptLoss: boolean;
  readonly deadlineMs: number | null;
}

async function run(config: Config, options: Circumstances, order: RunOrder): Promise<SyncSummary> {
  const { withService } = await import('./run/service-in-use.ts');
  const { sync: carryOut } = await import('./sync.ts');
  const { asOf = null, emit = silent, signal = never(), lockWaitMs = LOCK_WAIT_MS } = options;
  return withService(config, asOf ?? new Date(), emit, async (service) =>
    carryOut(config, service, { ...order, asOf, lockWaitMs }, emit, signal),
  );
}

function silent(): void {}

function never(): AbortSignal {
  return new AbortController().signal;
}
