/** GET reports-service/filters_data: each list from the wire to its table, each section, the search. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { catalog } from '../../src/commands/catalog.ts';
import { findingsOf } from '../../src/check/check.ts';
import { catalogFilters, catalogSections, metricFilterNames } from '../../src/model/catalog.ts';
import { connect } from '../../src/service/connect.ts';
import type { Service } from '../../src/service/service.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { httpService, openScenario, TOKEN, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { recordedShell } from '../unit/cli-recorded-shell.ts';

const night = new Date('2026-06-01T02:30:00Z');
const daily = slice({ name: 'daily', dimensions: ['day'], metrics: ['installs'] });

/** Every list, and the SQL that reads its ids back. */
const lists = [
  ['apps', 'select app_token as id from main.apps'],
  ['apps_network', 'select id from main.apps_network'],
  ['overview_metrics', 'select id from main.metrics'],
  ['skad_metrics', 'select id from main.metrics'],
  ['cohort_maturity', 'select id from main.report_options where parameter = $1'],
  ['cohort_metrics', 'select id from main.metrics'],
  ['event_metrics', 'select id from main.metrics'],
  ['cost_metrics', 'select id from main.metrics'],
  ['etl_metrics', 'select id from main.metrics'],
  ['dimensions', 'select id from main.dimensions'],
  ['countries', 'select id from main.countries'],
  ['currencies', 'select id from main.currencies'],
  ['os_names', 'select id from main.os_names'],
  ['networks', 'select id from main.networks'],
  ['partners', 'select id from ripen.catalog where filter = $1'],
  ['ad_revenue_sources', 'select id from main.ad_revenue_sources'],
  ['iap_revenue_mode', 'select id from main.report_options where parameter = $1'],
  ['attribution_type', 'select id from main.report_options where parameter = $1'],
  ['attribution_source', 'select id from main.report_options where parameter = $1'],
  ['attribution_status', 'select id from main.report_options where parameter = $1'],
  ['ad_spend_mode', 'select id from main.report_options where parameter = $1'],
  ['utc_offset', 'select id from main.report_options where parameter = $1'],
  ['attributes', 'select id from main.report_options where parameter = $1'],
  ['index', 'select id from main.report_options where parameter = $1'],
  ['period_over_period', 'select id from main.report_options where parameter = $1'],
  ['cohort_metric_names', 'select id from main.report_options where parameter = $1'],
  ['full_cohort_periods', 'select id from main.report_options where parameter = $1'],
  ['store_type', 'select id from main.store_type'],
  ['skad_time_adjustment', 'select id from main.report_options where parameter = $1'],
] as const;

const sections = [
  'conversion',
  'fraud',
  'cost',
  'revenue',
  'retention',
  'events',
  'conversion_events',
  'installs',
  'conversion_values',
] as const;

let scenario: Scenario;
let service: Service;
/** The ids in the tables after one night, by list. */
const stored = new Map<string, readonly string[]>();
const idRow = z.object({ id: z.string() });

beforeAll(async () => {
  scenario = await openScenario([daily], { simulator: { token: TOKEN } });
  await scenario.night(night);
  service = connect(httpService(scenario.simulator), () => {});
  await scenario.inWarehouse(async (warehouse) => {
    for (const [list, sql] of lists) {
      const rows = await warehouse.rows(sql, sql.includes('$1') ? [list] : [], idRow);
      stored.set(
        list,
        rows.map(({ id }) => id),
      );
    }
  });
});

afterAll(async () => {
  await service.close();
  await scenario.close();
});

const queriesOf = ({ asked }: Simulator): readonly URLSearchParams[] =>
  asked.requests
    .filter(({ path }) => path === '/reports-service/filters_data')
    .map(({ query }) => new URLSearchParams(query));

describe('a sync', () => {
  test('asks for the 29 lists of the interface in 1 call, without section or search', () => {
    expect(lists.map(([list]) => list)).toEqual(catalogFilters);
    expect(queriesOf(scenario.simulator).map(String)).toEqual([
      `required_filters=${encodeURIComponent(catalogFilters.join(','))}`,
    ]);
  });

  test.each(lists)('keeps every item of %s: %s', (list) => {
    const told = scenario.simulator.world.filtersData(new URLSearchParams({ required_filters: list }))[list] ?? [];
    const wanted = new Set(told.map(({ id }) => id));
    expect(wanted.size).toBeGreaterThan(0);
    const kept = (stored.get(list) ?? []).toSorted();
    // The lists of metrics share one table.
    const ofThisList = list.endsWith('_metrics') ? kept.filter((id) => wanted.has(id)) : kept;
    expect(ofThisList).toEqual([...wanted].toSorted());
  });
});

