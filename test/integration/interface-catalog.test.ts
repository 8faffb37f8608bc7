/** GET reports-service/filters_data: each list from the wire to its table, each section, the search. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { type CatalogFilter, catalogFilters, catalogSections } from '../../src/model/catalog.ts';
import { connect } from '../../src/service/connect.ts';
import type { Service } from '../../src/service/service.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { httpService, openScenario, TOKEN, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { carriedOut, recordedShell } from '../unit/cli-recorded-shell.ts';

const night = new Date('2026-06-01T02:30:00Z');
const daily = slice({ name: 'daily', dimensions: ['day'], metrics: ['installs'] });

/** The SQL that reads the ids of a list back. */
function storedIn(list: CatalogFilter): string {
  if (list === 'apps') return 'select app_token as id from main.apps';
  if (list === 'partners') return "select id from ripen.catalog where filter = 'partners'";
  if (list.endsWith('_metrics')) return 'select id from main.metrics';
  const own =
    /^(apps_network|dimensions|countries|currencies|os_names|networks|ad_revenue_sources|store_type)$/;
  return own.test(list)
    ? `select id from main.${list}`
    : `select id from main.report_options where parameter = '${list}'`;
}

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
    for (const list of catalogFilters) {
      const rows = await warehouse.rows(storedIn(list), [], idRow);
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

const queriesOf = ({ requested }: Simulator): readonly URLSearchParams[] =>
  requested.requests
    .filter(({ path }) => path === '/reports-service/filters_data')
    .map(({ query }) => new URLSearchParams(query));

describe('a sync', () => {
  test('asks for the 29 lists of the interface in 1 call, without section or search', () => {
    expect(catalogFilters).toHaveLength(29);
    expect(queriesOf(scenario.simulator).map(String)).toEqual([
      `required_filters=${encodeURIComponent(catalogFilters.join(','))}`,
    ]);
  });

  test.each(catalogFilters)('keeps every item of %s', (list) => {
    const told =
      scenario.simulator.world.filtersData(new URLSearchParams({ required_filters: list }))[list] ??
      [];
    const wanted = new Set(told.map(({ id }) => id));
    expect(wanted.size).toBeGreaterThan(0);
    const kept = (stored.get(list) ?? []).toSorted();
    // The lists of metrics share one table.
    const ofThisList = list.endsWith('_metrics') ? kept.filter((id) => wanted.has(id)) : kept;
    expect(ofThisList).toEqual([...wanted].toSorted());
  });
});

describe('ripen catalog', () => {
  const printed = z.object({ catalog: z.array(z.record(z.string(), z.string())) });
  let directory: string;

  beforeAll(async () => {
    ({ directory } = scenario);
    const { url } = scenario.simulator;
    const daily =
      '{name: daily, dimensions: [day], metrics: [installs], date_period: "2026-01-01:yesterday"}';
    const text = `service: {base_url: "${url}", reports_url: "${url}", token: ${TOKEN}}\nslices: [${daily}]\n`;
    await writeFile(join(directory, 'ripen.yaml'), text);
  });

  test.each(catalogSections)(
    '--section %s asks for that section of the metrics and prints no other',
    async (section) => {
      scenario.simulator.requested.reset();
      const shell = recordedShell({ directory });
      expect(await carriedOut(shell, 'catalog', '--section', section, '--json')).toBe(0);
      const [query] = queriesOf(scenario.simulator);
      expect([query?.get('section'), query?.get('required_filters')?.includes('apps')]).toEqual([
        section,
        false,
      ]);
      const { catalog: items } = printed.parse(JSON.parse(shell.printed.at(-1) ?? ''));
      expect(
        new Set(items.map((item) => item['section']?.toLowerCase().replace(' ', '_'))),
      ).toEqual(
        // Of this section alone the simulated world has no metric.
        new Set(section === 'conversion_events' ? [] : [section]),
      );
    },
  );

  test('prints the items with a word in id or names, whatever its case, under the names the service has for fields', async () => {
    const shell = recordedShell({ directory });
    await carriedOut(shell, 'catalog', 'ECPI_ALL', '--json');
    const { catalog: items } = printed.parse(JSON.parse(shell.printed.at(-1) ?? ''));
    expect(items.map(({ id }) => id)).toContain('ecpi_all');
    expect(Object.keys(items[0] ?? {}).toSorted()).toEqual(
      ['filter', 'id', 'name', 'short_name', 'section', 'formatting', 'description'].toSorted(),
    );
  });
});
