/** Columns and tables that are gone: taken out of the configuration and put back, or removed by hand. */

import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import * as z from 'zod';

import { drop } from '../../src/index.ts';
import { ask } from '../support/sample-warehouse.ts';
import { storedAndTrue } from '../support/contents.ts';
import { textWith } from '../support/matching.ts';
import { reports, smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

let scenario: Scenario;

const NOW = new Date('2026-06-01T02:30:00Z');
const DAYS = '2026-05-12:2026-05-31';

const given = {
  name: 'daily',
  dimensions: ['day', 'app_token', 'os_name'],
  metrics: ['installs', 'cost'],
  datePeriod: { first: { daysAgo: 20 }, last: { daysAgo: 1 } },
} as const;
const daily = slice(given);
const wider = slice({ ...given, metrics: ['installs', 'clicks', 'cost'] });

const open = async (): Promise<void> => {
  scenario = await openScenario([wider], { simulator: { world: smallWorld } });
};

/** Changes the warehouse as somebody with a session of his own does. */
async function byHand(sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(scenario.config.warehouse);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

test('a metric that was taken out, not published without, and put back is as empty in each copy as in the warehouse', async () => {
  await open();
  const [lake, delta] = [join(scenario.directory, 'lake'), join(scenario.directory, 'delta')];
  const publish = [
    { kind: 'parquet', path: lake, mode: 0o600 },
    { kind: 'delta', path: delta, mode: 0o600, keepMs: 86_400_000 },
  ] as const;
  await scenario.night(NOW, { publish });
  await scenario.night(NOW, { slices: [daily] });
  scenario.simulator.script({ match: reports(), times: Infinity, fault: { kind: 'status', status: 400 } });
  const summary = await scenario.night(NOW, { publish });

  expect(summary.failures.length).toBeGreaterThan(0);
  const held = 'select count(*) as rows, count(clicks) as clicks from';
  const [inWarehouse] = await scenario.inWarehouse((warehouse) =>
    warehouse.rows(`${held} daily`, [], z.object({ rows: z.string(), clicks: z.string() })),
  );
  expect(inWarehouse?.clicks).toBe('0');
  expect(await ask(':memory:', `${held} read_parquet('${lake}/daily/*/*.parquet')`)).toEqual([inWarehouse]);
  expect(await ask(join(delta, 'catalog.duckdb'), `${held} daily`)).toEqual([inWarehouse]);
});

test('a table that somebody removed is named, with what to do, and that loads the slice anew', async () => {
  await open();
  await scenario.night(NOW);
  await byHand('drop table daily');
  const { failures } = await scenario.night(NOW);
  expect(failures).toMatchObject([
    {
      code: 'STORAGE_FAILED',
      message: 'The table main."daily" of the slice daily was gone from the warehouse.',
      hint: textWith('`ripen drop --slice daily`'),
    },
  ]);

  await drop(scenario.config, { slice: 'daily', agree: true });
  await scenario.night(NOW);
  const { stored, truth } = await storedAndTrue(scenario, wider, DAYS, NOW);
  expect(stored).toEqual(truth);
});