test.each(lists.map(([list]) => list))('the search %s__contains finds what the service finds', async (list) => {
  const all = await service.filtersData({ filters: [list] }, new AbortController().signal);
  const part = (all.items.at(-1)?.name ?? '').slice(0, 3);
  scenario.simulator.asked.reset();
  const found = await service.filtersData(
    { filters: [list], contains: { [list]: part } },
    new AbortController().signal,
  );
  expect(queriesOf(scenario.simulator).map((query) => query.get(`${list}__contains`))).toEqual([part]);
  const holds = (text: string): boolean => text.toLowerCase().includes(part.toLowerCase());
  expect(found).toEqual({ items: all.items.filter(({ id, name }) => holds(id) || holds(name)), faults: [] });
  expect(found.items.length).toBeGreaterThan(0);
});

describe('ripen catalog', () => {
  const globals = { config: undefined, asOf: undefined, log: 'text', quiet: false, json: true } as const;
  const printed = z.object({ catalog: z.array(z.record(z.string(), z.string())) });
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ripen-'));
    const { url } = scenario.simulator;
    const daily = '{name: daily, dimensions: [day], metrics: [installs], date_period: "2026-01-01:yesterday"}';
    const text = `service: {base_url: "${url}", reports_url: "${url}", token: ${TOKEN}}\nslices: [${daily}]\n`;
    await writeFile(join(directory, 'ripen.yaml'), text);
  });

  afterAll(() => rm(directory, { recursive: true }));

  test.each(sections)('--section %s asks for that section of the metrics and prints no other', async (section) => {
    expect(sections).toEqual(catalogSections);
    scenario.simulator.asked.reset();
    const shell = recordedShell({ directory });
    expect(await catalog({ ...globals, word: undefined, section }, shell)).toBe(0);
    const [query] = queriesOf(scenario.simulator);
    expect([query?.get('section'), query?.get('required_filters')?.includes('apps')]).toEqual([section, false]);
    const { catalog: items } = printed.parse(JSON.parse(shell.printed.at(-1) ?? ''));
    expect(new Set(items.map((item) => item['section']?.toLowerCase().replace(' ', '_')))).toEqual(
      // Of this section alone the simulated world has no metric.
      new Set(section === 'conversion_events' ? [] : [section]),
    );
  });

  test('prints the items with a word in id or names, whatever its case, under the names the service has for fields', async () => {
    const shell = recordedShell({ directory });
    await catalog({ ...globals, word: 'ECPI_ALL', section: undefined }, shell);
    const { catalog: items } = printed.parse(JSON.parse(shell.printed.at(-1) ?? ''));
    expect(items.map(({ id }) => id)).toContain('ecpi_all');
    expect(Object.keys(items[0] ?? {}).toSorted()).toEqual(
      ['filter', 'id', 'name', 'short_name', 'section', 'formatting', 'description'].toSorted(),
    );
  });

  test('warns of the lists that were not answered, and prints the others', async () => {
    const stop = answering({ apps: [{ id: 'a1b2c3d4e5f6', name: 'One' }] });
    const shell = recordedShell({ directory });
    expect(await catalog({ ...globals, json: false, word: undefined, section: undefined }, shell)).toBe(0);
    stop();
    expect(shell.told.join('\n')).toContain('CATALOG_LIST_ABSENT: filters-data did not answer for apps_network, ');
    expect(shell.printed.at(-1)).toMatch(/\napps {4}a1b2c3d4e5f6 .*\n1 item$/);
  });
});

/** Answers filters-data with a document, until the returned function is called. */
function answering(document: object): () => void {
  return scenario.simulator.script({
    match: ({ path }) => path.endsWith('/filters_data'),
    times: Infinity,
    fault: {
      kind: 'status',
      status: 200,
      body: { text: JSON.stringify(document), contentType: 'application/json' },
    },
  });
}

describe('ripen check', () => {
  const found = () => findingsOf(scenario.config, night, () => {}, new AbortController().signal);

  test('finds an error object under 200 to be an error, with its first words', async () => {
    const stop = answering({ error: 'the catalog is being built' });
    const errors = (await found()).filter(({ severity }) => severity === 'error');
    stop();
    expect(errors.map(({ code }) => code)).toEqual(['SOURCE_GARBLED']);
    expect(errors[0]?.message).toContain('{"error":"the catalog is being built"}');
  });

  test('finds a list that was not answered to be a warning, and holds the slices against the others', async () => {
    const metrics = Object.fromEntries(metricFilterNames.map((list) => [list, [{ id: 'clicks' }]]));
    const stop = answering({ ...metrics, dimensions: [] });
    const findings = await found();
    stop();
    const messages = findings.filter(({ severity }) => severity === 'warning').map(({ message }) => message);
    expect(messages.join(' ')).toMatch(
      /filters-data did not answer for [a-z_, ]*\bnetworks\b[a-z_, ]*; no slice was checked against that/,
    );
    expect(messages.join(' ')).not.toContain('answer for dimensions');
    expect(findings.filter(({ severity }) => severity === 'error').map(({ message }) => message)).toEqual([
      'filters-data listed no metric installs; the service would refuse the whole report',
    ]);
  });
});
