/** What every library verb begins with: its options and their defaults, checks, warehouse, service. */

import { join } from 'node:path';

import type { Config, HttpService, SimulatorService } from '../config/config.ts';
import { nearest } from '../config/nearest.ts';
import { Secret } from '../config/secret.ts';
import { asFailure, Failure } from '../errors.ts';
import { type Emit, guarded } from '../events.ts';
import type { DayInterval } from '../model/calendar.ts';
import { LOCK_WAIT_MS } from '../model/duration.ts';
import { EARLIEST_DAY } from '../model/period.ts';
import { MAX_URL_BYTES, type Slice } from '../model/slice.ts';
import type { Service } from '../service/service.ts';
import { inTemporaryFolder } from '../warehouse/directories.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { Optional, RunRequest } from './run.ts';

export interface Circumstances extends Optional<Pick<RunRequest, 'lockWaitMs'>> {
  /** The instant to plan for, which also counts as the fetch (default: a simulator's fixed clock, or now). */
  readonly asOf?: Date | null;
  /** Called with each event, not awaited. An error it throws is reported once, as a warning. */
  readonly emit?: Emit;
  /** Nothing new is started then, and the open transaction is finished or rolled back. */
  readonly signal?: AbortSignal;
}

export type SliceChoice = Optional<Pick<RunRequest, 'slices'>>;

export interface Monitor {
  /** The file for Prometheus metrics. */
  readonly metricsFile?: string | null;
  /** Permissions of that file (default: 0o644). */
  readonly mode?: number;
}

export interface SyncOptions
  extends
    Circumstances,
    Monitor,
    Optional<Omit<RunRequest, 'command' | 'asOf' | 'forced' | 'acceptLoss'>> {}

export interface StatusOptions extends Circumstances {
  /** Throws `USAGE_INVALID` for a file of the configuration, the warehouse or a copy. */
  readonly output?: string | undefined;
  /** After it things are news (default: the night before the last). */
  readonly since?: Date | null;
}

export interface BackfillOptions
  extends Circumstances, Monitor, Optional<Pick<RunRequest, 'acceptLoss'>> {
  readonly slice: string;
  /** Half-open. Every period they touch is replaced. */
  readonly days: DayInterval;
}

export interface ResolvedOptions {
  readonly asOf: Date | null;
  readonly planAt: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  readonly lockWaitMs: number;
}

/**
 * Makes a function reject only with a `Failure`: `INTERRUPTED` once the `signal` of its last argument has aborted, `USAGE_INVALID` for
 * an option that its type cannot exclude.
 */
export function verb<Given extends readonly unknown[], Result>(
  act: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  return async (...given) => {
    const options = given.at(-1);
    try {
      for (const [name, value] of Object.entries(options ?? {})) {
        const isInvalid =
          value instanceof Date ? isNaN(+value) : typeof value === 'number' && !(value >= 0);
        if (!isInvalid) continue;
        const hint = 'Use a valid date, and numbers of 0 or more.';
        throw new Failure('USAGE_INVALID', `The option ${name} was ${String(value)}.`, { hint });
      }
      return await act(...given);
    } catch (thrown) {
      const { signal } = options instanceof Object && 'signal' in options ? options : {};
      throw asFailure(thrown, signal instanceof AbortSignal ? signal : undefined);
    }
  };
}

/** Throws as `checkAsOf` does. */
export function withDefaults(config: Config, options: Circumstances): ResolvedOptions {
  const { asOf: stated = null, signal = new AbortController().signal, lockWaitMs } = options;
  const emit = guarded(options.emit ?? (() => {}));
  const now = new Date();
  const asOf = stated ?? simulatedNow(config);
  checkAsOf(stated, now);
  return { asOf, planAt: asOf ?? now, emit, signal, lockWaitMs: lockWaitMs ?? LOCK_WAIT_MS };
}

type Opening = Pick<ResolvedOptions, 'emit' | 'signal' | 'lockWaitMs'>;

export async function onWarehouse<T>(
  config: Config,
  mode: 'read' | 'write',
  options: Opening,
  use: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { withWarehouse } = await import('../warehouse/opening.ts');
  return withWarehouse(config.warehouse, { ...options, mode }, use);
}

export async function onScratchWarehouse<T>(
  config: Config,
  options: Opening,
  use: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  return inTemporaryFolder(async (folder) =>
    onWarehouse({ ...config, warehouse: join(folder, 'warehouse.duckdb') }, 'write', options, use),
  );
}

