/**
 * The configured service, open for as long as somebody uses it.
 *
 * Hides that it may be the bundled simulator, which is then started on loopback for that long.
 */

import { MAX_URL_BYTES } from '../model/slice.ts';
import { Secret } from '../config/secret.ts';
import type { Config, HttpService, SimulatorService } from '../config/config.ts';
import type { Emit } from '../events.ts';
import type { Service } from '../service/service.ts';

/** Enough for every report of a simulated world, and far below what the real service may need. */
const SIMULATOR_TIMEOUT_MS = 60_000;
const SIMULATOR_MAX_RESPONSE_BYTES = 1_073_741_824;
/** The simulator has no rate limit; this is the real service's (observed: rate). */
const SIMULATOR_STARTS_PER_SECOND = 50;
const SIMULATOR_CAMPAIGN_CONCURRENCY = 8;
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
  // Loaded only here: nobody who talks to a real service pays for the simulator.
  const { startSimulator } = await import('../simulator/simulator.ts');
  const simulator = await startSimulator({
    world: {
      seed: simulated.seed,
      apps: simulated.apps,
      partners: simulated.partners,
      links: simulated.links,
      rowsPerDay: simulated.rowsPerDay,
    },
    now,
    token: SIMULATOR_TOKEN,
    costCredential: SIMULATOR_COST_CREDENTIAL,
  });
  return {
    service: {
      kind: 'http',
      baseUrl: simulator.url,
      reportsUrl: simulator.url,
      costUrl: simulator.url,
      token: new Secret(SIMULATOR_TOKEN),
      headers: {},
      costHeaders: { Authorization: new Secret(SIMULATOR_COST_CREDENTIAL) },
      caFile: null,
      maxConcurrency: simulated.maxConcurrency,
      maxStartsPerSecond: SIMULATOR_STARTS_PER_SECOND,
      campaignConcurrency: SIMULATOR_CAMPAIGN_CONCURRENCY,
      requestTimeoutMs: SIMULATOR_TIMEOUT_MS,
      maxResponseBytes: SIMULATOR_MAX_RESPONSE_BYTES,
      maxUrlBytes: MAX_URL_BYTES,
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

/** Connects to the configured service for as long as `use` runs; `at` is the instant a simulated one stands at. */
export async function withService<T>(
  config: Config,
  at: Date,
  emit: Emit,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  const { service: stated } = config;
  if (stated.kind === 'http') return connected(stated, emit, use);
  const world = await startWorld(stated, stated.now ?? at);
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
