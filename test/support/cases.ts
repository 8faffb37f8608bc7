/** A table of answers: one slice for each, told apart by a filter that filters nothing, and all loaded by one night. */

import type { Slice } from '../../src/model/slice.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { askedReports, type NightOptions, reports, runNight, smallWorld } from './night.ts';
import { openScenario, type Scenario } from './scenario.ts';
import type { Fault } from './simulator/faults.ts';
import { slice } from './slice.ts';

export interface Case {
  readonly fault: Fault;
  /** Requests that suffer it; all of them unless stated. */
  readonly times?: number | undefined;
  readonly of?: Partial<Slice> | undefined;
}

export interface Cases {
  /** Reads through one open warehouse. */
  readonly scenario: Scenario;
  readonly summary: SyncSummary;
  readonly slices: readonly Slice[];
  /** The report requests of the n-th case. */
  requestsOf(index: number): number;
  /** Runs once more, without the faults. */
  again(asOf: Date, options?: NightOptions): Promise<SyncSummary>;
  close(): Promise<void>;
}

/** The name of the n-th case's slice. */
export const tableOf = (index: number): string => `case_${index}`;

/** Opens a scenario in which each case's slice suffers its fault, and runs the night. */
export async function loadCases(
  given: Omit<Parameters<typeof slice>[0], 'name'>,
  cases: readonly Case[],
  now: Date,
): Promise<Cases> {
  const slices = cases.map(({ of }, index) =>
    slice({
      ...given,
      ...of,
      name: tableOf(index),
      parameters: { os_name__not_in: tableOf(index), ...of?.parameters },
    }),
  );
  const opened = await openScenario(slices, { simulator: { world: smallWorld } });
  const restores = cases.map(({ fault, times = Infinity }, index) =>
    opened.simulator.script({ match: reports({ os_name__not_in: tableOf(index) }), times, fault }),
  );
  const summary = await runNight(opened, now);
  const open = (): Promise<Warehouse> =>
    openWarehouse(opened.config.warehouse, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  let warehouse = await open();
  const isOf = (query: URLSearchParams, index: number): boolean =>
    query.get('os_name__not_in')?.split(',').includes(tableOf(index)) === true;
  return {
    scenario: { ...opened, inWarehouse: (use) => use(warehouse) },
    summary,
    slices,
    requestsOf: (index) => askedReports(opened).filter(({ query }) => isOf(query, index)).length,
    async again(asOf, options) {
      for (const restore of restores) restore();
      await warehouse.close();
      const next = await runNight(opened, asOf, options);
      warehouse = await open();
      return next;
    },
    async close() {
      await warehouse.close();
      await opened.close();
    },
  };
}