/** Throws `AS_OF_IN_FUTURE`, and `USAGE_INVALID` for a mistyped year. */
export function checkAsOf(asOf: Date | null, now: Date): void {
  if (asOf === null) return;
  const subject = `The as-of instant ${asOf.toISOString()}`;
  if (asOf > now) {
    const message = `${subject} is later than the clock, ${now.toISOString()}.`;
    const hint = 'Use an instant in the past, or leave out --as-of.';
    throw new Failure('AS_OF_IN_FUTURE', message, { hint });
  }
  const hint = 'Correct the year, or leave out --as-of.';
  if (asOf < new Date(EARLIEST_DAY))
    throw new Failure('USAGE_INVALID', `${subject} is before ${EARLIEST_DAY}.`, { hint });
}

/** Throws `USAGE_INVALID` for no days, and for a mistyped year, whose days would be requested week by week. */
export function checkForced({ start, end }: DayInterval): void {
  let message = `The days to load again began on ${start}, before ${EARLIEST_DAY}.`;
  let hint = 'Use the first day of your data, or a later one.';
  if (end <= start) {
    message = `The days to load again ended before ${end}, and began on ${start}.`;
    hint = 'The end is the day after the last one.';
  } else if (start >= EARLIEST_DAY) return;
  throw new Failure('USAGE_INVALID', message, { hint });
}

/** Returns the named slices (default: all). Throws `USAGE_INVALID` with each unknown name and the nearest configured one. */
export function chosenSlices(config: Config, names: readonly string[] | null): readonly Slice[] {
  if (names === null) return config.slices;
  if (names.length === 0) {
    const hint = 'Name at least one, or leave out the option for all.';
    throw new Failure('USAGE_INVALID', 'No slice was named.', { hint });
  }
  const configured = config.slices.map(({ name }) => name);
  const unknown = names.filter((name) => !configured.includes(name));
  if (unknown.length > 0) {
    const meant = unknown.map((name) => nearest(name, configured)).filter((name) => name !== null);
    throw new Failure('USAGE_INVALID', `${config.file} has no slice named ${unknown.join(', ')}.`, {
      facts: { configured: configured.join(', ') },
      hint:
        meant.length > 0
          ? `Did you mean ${meant.join(', ')}?`
          : `Name a configured slice: ${configured.join(', ')}.`,
    });
  }
  return config.slices.filter(({ name }) => names.includes(name));
}

/** Enough for every simulated report. The rates are the real ones (observed: rate). */
const SIMULATED_LIMITS = {
  maxStartsPerSecond: 50,
  campaignConcurrency: 8,
  requestTimeoutMs: 60_000,
  maxResponseBytes: 1_073_741_824,
  maxUrlBytes: MAX_URL_BYTES,
} as const;

export async function startWorld(simulated: SimulatorService, now: Date) {
  const { kind: _kind, now: _now, maxConcurrency, ...world } = simulated;
  // Work with a real service does not pay for the simulator.
  const { startSimulator } = await import('../simulator/simulator.ts');
  const simulator = await startSimulator({ world, now });
  const { token, costCredential } = simulator.credentials;
  const service: HttpService = {
    ...SIMULATED_LIMITS,
    kind: 'http',
    baseUrl: simulator.url,
    reportsUrl: simulator.url,
    costUrl: simulator.url,
    token: new Secret(token),
    headers: {},
    costHeaders: { Authorization: new Secret(costCredential) },
    caFile: null,
    maxConcurrency,
  };
  return { service, simulator };
}

export const simulatedNow = ({ service }: Config): Date | null =>
  service.kind === 'simulator' ? service.now : null;

/** A simulator's clock is at its stated instant, otherwise at `planAt`. */
export async function withService<T>(
  config: Config,
  { planAt, emit }: Pick<ResolvedOptions, 'planAt' | 'emit'>,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  const { service: stated } = config;
  if (stated.kind === 'http') return connected(stated, emit, use);
  const world = await startWorld(stated, stated.now ?? planAt);
  try {
    return await connected(world.service, emit, use);
  } finally {
    await world.simulator.close();
  }
}

export async function connected<T>(
  address: HttpService,
  emit: Emit,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  // Work on disk alone, such as plan and status, starts without the network code.
  const { connect } = await import('../service/connect.ts');
  const service = connect(address, emit);
  try {
    return await use(service);
  } finally {
    await service.close();
  }
}
