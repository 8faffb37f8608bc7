/** An installation whose service is a simulator in the test's process: nights pass in it, and the command line is asked in between. */

import { readConfig } from '../../src/index.ts';
import type { Config } from '../../src/config/config.ts';
import { startSimulator, type Simulator } from './simulator/simulator.ts';
import { openInstallation, serviceAt, TOKEN, type Installation } from './installation.ts';
import { smallWorld } from './night.ts';

export interface SimulatedAccount {
  readonly installation: Installation;
  readonly simulator: Simulator;
  readonly config: Config;
  close(): Promise<void>;
}

/** Slices without audits and dimension tables, in `w.duckdb`, over the small world. */
export async function openAccount(slices: readonly object[]): Promise<SimulatedAccount> {
  const installation = await openInstallation();
  const simulator = await startSimulator({ token: TOKEN, world: smallWorld });
  const service = serviceAt(simulator.url);
  await installation.configure({ service, warehouse: 'w.duckdb', audit: 0, partners: false, slices });
  const config = await readConfig({ directory: installation.directory, environment: { RIPEN_TOKEN: TOKEN } });
  return {
    installation,
    simulator,
    config,
    async close() {
      await simulator.close();
      await installation.close();
    },
  };
}
