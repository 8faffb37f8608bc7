/** Slices whose metrics do not fit an address: requested in batches, and stored as if they had been requested whole. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { agesIn } from '../../src/model/cube.ts';
import type { Slice } from '../../src/model/slice.ts';
import { archived, loseWarehouse, replayInto } from '../support/archive-scene.ts';
import { column, query } from '../support/contents.ts';
import { askedReports, holds, reports, smallWorld } from '../support/night.ts';
import { replacedValue } from '../support/report-mutations.ts';
import { textWith } from '../support/matching.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import type { Fault } from '../support/simulator/faults.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const nightAt = (number: number): Date => new Date(Date.UTC(2026, 5, number, 2, 30));
const simulator = { world: smallWorld };

const ages = agesIn('d0..d18') ?? [];
const metrics = [
  'installs',
  'cost',
  'roas_d7',
  ...['all_revenue_total', 'retained_users', 'cohort_size'].flatMap((key) =>
    ages.map((age) => `${key}_${age}`),
  ),
];

const wide = slice({
  name: 'wide',
  dimensions: ['day', 'app_token', 'os_name', 'network', 'country_code'],
  metrics,
  parameters: { sort: '-installs' },
  datePeriod: { first: { day: day('2026-05-27') }, last: { daysAgo: 1 } },
});
/** The same in addresses of 1000 bytes. */
const batched: Slice = { ...wide, name: 'batched', maxUrlBytes: 1000 };

/** What each slice has that the other has not, in a table or in what a query says of it. */
const differing = async (of: Scenario, queryOf: (name: string) => string): Promise<string[]> => {
  const [one, other] = [queryOf('wide'), queryOf('batched')];
  const without = (some: string, others: string): string =>
    `(select count(*) from ((${some}) except all (${others})))`;
  return column(of, `select ${without(one, other)} || ' ' || ${without(other, one)}`);
};

const contents = [
  (name: string) => `select * exclude (_load_id) from ${name}`,
  (name: string) => `select * exclude (_load_id) from ${name}_final`,
  (name: string) =>
    `select * exclude (slice, load_id) from ripen.restatements where slice = '${name}'`,
  (name: string) =>
    `select start_day, end_day, state, rows, rejected, fetched_at, empty_runs from ripen.periods where slice = '${name}'`,
];

async function expectSame(of: Scenario): Promise<void> {
  for (const queryOf of contents) expect(await differing(of, queryOf)).toEqual(['0 0']);
}

test('60 metrics in addresses of 1000 bytes are stored, final and restated over 2 nights, a heavy day and a replay as they are in one of 8000', async () => {
  scenario = await openScenario([wide, batched], { simulator });
  expect((await scenario.night(nightAt(1), archived)).failures).toEqual([]);
  const requested = askedReports(scenario).map(({ query: each }) => each.toString().length);
  expect(requested.filter((length) => length < 1000).length).toBeGreaterThan(2);
  await expectSame(scenario);
  expect(await column(scenario, 'select count(*) > 50 from batched')).toEqual(['true']);
  // The newest day of a night, in batches and whole.
  const isHeavy = reports({ date_period: holds('2026-06-01') });
  scenario.simulator.script({
    match: isHeavy,
    times: Infinity,
    fault: { kind: 'too_heavy', maxRows: 12 },
  });
  expect((await scenario.night(nightAt(2), archived)).failures).toEqual([]);
  await expectSame(scenario);
  expect(scenario.events.filter(({ type }) => type === 'window_split').length).toBeGreaterThan(2);
  expect(
    await column(scenario, "select count(*) > 0 from ripen.restatements where slice = 'batched'"),
  ).toEqual(['true']);
  const before = await query(scenario, 'select * exclude (_load_id) from batched order by all');
  await loseWarehouse(scenario);
  expect((await replayInto(scenario)).failures).toEqual([]);
  await expectSame(scenario);
  expect(await query(scenario, 'select * exclude (_load_id) from batched order by all')).toEqual(
    before,
  );
}, 300_000);

/** Requests of the batch that holds a metric. */
const batchWith = (metric: string): ReturnType<typeof reports> =>
  reports({ metrics: (names) => names.split(',').includes(metric) });

/** A metric of the last batch. */
const LAST = 'cohort_size_d3';

const settled: Slice = {
  ...batched,
  datePeriod: { first: { day: day('2026-05-01') }, last: { day: day('2026-05-02') } },
  refresh: 'nightly',
};

test('a row with no number in metrics of two batches is one rejected row, with both reasons, as in one long address', async () => {
  scenario = await openScenario([{ ...settled, maxRejects: 5 }], { simulator });
  for (const metric of ['installs', LAST]) {
    const fault: Fault = { kind: 'report', mutate: replacedValue(0, metric, '1,234', 'kept') };
    scenario.simulator.script({ match: batchWith(metric), times: Infinity, fault });
  }
  const summary = await scenario.night(nightAt(1));
  expect(summary.failures).toEqual([]);
  expect(summary.slices[0]?.rows.rejected).toBe(1);
  const reasons = await column(scenario, 'select reason from ripen.rejected_rows order by reason');
  expect(reasons).toEqual([textWith(LAST), textWith('installs')]);
}, 60_000);

test('an address that is answered 414 fails its window, with its length and the setting that makes it shorter', async () => {
  scenario = await openScenario([settled], { simulator });
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: { kind: 'status', status: 414 },
  });
  const [failure] = (await scenario.night(nightAt(1))).failures;
  expect(failure?.message).toMatch(/report, an address of \d{3} bytes, was answered 414/);
  expect(failure?.hint).toMatch(/^Set service\.max_url_bytes below /);
});
