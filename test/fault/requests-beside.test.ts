/** What is requested beside the reports: filters-data, partners and links. None of them may delay, end or spoil a load. */

import { beforeEach, expect, test, vi } from 'vitest';
import * as z from 'zod';

import type { RunEvent } from '../../src/events.ts';
import { day } from '../../src/model/calendar.ts';
import { column, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { passingDeadline, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const DEADLINE_MS = 2500;
const NIGHTS = [new Date('2026-06-01T02:30:00Z'), new Date('2026-06-02T02:30:00Z')] as const;
const DAYS = '2026-05-25:2026-06-01';

let scenario: Scenario;

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'clicks'],
  datePeriod: { first: { day: day('2026-05-25') }, last: { daysAgo: 1 } },
  refresh: 'nightly',
});

beforeEach(async () => {
  vi.restoreAllMocks();
  const opened = await openScenario([daily], { simulator: { world: smallWorld } });
  const links = { apps: 'all', maxLevel: 4, everyMs: 0 } as const;
  scenario = { ...opened, config: { ...opened.config, partners: true, links } };
});

function hang(path: string): void {
  const match = (request: { readonly path: string }): boolean => request.path.endsWith(path);
  scenario.simulator.script({ match, times: Infinity, fault: { kind: 'silence' } });
}

async function expectTruth(): Promise<void> {
  const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NIGHTS[1]);
  expect(stored).toEqual(truth);
}

test('all windows load while links do not answer: the deadline that ends its wait is the only failure, and what was stored stays', async () => {
  await runNight(scenario, NIGHTS[0]);
  const linkRows = await column(scenario, 'select count(*) from links');
  const deadline = passingDeadline(DEADLINE_MS);
  hang('/trackers');
  const summary = await runNight(scenario, NIGHTS[1], {
    request: { deadlineMs: DEADLINE_MS },
    onEvent: ({ type }) => {
      if (type === 'window_loaded') deadline.abort(new DOMException('', 'TimeoutError'));
    },
  });
  expect(summary.failures.map(({ code }) => code)).toEqual(['DEADLINE_PASSED']);
  expect(summary.slices[0]?.windows).toEqual({ planned: 1, loaded: 1, failed: 0 });
  expect(await lastRun(scenario)).toMatchObject({ status: 'partial', exit_code: 75 });
  await expectTruth();
  expect(await column(scenario, 'select count(*) from links')).toEqual(linkRows);
  expect(summary.links.rows).toBe(Number(linkRows[0]));
});

test('a signal while links do not answer ends the run at once, with what was loaded', async () => {
  await runNight(scenario, NIGHTS[0]);
  const stop = new AbortController();
  hang('/trackers');
  const summary = await runNight(scenario, NIGHTS[1], {
    signal: stop.signal,
    onEvent: ({ type }) => {
      if (type === 'window_loaded') stop.abort();
    },
  });
  expect(summary).toMatchObject({ status: 'interrupted', failures: [] });
  await expectTruth();
});

test('a disk that fails a load ends the run although links do not answer, and no rejection is left unhandled', async () => {
  await runNight(scenario, NIGHTS[0]);
  hang('/trackers');
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  let isFull = false;
  const steps = await countSteps(() => isFull);
  const summary = await runNight(scenario, NIGHTS[1], {
    onEvent: ({ type }) => {
      if (type === 'window_fetched') isFull = true;
    },
  }).finally(() => steps.stop());
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.off('unhandledRejection', onUnhandled);
  expect(new Set(summary.failures.map(({ code }) => code))).toEqual(new Set(['STORAGE_FAILED']));
  expect(unhandled).toEqual([]);
});

const places = (events: readonly RunEvent[]) => {
  const placeOf = (type: RunEvent['type']): number =>
    events.findIndex((event) => event.type === type);
  return [placeOf('window_fetched'), placeOf('catalog_loaded'), placeOf('window_loaded')] as const;
};

test('once its table exists, a slice is requested before filters-data has answered, and loaded after; a new slice waits', async () => {
  const slowCatalog = (): void => {
    scenario.simulator.script({
      match: ({ path }) => path.endsWith('/filters_data'),
      times: 1,
      fault: { kind: 'drip', bytes: 1000, everyMs: 10 },
    });
  };
  slowCatalog();
  await runNight(scenario, NIGHTS[0]);
  const [firstFetched, firstCatalog] = places(scenario.events);
  expect(firstCatalog).toBeLessThan(firstFetched);

  scenario.events.length = 0;
  slowCatalog();
  const summary = await runNight(scenario, NIGHTS[1]);
  expect(summary.failures).toEqual([]);
  const [fetched, catalog, loaded] = places(scenario.events);
  expect(fetched).toBeLessThan(catalog);
  expect(catalog).toBeLessThan(loaded);
  await expectTruth();
});

const itemsShape = z.array(z.looseObject({ id: z.string() }));

/** Makes filters-data list `clicks` as money in the next night. */
function makeClicksMoney(): void {
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/filters_data'),
    times: 1,
    fault: {
      kind: 'report',
      mutate: (lists) => ({
        ...lists,
        overview_metrics: itemsShape
          .parse(JSON.parse(JSON.stringify(lists['overview_metrics'])))
          .map((item) =>
            item.id === 'clicks' ? Object.assign(item, { formatting: 'money' }) : item,
          ),
      }),
    },
  });
}

test('a metric whose type changes in the night its rows are loaded gets its new column in that night, recorded, with the same values', async () => {
  await runNight(scenario, NIGHTS[0]);
  makeClicksMoney();
  expect((await runNight(scenario, NIGHTS[1])).failures).toEqual([]);
  const changes = await query(
    scenario,
    `select name, change, before from ripen.schema_changes where object = 'daily' and name = 'clicks'`,
  );
  expect(changes).toEqual([{ name: 'clicks', change: 'column widened', before: 'BIGINT' }]);
  const types = await column(
    scenario,
    `select data_type from duckdb_columns() where table_name = 'daily' and column_name = 'clicks'`,
  );
  expect(types).not.toEqual(['BIGINT']);
  const { stored, truth } = await storedAndTrue(scenario, daily, DAYS, NIGHTS[1]);
  expect(stored.map((row) => row.replaceAll(/\.0+(?=\D)/g, ''))).toEqual(truth);
});
