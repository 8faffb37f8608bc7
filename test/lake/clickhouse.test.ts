/** ClickHouse reads the lake from disk and from S3, by the statements ripen prints, and answers as the warehouse does. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { PublishTarget } from '../../src/config/config.ts';
import { day } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { lakeDdl } from '../../src/publish/words/ddl.ts';
import { comparable, openClickHouse, type ClickHouse } from '../support/clickhouse.ts';
import { query } from '../support/contents.ts';
import { lakesDdl } from '../support/lake-ddl.ts';
import { smallWorld } from '../support/night.ts';
import { CREDENTIALS, useObjectStore, type RunningStore } from '../support/object-store.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';
import { onDisk } from '../support/hostile-names.ts';

const metrics = `
  installs clicks impressions sessions reattributions uninstalls organic_installs paid_installs
  paid_impressions ctr click_conversion_rate installs_per_mile organic_install_rate daus
  cost adjust_cost ecpi ecpi_all ecpm revenue
  ad_revenue all_revenue arpdau network_cost network_installs network_clicks
  network_impressions network_cost_diff network_installs_diff network_ecpi ecpi_network network_ecpc
  skad_installs cohort_size_d0 all_revenue_total_d7 roas_d7 cohort_size
`
  .trim()
  .split(/\s+/);

const slices = [
  slice({
    name: 'by_day',
    dimensions: ['day', 'app_token', 'network', 'country_code'],
    metrics,
    datePeriod: { first: { day: day('2026-03-10') }, last: { daysAgo: 1 } },
  }),
  slice({
    name: 'by_hour',
    dimensions: ['hour', 'os_name'],
    metrics: ['installs', 'cost', 'ecpi'],
    datePeriod: { first: { day: day('2026-03-20') }, last: { daysAgo: 1 } },
  }),
  slice({
    name: 'by_month',
    dimensions: ['month', 'app_token'],
    metrics: ['installs', 'revenue'],
    datePeriod: { first: { day: day('2026-01-01') }, last: { daysAgo: 1 } },
  }),
  slice({
    name: 'undated',
    dimensions: ['app_token'],
    metrics: ['installs', 'cost'],
    datePeriod: { first: { day: day('2026-02-01') }, last: { day: day('2026-02-28') } },
  }),
];
/** Beside the slices. */
const others = [
  'apps',
  'metrics',
  'dimensions',
  'partners',
  'partners_history',
  'links',
  'links_history',
];

let clickhouse: ClickHouse;
let store: RunningStore;

beforeAll(() => {
  // The library reads the environment of the process, once.
  Object.assign(process.env, CREDENTIALS, { AWS_EC2_METADATA_DISABLED: 'true' });
  clickhouse = openClickHouse();
});
afterAll(() => clickhouse.close());
beforeEach(async () => {
  store = await useObjectStore();
});

test('the installed engine is the one the statements name', async () => {
  const [found] = await clickhouse.rows('select version() as version');
  const engine = /^\d+\.\d+/.exec(found?.['version'] ?? '')?.[0];
  expect(lakeDdl('clickhouse', onDisk)).toContain(
    `in chDB ${clickhouse.version}, which is ClickHouse ${engine},`,
  );
});

describe.each(['disk', 'S3'])('a lake of two nights on %s', (place) => {
  let scenario: Scenario;
  let target: PublishTarget;

  const ddl = async (): Promise<string> =>
    scenario.inWarehouse(async (warehouse) =>
      lakesDdl('clickhouse', { publish: [target] }, warehouse),
    );
  const night = async (asOf: string, chosen: readonly Slice[] = slices): Promise<void> => {
    const change = {
      slices: chosen,
      publish: [target],
      partners: true,
      links: { apps: 'all', maxLevel: 4, everyMs: 0 },
    } as const;
    expect(await scenario.night(new Date(asOf), change)).toMatchObject({
      status: 'succeeded',
      failures: [],
    });
  };

  beforeEach(async () => {
    scenario = await openScenario(slices, { simulator: { world: smallWorld } });
    const above = 'installs/day';
    const root = join(scenario.directory, above, 'lake');
    await mkdir(root, { recursive: true });
    target =
      place === 'S3' ? store.lake(`${above}/lake`) : { kind: 'parquet', path: root, mode: 0o644 };
    await night('2026-04-01T06:00:00Z');
    await night('2026-04-02T06:00:00Z');
    await clickhouse.runAll(`drop database if exists lake;\n${await ddl()}`);
  });

  test('holds every row of every table as the warehouse does, and its final views the final cells', async () => {
    const tables = [...slices.flatMap(({ name }) => [name, `${name}_final`]), ...others];
    let rows = 0;
    for (const name of tables) {
      const isSlice = !others.includes(name);
      const inWarehouse = await query(
        scenario,
        `select ${isSlice ? '* exclude (_load_id)' : '*'} from ${name}`,
      );
      const inLake = await clickhouse.rows(`select * from lake.${name}`);
      expect(comparable(inLake), name).toEqual(comparable(inWarehouse));
      rows += inLake.length;
    }
    expect(rows).toBeGreaterThan(1000);
    const [final] = await clickhouse.rows(
      'select count(installs) as shown, count(cohort_size) as never, count() as all from lake.by_day_final',
    );
    expect(Number(final?.['shown'])).toBeGreaterThan(0);
    expect(Number(final?.['shown'])).toBeLessThan(Number(final?.['all']));
    expect(final?.['never']).toBe('0');
  });
});
