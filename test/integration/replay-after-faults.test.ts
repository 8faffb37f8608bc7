/** A replay of nights on which things went wrong leaves what those nights left. */

import { expect, test } from 'vitest';

import type { Slice } from '../../src/model/slice.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { rowsOf } from '../support/simulator/mutations.ts';
import { archived, loadedState, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { reports } from '../support/night.ts';
import { replacedValue, wrongTotal } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const nights = ['2026-06-01', '2026-06-02', '2026-06-05'].map((each) => new Date(`${each}T02:30:00Z`));
const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 8 } as const;
const given = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'clicks', 'cost'],
  datePeriod: { first: { daysAgo: 7 }, last: { daysAgo: 1 } },
  refresh: 'nightly',
} as const;
const daily = slice(given);

/** Runs the nights; the fault befalls every report of one of them. */
async function runNights(
  fault: { readonly night: number; readonly fault: Fault } | null,
  of: (night: number) => Slice = () => daily,
): Promise<void> {
  for (const [at, night] of nights.entries()) {
    const restore =
      fault !== null && at === fault.night
        ? scenario.simulator.script({ match: reports(), times: Infinity, fault: fault.fault })
        : () => {};
    await scenario.night(night, { ...archived, slices: [of(at)] });
    restore();
  }
}

/** The state after the warehouse was lost and replayed from the archive; nothing is asked for. */
async function replayed(slices: readonly Slice[] = [daily]): Promise<readonly string[][]> {
  await loseWarehouse(scenario);
  scenario.simulator.asked.reset();
  const summary = await replayInto(scenario, { slices, ...archived }, { asOf: null });
  expect(summary.failures).toEqual([]);
  expect(scenario.simulator.asked.requests).toEqual([]);
  return loadedState(scenario, ['daily']);
}

const withoutADay: Fault = {
  kind: 'report',
  mutate: (document) => ({
    ...document,
    rows: rowsOf(document).filter((row) => row['day'] !== '2026-06-01'),
    totals: {},
  }),
};

test.each<[string, { readonly night: number; readonly fault: Fault } | null, Slice]>([
  ['ripening days that left a rolling 7 days', null, daily],
  ['an answer without its newest day', { night: 1, fault: withoutADay }, daily],
  [
    'a cost of 20 digits',
    { night: 2, fault: { kind: 'report', mutate: replacedValue(0, 'cost', '12345678901234.123456789') } },
    daily,
  ],
  [
    'totals that are off under `completeness: warn`',
    { night: 2, fault: { kind: 'report', mutate: wrongTotal('clicks', 3) } },
    slice({ ...given, completeness: 'warn' }),
  ],
  [
    'a rejected row within `max_rejects: 1`',
    { night: 2, fault: { kind: 'report', mutate: replacedValue(0, 'clicks', 'NaN') } },
    slice({ ...given, maxRejects: 1 }),
  ],
  ['weeks', null, slice({ ...given, dimensions: ['week', 'os_name'] })],
])('a replay of 3 nights with %s leaves the same rows, periods and columns', async (_, fault, declared) => {
  scenario = await openScenario([declared], { simulator: { world } });
  await runNights(fault, () => declared);
  const before = await loadedState(scenario, ['daily']);
  expect(before[0]?.length).toBeGreaterThan(2);
  expect(await replayed([declared])).toEqual(before);
});
