/** Small answers of several slices, which are loaded in one transaction. */

import { DuckDBConnection } from '@duckdb/node-api';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { query, storedAndTrue } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const NIGHTS = [new Date('2026-06-01T02:30:00Z'), new Date('2026-06-02T02:30:00Z')] as const;
const slices = (
  [
    ['day', 'app_token'],
    ['day', 'country_code'],
    ['day', 'os_name'],
    ['day', 'app_token', 'os_name'],
  ] as const
).map((dimensions, at) =>
  slice({
    name: `slice_${at}`,
    dimensions,
    metrics: ['installs', 'clicks'],
    datePeriod: { first: { day: day('2026-05-25') }, last: { daysAgo: 1 } },
    refresh: 'nightly',
  }),
);

let scenario: Scenario;

beforeEach(async () => {
  scenario = await openScenario(slices, { simulator: { world: smallWorld } });
  await runNight(scenario, NIGHTS[0]);
});

/** Runs a night whose loads wait for filters-data until all reports have arrived. Returns how often loads were recorded. */
async function nightTogether(): Promise<number> {
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/filters_data'),
    times: 1,
    fault: { kind: 'drip', bytes: 1000, everyMs: 10 },
  });
  const steps = await countSteps();
  const summary = await runNight(scenario, NIGHTS[1]).finally(() => steps.stop());
  expect(summary.failures).toEqual([]);
  for (const of of slices) {
    const { stored, truth } = await storedAndTrue(scenario, of, '2026-05-25:2026-06-01', NIGHTS[1]);
    expect(stored).toEqual(truth);
  }
  const restated = await query(
    scenario,
    `select slice, count(distinct period)::integer as periods from ripen.restatements group by slice order by slice`,
  );
  expect(restated).toEqual(
    summary.slices.map(({ name, restated_periods: periods }) => ({ slice: name, periods })),
  );
  return steps.kinds.filter((kind) => kind === 'insert into ripen.loads').length;
}

test('4 slices whose reports have arrived are recorded in 2 transactions, the first slice by itself', async () => {
  expect(await nightTogether()).toBe(2);
});

test('if a slice fails in the transaction of others, each is loaded by itself, once', async () => {
  const run: unknown = Reflect.get(DuckDBConnection.prototype, 'run');
  if (typeof run !== 'function') throw new TypeError('run is no function');
  let failed = 0;
  Reflect.set(DuckDBConnection.prototype, 'run', function (this: unknown, ...given: unknown[]) {
    if (failed > 0 || !String(given[0]).includes('insert into main."slice_2"'))
      return Reflect.apply(run, this, given) as unknown;
    failed += 1;
    return Promise.reject(new Error('Invalid Error: made up'));
  });
  onTestFinished(() => void Reflect.set(DuckDBConnection.prototype, 'run', run));
  expect(await nightTogether()).toBe(4);
  expect(failed).toBe(1);
});
