/**
 * One run of an open scenario with everything a fault test wants to reach: the signal, events as they come, and waits
 * between tries that take no time.
 */

import { vi } from 'vitest';

import type { HttpService } from '../../src/config/config.ts';
import type { RunEvent } from '../../src/events.ts';
import { fingerprintOf, type Slice } from '../../src/model/slice.ts';
import type { RunSteps } from '../../src/run/execute-run.ts';
import type { RunOptions } from '../../src/run/run.ts';
import { type Clock, realClock } from '../../src/service/clock.ts';
import { connect } from '../../src/service/connect.ts';
import type { FaultedRequest } from './simulator/faults.ts';
import type { WorldOptions } from './simulator/world.ts';
import type { SyncSummary } from '../../src/run/summary.ts';
import { fromService } from '../../src/run/service-source.ts';
import { sync } from '../../src/sync.ts';
import { saveSize } from '../../src/warehouse/ledger.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { httpService, type Scenario } from './scenario.ts';
import { swiftClock } from './scripted-server.ts';

/** Some ten rows a day by app and system: enough to lose one, few enough to read. */
export const smallWorld: Partial<WorldOptions> = {
  apps: 2,
  partners: 3,
  links: 12,
  rowsPerDay: 24,
};

export interface NightOptions {
  readonly slices?: readonly Slice[];
  readonly service?: Partial<HttpService>;
  readonly request?: Partial<RunOptions>;
  readonly signal?: AbortSignal;
  /** In place of one whose waits take no time, or of the real one. */
  readonly clock?: Clock;
  readonly onEvent?: (event: RunEvent) => void;
  /** Looks at what is left, while the run still holds the warehouse. */
  readonly onFinished?: RunSteps['onFinished'];
}

/**
 * Syncs at an instant, which is also the simulated one; `now` plans for the clock as a run without `--as-of` does, and
 * waits in real time.
 */
export async function runNight(
  scenario: Scenario,
  asOf: Date | 'now',
  { slices, service: settings, request, signal, clock, onEvent, onFinished }: NightOptions = {},
): Promise<SyncSummary> {
  const { simulator, config, events } = scenario;
  simulator.setNow(asOf === 'now' ? new Date() : asOf);
  const emit = (event: RunEvent): void => {
    events.push(event);
    onEvent?.(event);
  };
  const usual = asOf === 'now' ? realClock : swiftClock();
  const service = connect(httpService(simulator, settings), emit, clock ?? usual);
  try {
    return await sync(
      { ...config, slices: slices ?? config.slices },
      { command: 'sync', lockWaitMs: 0, asOf: asOf === 'now' ? null : asOf, ...request },
      fromService(service),
      {
        emit,
        signal: signal ?? AbortSignal.timeout(150_000),
        ...(onFinished === undefined ? {} : { onFinished }),
      },
    );
  } finally {
    await service.close();
  }
}

/**
 * Loads the newest day of slices by a run of the same instant, and records that their requests may cover 7 days at most. So a
 * long date period takes many windows, where the first answer of an unknown slice would make them few. Counts from then on.
 */
export async function limitToWeeks(
  scenario: Scenario,
  asOf: Date,
  slices = scenario.config.slices,
): Promise<void> {
  const newest = slices.map((slice) => {
    const { last } = slice.datePeriod;
    return { ...slice, datePeriod: { first: last, last } };
  });
  await runNight(scenario, asOf, { slices: newest });
  await inWritten(scenario, async (warehouse) => {
    for (const slice of slices) {
      const of = { slice: slice.name, fingerprint: fingerprintOf(slice) };
      await saveSize(warehouse, of, { maxDays: 7 }, asOf);
    }
  });
  scenario.events.length = 0;
  scenario.simulator.requested.reset();
}

/**
 * Records that every request so far took 400 ms and 20 ms a row, and adds loads until plans go by that: not by how fast this
 * machine is. More than 20 rows that are not due then cost more than another request.
 */
export async function recordSlowRows(scenario: Scenario): Promise<void> {
  await inWritten(scenario, async (warehouse) => {
    await warehouse.run(
      `insert into ripen.loads
       select l.* replace (-n as load_id, 'slow' as slice, 1 as requests, n as rows_fetched)
       from (from ripen.loads order by load_id limit 1) as l, range(1, 21) as r(n)
       where not exists (from ripen.loads where load_id < 0)`,
      [],
    );
    await warehouse.run(
      'update ripen.loads set received_at = requested_at + to_milliseconds(400 + 20 * rows_fetched)',
      [],
    );
  });
}

async function inWritten(
  { config, events }: Scenario,
  use: (warehouse: Warehouse) => Promise<void>,
): Promise<void> {
  const emit = (event: RunEvent): void => void events.push(event);
  const warehouse = await openWarehouse(config.warehouse, { mode: 'write', lockWaitMs: 0, emit });
  try {
    await use(warehouse);
  } finally {
    await warehouse.close();
  }
}

/** Matches report requests, or with conditions only those whose parameters are, or satisfy, what is given. */
export function reports(
  conditions: Readonly<Record<string, string | ((value: string) => boolean)>> = {},
): (request: FaultedRequest) => boolean {
  return ({ path, query }) =>
    path.endsWith('/report') &&
    Object.entries(conditions).every(([name, wanted]) => {
      const value = query.get(name);
      return value !== null && (typeof wanted === 'string' ? value === wanted : wanted(value));
    });
}

/** Whether a `date_period` holds a day. */
export function holds(day: string): (datePeriod: string) => boolean {
  return (datePeriod) => datePeriod.slice(0, 10) <= day && day <= datePeriod.slice(11);
}

/** How many days a `date_period` holds. */
export function daysOf(datePeriod: string): number {
  const [first = '', last = ''] = datePeriod.split(':');
  return (Date.parse(last) - Date.parse(first)) / 86_400_000 + 1;
}

/** The report requests so far, in the order they came. */
export function askedReports({ simulator }: Scenario) {
  return simulator.requested.requests
    .filter(({ path }) => path.endsWith('/report'))
    .map(({ query, status }) => {
      const parameters = new URLSearchParams(query);
      return { period: parameters.get('date_period') ?? '', status, query: parameters };
    });
}

/** A deadline of so many milliseconds that passes when it is told to, however fast the machine is. */
export function passingDeadline(ms: number): AbortController {
  const deadline = new AbortController();
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((given) =>
    given === ms ? deadline.signal : timeout(given),
  );
  return deadline;
}
