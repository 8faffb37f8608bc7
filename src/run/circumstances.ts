/** What every verb that works on a configuration can be told, what holds where nothing was said, and what must hold before it may begin. */

import { join } from 'node:path';

import type { Config, HttpService, SimulatorService } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import { Secret } from '../config/secret.ts';
import { Failure } from '../errors.ts';
import { type Emit, guarded } from '../events.ts';
import type { DayInterval } from '../model/calendar.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { EARLIEST_DAY } from '../model/period.ts';
import { MAX_URL_BYTES, type Slice } from '../model/slice.ts';
import type { Service } from '../service/service.ts';
import { inTemporaryFolder } from '../warehouse/directories.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface Circumstances {
  /** The instant to plan for, and to count as the fetch; that of a simulator whose clock stands still, or else now. */
  readonly asOf?: Date | null;
  /** Called with each event; by default nothing is. It is not awaited. What it throws changes nothing and is reported once, as a warning. */
  readonly emit?: Emit;
  /** Stops the work: nothing new is started, the one open transaction is finished or rolled back. */
  readonly signal?: AbortSignal;
  /** How long to wait for another run to let go of the warehouse; a minute by default. */
  readonly lockWaitMs?: number | null;
}

/** Names of the slices a verb is about; all by default. */
export interface SliceChoice {
  readonly slices?: readonly string[] | undefined;
}

/** What a monitor is told of a run's end, beside the addresses of `notify`. */
export interface Monitor {
  /** Metrics for Prometheus are written to this file. */
  readonly metricsFile?: string | null;
  /** The rights of that file; 0o644 by default. */
  readonly mode?: number;
}

export interface SyncOptions extends Circumstances, SliceChoice, Monitor {
  /** Nothing new is asked for after this long; null: never. */
  readonly deadlineMs?: number | null;
}

export interface StatusOptions extends Circumstances {
  /** The file the report is to be written to; `USAGE_INVALID` for one of the configuration, the warehouse or a copy. */
  readonly output?: string;
}

export interface BackfillOptions extends Circumstances, Monitor {
  readonly slice: string;
  /** The days to refetch, half-open; every period they touch is replaced. */
  readonly days: DayInterval;
  /** Loads an answer, too, that would take more than half of the rows. */
  readonly acceptLoss?: boolean;
}

/** Every circumstance, stated or usual. */
export interface FullCircumstances {
  /** The instant that was stated; null: none. */
  readonly asOf: Date | null;
  /** The planning instant. */
  readonly planAt: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  readonly lockWaitMs: number;
}

/** What holds where nothing was said; `AS_OF_IN_FUTURE` for an instant that has not come, `USAGE_INVALID` for one too long ago. */
export function circumstancesOf(config: Config, options: Circumstances): FullCircumstances {
  const { asOf: stated = null, signal = new AbortController().signal, lockWaitMs } = options;
  const emit = guarded(options.emit ?? (() => {}));
  const now = new Date();
  const asOf = stated ?? simulatedNow(config);
  checkAsOf(stated, now);
  return { asOf, planAt: asOf ?? now, emit, signal, lockWaitMs: lockWaitMs ?? LOCK_WAIT_MS };
}

/** Opens the configured warehouse for as long as `use` runs. */
export async function onWarehouse<T>(
  config: Config,
  mode: 'read' | 'write',
  standing: Pick<FullCircumstances, 'emit' | 'signal' | 'lockWaitMs'>,
  use: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { withWarehouse } = await import('../warehouse/opening.ts');
  return withWarehouse(config.warehouse, { ...standing, mode }, use);
}

/** Opens an empty warehouse of its own for as long as `use` runs: what only judges needs none to stay. */
export async function onScratchWarehouse<T>(
  config: Config,
  standing: Pick<FullCircumstances, 'emit' | 'signal' | 'lockWaitMs'>,
  use: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  return inTemporaryFolder(async (folder) =>
    onWarehouse({ ...config, warehouse: join(folder, 'warehouse.duckdb') }, 'write', standing, use),
  );
}

/** Refuses an instant in the future, as nobody has seen its values, and one before any data, which a mistyped year makes. */
export function checkAsOf(asOf: Date | null, now: Date): void {
  if (asOf === null) return;
  if (asOf > now) {
    const message = `The as-of instant ${asOf.toISOString()} was later than the clock, ${now.toISOString()}.`;
    throw new Failure('AS_OF_IN_FUTURE', message, { hint: 'Give an instant in the past, or leave --as-of out.' });
  }
  if (asOf < new Date(EARLIEST_DAY)) {
    const message = `The as-of instant ${asOf.toISOString()} was too early: it lay before ${EARLIEST_DAY}.`;
    throw new Failure('USAGE_INVALID', message, { hint: 'Correct the year, or leave --as-of out.' });
  }
}

