/** ClickHouse reads Delta tables from disk and from S3, by the statements ripen prints, and answers as the warehouse does. */

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import type { PublishTarget } from '../../src/config/config.ts';
import { day } from '../../src/model/calendar.ts';
import {
  comparable,
  openClickHouse,
  type ClickHouse,
  type ComparableRow,
} from '../support/clickhouse.ts';
import { query } from '../support/contents.ts';
import { draws, passNight } from '../support/delta-worlds.ts';
import { lakesDdl } from '../support/lake-ddl.ts';
import { heldRows } from '../support/ledger-fixtures.ts';
import { smallWorld } from '../support/night.ts';
import { CREDENTIALS, useObjectStore, type RunningStore } from '../support/object-store.ts';
import { compilePublisher, type Publisher } from '../support/publisher.ts';
import { openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

/** 400 in the long form. */
const NIGHTS = Number(process.env['RIPEN_DELTA_NIGHTS'] ?? '12');

let clickhouse: ClickHouse;
let publisher: Publisher;
let store: RunningStore;
let sample: Sample;

beforeAll(async () => {
  // The library reads the environment of the process, once.
  Object.assign(process.env, CREDENTIALS, {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_REGION: 'us-east-1',
  });
  clickhouse = openClickHouse();
  publisher = await compilePublisher();
});
afterAll(async () => {
  clickhouse.close();
  await publisher.remove();
});
beforeEach(async () => {
  store = await useObjectStore();
});

describe.each(['disk', 'S3'])('Delta tables on %s', (place) => {
  const targetOf = (): PublishTarget =>
    place === 'S3'
      ? store.tables('tables')
      : { kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs: 3 * 86_400_000 };
  const at = (table: string): string =>
    place === 'S3'
      ? `deltaLake('${store.url}/example-bucket/tables/${table}/')`
      : `deltaLakeLocal('${sample.path('tables')}/${table}/')`;
  const rowsAt = async (table: string, version: number): Promise<ComparableRow[]> =>
    comparable(
      await clickhouse.rows(
        `select * from ${at(table)} settings delta_lake_snapshot_version = ${version}`,
      ),
    );

  test(`hold after ${NIGHTS} nights every row the warehouse does, and in older versions what it did`, async () => {
    sample = await openSample(6, 6);
    const draw = draws(7);
    const held: ComparableRow[][] = [];
    for (let night = 0; night < NIGHTS; night += 1) {
      await passNight(sample.warehouse, night, draw);
      await sample.publish([targetOf()]);
      held.push(comparable(await heldRows(sample)));
    }
    const ddl = await lakesDdl('clickhouse', { publish: [targetOf()] }, sample.warehouse);
    await clickhouse.runAll(`drop database if exists tables;\n${ddl}`);
    expect(comparable(await clickhouse.rows('select * from tables.network_daily'))).toEqual(
      held.at(-1),
    );
    for (const [version, rows] of held.entries()) {
      expect(await rowsAt('network_daily', version), `version ${version}`).toEqual(rows);
    }
    for (const name of ['loads', 'periods']) {
      const inWarehouse = await rowsOf(sample.warehouse, `select count(*) as n from ripen.${name}`);
      expect(
        comparable(await clickhouse.rows(`select count() as n from tables.ripen_${name}`)),
      ).toEqual(comparable(inWarehouse));
    }
    const final = `select count(installs) as n, sum(installs) as total from`;
    expect(comparable(await clickhouse.rows(`${final} tables.network_daily_final`))).toEqual(
      comparable(
        await rowsOf(
          sample.warehouse,
          `${final} (select case when f.is_final then s.installs end as installs from network_daily as s
           left join ripen.finality as f on f.slice = 'network_daily' and f.period = s.day and f.metric = 'installs')`,
        ),
      ),
    );
  });
});

test('final and cohort views show what the warehouse shows, tonight and an older night', async () => {
  sample = await openSample(1, 1);
  const period = (first: string) => ({ first: { day: day(first) }, last: { daysAgo: 1 } });
  const metrics = [
    'installs',
    'cost',
    'all_revenue_total_d0',
    'all_revenue_total_d10',
    'retained_users_d1',
  ];
  const scenario = await openScenario(
    [
      slice({
        name: 'by_hour',
        dimensions: ['hour', 'app_token'],
        metrics,
        datePeriod: period('2026-03-20'),
      }),
      slice({
        name: 'by_day',
        dimensions: ['app_token', 'day'],
        metrics,
        datePeriod: period('2026-03-01'),
      }),
    ],
    { simulator: { world: smallWorld } },
  );
  onTestFinished(async () => scenario.close());
  const publishing = {
    publish: [{ ...store.tables('tables'), path: 's3://example-bucket/tables' }],
  };
  const views = ['by_hour_final', 'by_hour_cohorts', 'by_day_final', 'by_day_cohorts'];
  const nights: { readonly ddl: string; readonly shown: ComparableRow[][] }[] = [];
  for (const night of ['2026-04-01', '2026-04-03']) {
    expect((await scenario.night(new Date(`${night}T06:00:00Z`), publishing)).status).toBe(
      'succeeded',
    );
    const shown: ComparableRow[][] = [];
    for (const view of views) {
      shown.push(
        comparable(await query(scenario, `select columns(c -> c <> '_load_id') from ${view}`)),
      );
    }
    const ddl = await scenario.inWarehouse((warehouse) =>
      lakesDdl('clickhouse', publishing, warehouse),
    );
    nights.push({ ddl, shown });
  }
  for (const { ddl, shown } of nights) {
    await clickhouse.runAll(`drop database if exists tables;\n${ddl}`);
    for (const [at, view] of views.entries()) {
      expect(comparable(await clickhouse.rows(`select * from tables.${view}`)), view).toEqual(
        shown[at],
      );
    }
  }
  expect(nights[0]?.shown).not.toEqual(nights[1]?.shown);
});
