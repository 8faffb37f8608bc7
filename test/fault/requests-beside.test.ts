/** What is requested beside the reports: filters-data, partners and links. None of them may delay, end or spoil a load. */

import { beforeEach, expect, test, vi } from 'vitest';
import * as z from 'zod';

import type { RunEvent } from '../../src/events.ts';
import { day } from '../../src/model/calendar.ts';
import { column, lastRun, query, storedAndTrue } from '../support/contents.ts';
import { countSteps } from '../support/failing-step.ts';
import { passingDeadline, runNight, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { swiftClock } from '../support/scripted-server.ts';
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

test('links that fail while reports load are a failure of the run, and no window is', async () => {
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/trackers'),
    times: Infinity,
    fault: { kind: 'status', status: 503 },
  });
  const summary = await runNight(scenario, NIGHTS[0]);
  expect(new Set(summary.failures.map(({ code }) => code))).toEqual(
    new Set(['SOURCE_UNAVAILABLE']),
  );
  expect(summary.slices[0]?.windows.failed).toBe(0);
  expect(summary.status).toBe('partial');
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

test('credentials that filters-data refuses end the night once, before anything is loaded', async () => {
  await runNight(scenario, NIGHTS[0]);
  const loads = await column(scenario, 'select count(*) from ripen.loads');
  scenario.simulator.script({
    match: () => true,
    times: Infinity,
    fault: { kind: 'status', status: 401 },
  });
  const summary = await runNight(scenario, NIGHTS[1]);
  expect(summary.failures.map(({ code }) => code)).toEqual(['CREDENTIALS_REFUSED']);
  expect(await lastRun(scenario)).toMatchObject({ status: 'failed', exit_code: 78 });
  expect(await column(scenario, 'select count(*) from ripen.loads')).toEqual(loads);
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

test('8 tables get other types while answers of 7 windows are read into them: each window is loaded', async () => {
  const slices = Array.from({ length: 8 }, (_, at) => ({ ...daily, name: `daily_${at}` }));
  scenario = { ...scenario, config: { ...scenario.config, slices, links: null } };
  await runNight(scenario, NIGHTS[0]);
  makeClicksMoney();
  // The first answer waits for the catalog; the others are sent once that is stored, and end one after the other.
  let reports = 0;
  const isReport = ({ path }: { readonly path: string }): boolean => path.endsWith('/report');
  for (let at = 1; at <= slices.length; at += 1) {
    scenario.simulator.script({
      match: (request) => isReport(request) && reports === slices.length + at - 1,
      times: 1,
      fault: { kind: 'drip', bytes: 500, everyMs: 4 * at },
    });
  }
  scenario.simulator.script({
    match: (request) => isReport(request) && (reports += 1) > 1 && reports <= slices.length,
    times: slices.length - 1,
    fault: { kind: 'status', status: 503 },
  });
  const swift = swiftClock();
  let onStored = (): void => {};
  const stored = new Promise<void>((resolve) => (onStored = resolve));
  const summary = await runNight(scenario, NIGHTS[1], {
    clock: {
      ...swift,
      async sleep(ms, signal) {
        await stored;
        await swift.sleep(ms, signal);
      },
    },
    onEvent: ({ type }) => {
      if (type === 'catalog_loaded') onStored();
    },
  });
  expect(summary.failures).toEqual([]);
  const loaded = { planned: 1, loaded: 1, failed: 0 };
  expect(summary.slices.map(({ windows }) => windows)).toEqual(slices.map(() => loaded));
  const widened = `select count(*) from ripen.schema_changes where name = 'clicks' and change = 'column widened'`;
  expect(await column(scenario, widened)).toEqual(['8']);
});