/** Refuses days that a mistyped year begins: they would be asked for week by week. */
export function checkForced({ start }: DayInterval): void {
  if (start >= EARLIEST_DAY) return;
  throw new Failure('USAGE_INVALID', `The days to load again began on ${start}, before ${EARLIEST_DAY}.`, {
    hint: 'Give the first day of your data, or a later one.',
  });
}

/** The slices a verb is about; `USAGE_INVALID` naming each that is not configured, and the nearest that is. */
export function chosenSlices(config: Config, names: readonly string[] | null): readonly Slice[] {
  if (names === null) return config.slices;
  const known = config.slices.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    const meant = unknown.map((name) => nearest(name, known)).filter((name) => name !== null);
    throw new Failure('USAGE_INVALID', `${config.file} declared no slice named ${unknown.join(', ')}.`, {
      facts: { configured: known.join(', ') },
      hint: meant.length > 0 ? `Did you mean ${meant.join(', ')}?` : `Name a configured slice: ${known.join(', ')}.`,
    });
  }
  return config.slices.filter(({ name }) => names.includes(name));
}

/** Enough for every report of a simulated world, and far below what the real service may need; the rates are the real one's (observed: rate). */
const SIMULATED_LIMITS = {
  maxStartsPerSecond: 50,
  campaignConcurrency: 8,
  requestTimeoutMs: 60_000,
  maxResponseBytes: 1_073_741_824,
  maxUrlBytes: MAX_URL_BYTES,
} as const;
/** Any token is as good as another on loopback; a marked one is easy to find where it should not be. */
const SIMULATOR_TOKEN = 'simulator-token';
const SIMULATOR_COST_CREDENTIAL = 'Partner simulator';

/** A simulated service that runs, and the address and credential to reach it with. */
export interface SimulatedWorld {
  readonly service: HttpService;
  /** Moves the simulated clock. */
  setNow(at: Date): void;
  close(): Promise<void>;
}

/** Starts the simulator for a configuration, its clock standing at an instant. */
export async function startWorld(simulated: SimulatorService, now: Date): Promise<SimulatedWorld> {
  const { seed, apps, partners, links, rowsPerDay } = simulated;
  // Loaded only here: nobody who talks to a real service pays for the simulator.
  const { startSimulator } = await import('../simulator/simulator.ts');
  const simulator = await startSimulator({
    world: { seed, apps, partners, links, rowsPerDay },
    now,
    token: SIMULATOR_TOKEN,
    costCredential: SIMULATOR_COST_CREDENTIAL,
  });
  return {
    service: {
      ...SIMULATED_LIMITS,
      kind: 'http',
      baseUrl: simulator.url,
      reportsUrl: simulator.url,
      costUrl: simulator.url,
      token: new Secret(SIMULATOR_TOKEN),
      headers: {},
      costHeaders: { Authorization: new Secret(SIMULATOR_COST_CREDENTIAL) },
      caFile: null,
      maxConcurrency: simulated.maxConcurrency,
    },
    setNow: (at) => {
      simulator.setNow(at);
    },
    close: async () => simulator.close(),
  };
}

/** The instant to plan for when the simulator's clock stands still; null otherwise. */
export function simulatedNow(config: Config): Date | null {
  return config.service.kind === 'simulator' ? config.service.now : null;
}

/** Connects to the configured service for as long as `use` runs; a simulated one stands at the instant to plan for. */
export async function withService<T>(
  config: Config,
  { planAt, emit }: Pick<FullCircumstances, 'planAt' | 'emit'>,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  const { service: stated } = config;
  if (stated.kind === 'http') return connected(stated, emit, use);
  const world = await startWorld(stated, stated.now ?? planAt);
  try {
    return await connected(world.service, emit, use);
  } finally {
    await world.close();
  }
}

/** Connects for as long as `use` runs. */
export async function connected<T>(
  address: HttpService,
  emit: Emit,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  // Loaded only here: what works on disk alone, as plan and status do, starts without the wire.
  const { connect } = await import('../service/connect.ts');
  const service = connect(address, emit);
  try {
    return await use(service);
  } finally {
    await service.close();
  }
}
