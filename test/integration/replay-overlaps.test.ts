/** Nights after which a warehouse is lost, or an older copy of it restored, whose archived answers overlap and share an instant. */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import * as z from 'zod';

import { day, type DayInterval } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { ReportMutation } from '../support/simulator/mutations.ts';
import { archived, loadedState, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column } from '../support/contents.ts';
import { reports } from '../support/night.ts';
import { duplicatedRow } from '../support/report-mutations.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const world = { apps: 1, partners: 2, links: 4, rowsPerDay: 8 } as const;
const FIRST = new Date('2026-06-01T02:30:00Z');
const given = {
  name: 'daily',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'clicks', 'cost', 'all_revenue_total_d7'],
  datePeriod: { first: { day: day('2026-05-18') }, last: { day: day('2026-05-31') } },
} as const;
const daily = slice(given);
const weekly = slice({ ...given, dimensions: ['week', 'os_name'] });

/** A run of a night: its answers are those of so many days later, and may lie in their form. */
interface Night {
  readonly daysLater: number;
  /** Null: whatever is due. */
  readonly forced: DayInterval | null;
  readonly mutate?: ReportMutation;
}

const days = (start: string, end: string): DayInterval => ({ start: day(start), end: day(end) });
const all: Night = { daysLater: 0, forced: null };
const anew: Night = { daysLater: 3, forced: days('2026-05-21', '2026-05-24') };
const allAnew: Night = { daysLater: 2, forced: days('2026-05-18', '2026-06-01') };
const anewAfterThat: Night = { daysLater: 6, forced: days('2026-05-23', '2026-05-29') };

async function run({ daysLater, forced, mutate }: Night, asOf: Date | null): Promise<void> {
  const restore =
    mutate === undefined
      ? () => {}
      : scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'report', mutate } });
  const at = new Date(FIRST.getTime() + daysLater * 86_400_000);
  const request = { asOf, forced, command: forced === null ? 'sync' : 'backfill' } as const;
  expect((await scenario.night(at, archived, request)).failures).toEqual([]);
  restore();
}

const copied = duplicatedRow(0);
/** A listing with another name for its first item. */
const renamed: ReportMutation = (lists) =>
  z
    .record(z.string(), z.any())
    .parse(JSON.parse(JSON.stringify(lists).replace(/"name":"([^"]+)"/, '"name":"$1 anew"')));

// No instant that was given stands for the fetch, or one stands for all: nothing but their order tells the answers apart.
const STATED = new Date('2026-06-10T02:30:00Z');
const nights: readonly (readonly [string, Slice, Date | null, readonly Night[]])[] = [
  ['3 of 14 days asked for again', daily, null, [all, anew]],
  ['stretches of days asked for again, as of one instant', daily, STATED, [all, anew, anewAfterThat, anew]],
  ['an older answer with a row twice', daily, null, [{ ...all, mutate: copied }, anew]],
  ['1 of 2 weeks asked for again', weekly, null, [all, allAnew, anew]],
];

test.each(nights)('a lost warehouse gets back %s: the newest answer of each, once', async (_, declared, asOf, runs) => {
  scenario = await openScenario([declared], { simulator: { world } });
  for (const each of runs) await run(each, asOf);
  const before = await loadedState(scenario, ['daily']);
  expect(before[0]?.length).toBeGreaterThan(1);
  await loseWarehouse(scenario);
  expect((await replayInto(scenario, archived)).failures).toEqual([]);
  expect(await loadedState(scenario, ['daily'])).toEqual(before);
});

test('an older copy of a warehouse, restored, is brought up to the newest answers, and so are its copies', async () => {
  scenario = await openScenario([daily], { simulator: { world } });
  const publish = [{ kind: 'parquet', path: join(scenario.directory, 'lake'), mode: 0o644 }] as const;
  await run(all, FIRST);
  const older = `${scenario.config.warehouse}.older`;
  await copyFile(scenario.config.warehouse, older);
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/filters_data'),
    times: Infinity,
    fault: { kind: 'report', mutate: renamed },
  });
  for (const each of [anew, anewAfterThat, anew]) await run(each, null);
  const before = await loadedState(scenario, ['daily']);
  await loseWarehouse(scenario);
  await copyFile(older, scenario.config.warehouse);
  const summary = await replayInto(scenario, { ...archived, publish });

  expect(summary).toMatchObject({ failures: [], published: [{ kind: 'parquet' }] });
  expect(await loadedState(scenario, ['daily'])).toEqual(before);
  expect(await column(scenario, "select count(*) from ripen.catalog where name like '%anew'")).toEqual(['1']);
  const lake = `read_parquet('${join(scenario.directory, 'lake', 'daily', '*', '*.parquet')}')`;
  const sums = (from: string): Promise<string[]> =>
    column(scenario, `select count(*) || ' ' || sum(installs) || ' ' || sum(clicks) from ${from}`);
  expect(await sums(lake)).toEqual(await sums('daily'));
});
