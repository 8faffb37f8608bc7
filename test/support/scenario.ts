/** A whole installation in a temporary folder: simulator, configuration, warehouse. */

import { MAX_URL_BYTES } from '../../src/model/slice.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Config, HttpService } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import type { RunEvent } from '../../src/events.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { RunOptions } from '../../src/run/run.ts';
import { connect } from '../../src/service/connect.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from './simulator/simulator.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { fromService } from '../../src/run/service-source.ts';
import { sync } from '../../src/sync.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { closedOnce } from './closing.ts';

export interface Scenario {
  readonly simulator: Simulator;
  readonly config: Config;
  readonly directory: string;
  readonly events: RunEvent[];
  /** Syncs at an instant, which is also the simulated one. */
  night(asOf: Date, change?: Partial<Config>, request?: Partial<RunOptions>): Promise<SyncSummary>;
  inWarehouse<T>(use: (warehouse: Warehouse) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export const TOKEN = 'marked-token-5e1f';

export function httpService(
  simulator: Pick<Simulator, 'url'>,
  change: Partial<HttpService> = {},
): HttpService {
  return {
    kind: 'http',
    baseUrl: simulator.url,
    reportsUrl: simulator.url,
    costUrl: simulator.url,
    token: new Secret(TOKEN),
    headers: {},
    costHeaders: {},
    caFile: null,
    maxConcurrency: 50,
    maxStartsPerSecond: 1000,
    campaignConcurrency: 8,
    requestTimeoutMs: 30_000,
    maxResponseBytes: 200_000_000,
    maxUrlBytes: MAX_URL_BYTES,
    ...change,
  };
}

export async function openScenario(
  slices: readonly Slice[],
  options: {
    readonly simulator?: Partial<SimulatorOptions>;
    readonly service?: Partial<HttpService>;
  } = {},
): Promise<Scenario> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-'));
  const listed = slices.flatMap(({ metrics }) => metrics);
  const world = { listed, ...options.simulator?.world };
  const simulator = await startSimulator({ token: TOKEN, ...options.simulator, world });
  const config: Config = {
    file: join(directory, 'ripen.yaml'),
    service: httpService(simulator, options.service),
    warehouse: join(directory, 'warehouse.duckdb'),
    publish: [],
    archiveMs: null,
    notify: [],
    audits: [],
    controlMs: null,
    partners: false,
    links: null,
    slices,
  };
  const events: RunEvent[] = [];
  return {
    simulator,
    config,
    directory,
    events,
    async night(asOf, change = {}, request = {}) {
      simulator.setNow(asOf);
      const changed = { ...config, ...change };
      const service = connect(
        changed.service.kind === 'http' ? changed.service : httpService(simulator),
        (event) => events.push(event),
      );
      try {
        const defaults = { command: 'sync', lockWaitMs: 0, asOf } as const;
        const emit = (event: RunEvent): void => void events.push(event);
        return await sync(changed, { ...defaults, ...request }, fromService(service), {
          emit,
          signal: AbortSignal.timeout(150_000),
        });
      } finally {
        await service.close();
      }
    },
    async inWarehouse(use) {
      const warehouse = await openWarehouse(config.warehouse, {
        mode: 'read',
        lockWaitMs: 0,
        emit: (event) => events.push(event),
      });
      try {
        return await use(warehouse);
      } finally {
        await warehouse.close();
      }
    },
    close: closedOnce(async () => {
      await simulator.close();
      await rm(directory, { recursive: true, force: true });
    }),
  };
}
