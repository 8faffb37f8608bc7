/** Nights on which filters-data lists less than it did: what is known of a configured metric stays. */

import { beforeEach, expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import type { JsonDocument } from '../support/simulator/answer.ts';
import { column, query } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const firstNight = new Date('2026-06-01T02:30:00Z');
const secondNight = new Date('2026-06-02T02:30:00Z');
const datePeriod = { first: { day: day('2026-05-01') }, last: { daysAgo: 1 } } as const;
const paid = slice({
  name: 'paid',
  dimensions: ['day', 'os_name'],
  metrics: ['installs', 'paid_installs', 'paid_impressions'],
  datePeriod,
});
const plain = slice({ name: 'plain', dimensions: ['day'], metrics: ['installs'], datePeriod });

let scenario: Scenario;

beforeEach(async () => {
  scenario = await openScenario([paid, plain], { simulator: { world: smallWorld } });
});

/** Changes the next answer of filters-data. */
function scriptListing(change: (lists: JsonDocument) => JsonDocument): void {
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/filters_data'),
    times: 1,
    fault: { kind: 'report', mutate: change },
  });
}

const known = (): Promise<unknown> =>
  query(
    scenario,
    `select metric, kind, horizon_seconds / 86400 as days, type from ripen.slice_metrics
     where slice = 'paid' and metric <> 'installs' order by metric`,
  );
const changes = (): Promise<unknown[]> =>
  query(
    scenario,
    `select name, change from ripen.schema_changes where object = 'catalog' order by all`,
  );
const told = (code: string): string[] =>
  scenario.events.flatMap((event) =>
    event.type === 'warning' && event.code === code ? [event.message] : [],
  );

test.each<[string, unknown]>([
  ['a text', 'all'],
  ['an object', { items: [] }],
  ['a list of nulls', [null, null]],
])(
  '%s in place of one list costs no night: what it listed before stays, with a warning',
  async (_, said) => {
    await runNight(scenario, firstNight);
    const countries = await column(scenario, 'select count(*) from countries');
    expect(Number(countries[0])).toBeGreaterThan(0);
    scriptListing((lists) => ({ ...lists, countries: said }));
    expect(await runNight(scenario, secondNight)).toMatchObject({
      status: 'succeeded',
      failures: [],
    });
    expect(await column(scenario, 'select count(*) from countries')).toEqual(countries);
    expect(told('CATALOG_LIST_EMPTY')).toHaveLength(1);
  },
);

test('a list of metrics that is empty for one night changes no horizon', async () => {
  await runNight(scenario, firstNight);
  const before = await known();
  expect(before).toEqual([
    { metric: 'paid_impressions', kind: 'spend', days: 14, type: 'BIGINT' },
    { metric: 'paid_installs', kind: 'spend', days: 14, type: 'BIGINT' },
  ]);
  scriptListing((lists) => ({ ...lists, overview_metrics: [] }));
  expect((await runNight(scenario, secondNight)).status).toBe('succeeded');
  expect(await known()).toEqual(before);
  expect(await changes()).toEqual([]);
  expect(told('CATALOG_LIST_EMPTY')).toEqual([
    'filters-data listed nothing in overview_metrics; the stored lists were kept.',
  ]);
});

test('29 empty lists on the first night fail the run before a report is asked for; on the second the stored ones serve', async () => {
  const emptied = (lists: JsonDocument): JsonDocument =>
    Object.fromEntries(Object.keys(lists).map((filter) => [filter, []]));
  scriptListing(emptied);
  const failed = await runNight(scenario, firstNight);
  expect(failed).toMatchObject({ status: 'failed', failures: [{ code: 'SOURCE_GARBLED' }] });
  expect(scenario.simulator.requested.counts.report).toBe(0);

  await runNight(scenario, firstNight);
  const before = await known();
  scriptListing(emptied);
  expect((await runNight(scenario, secondNight)).status).toBe('succeeded');
  expect(told('CATALOG_STALE')).toHaveLength(1);
  expect(await known()).toEqual(before);
});

test('a list of apps that is refused is named in the words of the service, whether one is stored or not, and `links.apps: all` without an app is told', async () => {
  const change = {
    slices: [plain],
    links: { apps: 'all', maxLevel: 4, everyMs: 0 },
  } as const;
  const refuse = () =>
    scenario.simulator.script({
      match: ({ query: parameters }) =>
        parameters.get('required_filters')?.split(',').includes('apps') === true,
      times: Infinity,
      fault: { kind: 'status', status: 400, message: 'no list of apps' },
    });
  const reason = 'GET /reports-service/filters_data was answered 400: ';
  const noApp = 'The catalog lists no app, so that `links.apps: all` updated no links.';
  const night = async (asOf: Date): Promise<string[]> => {
    scenario.events.length = 0;
    expect((await scenario.night(asOf, change)).failures).toEqual([]);
    return told('CATALOG_LIST_EMPTY');
  };
  const listAgain = refuse();
  expect(await night(firstNight)).toEqual([
    textWith(`filters-data did not list apps, and no list of it is stored: ${reason}`),
    noApp,
  ]);
  listAgain();
  expect(await night(secondNight)).toEqual([]);
  refuse();
  const words = textWith(`filters-data did not list apps, and its stored list was kept: ${reason}`);
  expect(await night(new Date('2026-06-03T02:30:00Z'))).toEqual([words]);
  expect(told('CATALOG_LIST_EMPTY')[0]).toContain('no list of apps');
});
