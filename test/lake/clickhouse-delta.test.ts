/** ClickHouse reads Delta tables from disk and from S3, by the statements ripen prints, and answers as the warehouse does. */

import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import type { PublishTarget } from '../../src/config/config.ts';
import { day } from '../../src/model/calendar.ts';
import { lakesDdl } from '../../src/publish/ddl.ts';
import { openClickHouse, type ClickHouse } from '../support/clickhouse.ts';
import { query } from '../support/contents.ts';
import { draws, passNight } from '../support/delta-worlds.ts';
import { heldRows, restate } from '../support/ledger-nights.ts';
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
  Object.assign(process.env, CREDENTIALS, { AWS_EC2_METADATA_DISABLED: 'true', AWS_REGION: 'us-east-1' });
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

type Row = Record<string, string | null>;

const textOf = (value: unknown): string | null =>
  value === null ? null : (typeof value === 'string' ? value : JSON.stringify(value)).replace(/(:\d\d)\.0+$/, '$1');
const sorted = (rows: readonly Readonly<Record<string, unknown>>[]): Row[] =>
  rows
    .map((row) =>
      Object.fromEntries(
        Object.entries(row)
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, value]) => [name, textOf(value)]),
      ),
    )
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));

describe.each(['disk', 'S3'])('Delta tables on %s', (place) => {
  const targetOf = (): PublishTarget =>
    place === 'S3'
      ? store.tables('tables')
      : { kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs: 3 * 86_400_000 };
  const at = (table: string): string =>
    place === 'S3'
      ? `deltaLake('${store.url}/example-bucket/tables/${table}/')`
      : `deltaLakeLocal('${sample.path('tables')}/${table}/')`;
  const rowsAt = async (table: string, version: number): Promise<Row[]> =>
    sorted(await clickhouse.rows(`select * from ${at(table)} settings delta_lake_snapshot_version = ${version}`));

  test(`hold after ${NIGHTS} nights every row the warehouse does, and in older versions what it did`, async () => {
    sample = await openSample(6, 6);
    const draw = draws(7);
    const held: Row[][] = [];
    for (let night = 0; night < NIGHTS; night += 1) {
      await passNight(sample.warehouse, night, draw);
      await sample.publish([targetOf()]);
      held.push(sorted(await heldRows(sample)));
    }
    const ddl = await lakesDdl('clickhouse', { publish: [targetOf()] }, sample.warehouse);
    await clickhouse.runAll(`drop database if exists tables;\n${ddl}`);
    expect(sorted(await clickhouse.rows('select * from tables.network_daily'))).toEqual(held.at(-1));
    for (const [version, rows] of held.entries()) {
      expect(await rowsAt('network_daily', version), `version ${version}`).toEqual(rows);
    }
    for (const name of ['loads', 'periods']) {
      const inWarehouse = await rowsOf(sample.warehouse, `select count(*) as n from ripen.${name}`);
      expect(sorted(await clickhouse.rows(`select count() as n from tables.ripen_${name}`))).toEqual(
        sorted(inWarehouse),
      );
    }
    const final = `select count(installs) as n, sum(installs) as total from`;
    expect(sorted(await clickhouse.rows(`${final} tables.network_daily_final`))).toEqual(
      sorted(
        await rowsOf(
          sample.warehouse,
          `${final} (select case when f.is_final then s.installs end as installs from network_daily as s
           left join ripen.finality as f on f.slice = 'network_daily' and f.period = s.day and f.metric = 'installs')`,
        ),
      ),
    );
  });

  test('are read by readers beside a publisher that is killed and begun again: 0 errors, 0 torn nights', async () => {
    sample = await openSample(20, 10);
    await sample.publish([targetOf()]);
    const question = `select count() as n, sum(installs) as installs from ${at('network_daily')}`;
    const states = new Set<string>();
    const inWarehouse = async (): Promise<string> =>
      JSON.stringify(
        sorted(await rowsOf(sample.warehouse, 'select count(*) as n, sum(installs) as installs from network_daily')),
      );
    states.add(await inWarehouse());
    const found: string[] = [];
    const over = new AbortController();
    const reading = (async () => {
      while (!over.signal.aborted) found.push(JSON.stringify(sorted(await clickhouse.rows(question))));
    })();
    try {
      for (let kill = 0; kill < 6; kill += 1) {
        await restate(sample.warehouse, '2026-01-07', 1);
        await restate(sample.warehouse, '2026-01-08', 10);
        states.add(await inWarehouse());
        const begun = Date.now();
        await publisher.publishAndKill(sample, [targetOf()], () => Date.now() - begun > 400 + 150 * kill);
        while (found.length < 2 * (kill + 1)) await sleep(20);
      }
      await sample.publish([targetOf()]);
    } finally {
      over.abort();
      await reading;
    }
    expect(found.filter((each) => !states.has(each))).toEqual([]);
    expect(found.length).toBeGreaterThan(10);
    expect(JSON.stringify(sorted(await clickhouse.rows(question)))).toBe(await inWarehouse());
  });
});

test('final and cohort views show what the warehouse shows, tonight and an older night', async () => {
  sample = await openSample(1, 1);
  const period = (first: string) => ({ first: { day: day(first) }, last: { daysAgo: 1 } });
  const metrics = ['installs', 'cost', 'all_revenue_total_d0', 'all_revenue_total_d10', 'retained_users_d1'];
  const scenario = await openScenario(
    [
      slice({ name: 'by_hour', dimensions: ['hour', 'app_token'], metrics, datePeriod: period('2026-03-20') }),
      slice({ name: 'by_day', dimensions: ['app_token', 'day'], metrics, datePeriod: period('2026-03-01') }),
    ],
    { simulator: { world: smallWorld } },
  );
  onTestFinished(async () => scenario.close());
  const publishing = { publish: [{ ...store.tables('tables'), path: 's3://example-bucket/tables' }] };
  const views = ['by_hour_final', 'by_hour_cohorts', 'by_day_final', 'by_day_cohorts'];
  const nights: { readonly ddl: string; readonly shown: Row[][] }[] = [];
  for (const night of ['2026-04-01', '2026-04-03']) {
    expect((await scenario.night(new Date(`${night}T06:00:00Z`), publishing)).status).toBe('succeeded');
    const shown: Row[][] = [];
    for (const view of views) {
      const left = view.endsWith('_final') ? '_load_id' : 'value_text';
      shown.push(sorted(await query(scenario, `select * exclude (${left}) from ${view}`)));
    }
    const ddl = await scenario.inWarehouse((warehouse) => lakesDdl('clickhouse', publishing, warehouse));
    nights.push({ ddl, shown });
  }
  for (const { ddl, shown } of nights) {
    await clickhouse.runAll(`drop database if exists tables;\n${ddl}`);
    for (const [at, view] of views.entries()) {
      expect(sorted(await clickhouse.rows(`select * from tables.${view}`)), view).toEqual(shown[at]);
    }
  }
  expect(nights[0]?.shown).not.toEqual(nights[1]?.shown);
});

test('a query of one day on S3 opens 1 of 30 files', async () => {
  sample = await openSample(30, 5);
  await sample.publish([store.tables('tables')]);
  store.requests.length = 0;
  await clickhouse.rows(
    `select sum(installs) as n from deltaLake('${store.url}/example-bucket/tables/network_daily/') where day = '2026-01-15'`,
  );
  const read = store.requests.filter(({ method, key }) => method === 'GET' && /day=.*\.parquet$/.test(key));
  expect(new Set(read.map(({ key }) => key.split('/')[2]))).toEqual(new Set(['day=2026-01-15']));
});

test("names with blanks and marks, mapped in the middle of a table's life, are read from disk with every row", async () => {
  sample = await openSample(4, 3);
  await sample.warehouse.run('alter table main.network_daily add column "net revenue, {usd} = (all); sums" BIGINT');
  await sample.warehouse.run(
    'update main.network_daily set "net revenue, {usd} = (all); sums" = installs % 5 where day > DATE \'2026-01-01\'',
  );
  const target = { kind: 'delta', path: sample.path('mapped'), mode: 0o644, keepMs: 86_400_000 } as const;
  await sample.publish([target]);
  for (let night = 0; night < 2; night += 1) {
    await sample.publish([{ ...target, columnMapping: true }]);
    await restate(sample.warehouse, '2026-01-02', 1);
  }
  await sample.publish([{ ...target, columnMapping: true }]);
  const held = sorted(await heldRows(sample));
  const table = `deltaLakeLocal('${sample.path('mapped')}/network_daily/')`;
  expect(sorted(await clickhouse.rows(`select * from ${table}`))).toEqual(held);
  const ofDay = sorted(await clickhouse.rows(`select * from ${table} where "net revenue, {usd} = (all); sums" = 3`));
  expect(ofDay).toEqual(held.filter((row) => row['net revenue, {usd} = (all); sums'] === '3'));
});
