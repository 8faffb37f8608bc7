/** A warehouse as loads leave it, filled by plain SQL: any number of days, exact values, comments, a ledger; no service. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import type { PublishTarget } from '../../src/config/config.ts';
import type { RunEvent } from '../../src/events.ts';
import { addDays, day } from '../../src/model/calendar.ts';
import { publish, type Published } from '../../src/publish/publish.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { closedOnce } from './closing.ts';
import { storeRows } from './ledger-rows.ts';
import { daysIn } from './plain-values.ts';

export interface Sample {
  readonly directory: string;
  /** Open for writing in this process, but while it is lent. */
  readonly warehouse: Warehouse;
  readonly events: RunEvent[];
  path(name: string): string;
  publish(targets: readonly PublishTarget[], signal?: AbortSignal): Promise<readonly Published[]>;
  /** Closes the warehouse, so that another process can open it, and opens it again. */
  lend(work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** The first of the sample's days. */
export const FIRST_DAY = '2026-01-01';

/** Opens a warehouse of so many days with so many rows each, in a temporary directory. */
export async function openSample(days: number, rowsPerDay: number): Promise<Sample> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-publish-'));
  const events: RunEvent[] = [];
  const emit = (event: RunEvent): void => {
    events.push(event);
  };
  const open = (): Promise<Warehouse> =>
    openWarehouse(join(directory, 'warehouse.duckdb'), {
      mode: 'write',
      lockWaitMs: LOCK_WAIT_MS,
      emit,
    });
  let warehouse = await open();
  for (const sql of declarations) await warehouse.alter(sql);
  const slice = 'network_daily';
  await storeRows(warehouse, 'ripen.slice_tables', { slice });
  await storeRows(warehouse, 'ripen.slice_metrics', { slice, metric: 'installs' });
  const apps = ['One', 'Two'].map((name, at) => ({ id: `app${at}`, name }));
  await storeRows(warehouse, 'ripen.catalog', ...apps);
  await storeRows(warehouse, 'ripen.rejected_rows', { slice, start_day: FIRST_DAY });
  await loadDays(warehouse, days, rowsPerDay);
  return {
    directory,
    get warehouse() {
      return warehouse;
    },
    events,
    path: (name) => join(directory, name),
    async publish(targets, signal = new AbortController().signal) {
      const { published, failures } = await publish({ publish: targets }, warehouse, {
        emit,
        signal,
      });
      const [first] = failures;
      if (first !== undefined) throw first;
      return published;
    },
    async lend(work) {
      await warehouse.close();
      await work();
      warehouse = await open();
    },
    close: closedOnce(async () => {
      await warehouse.close();
      await rm(directory, { recursive: true, force: true });
    }),
  };
}

/** A killed process gives its lock back a moment after it is gone. */
const LOCK_WAIT_MS = 5000;

const declarations = [
  `create table main.network_daily (
       day DATE, app_token VARCHAR, network VARCHAR, installs BIGINT, cost DECIMAL(18,6), revenue DECIMAL(38,10),
       ecpi DOUBLE, attr_dependency JSON, _extra JSON, _load_id BIGINT)`,
  `comment on table main.network_daily is 'Report slice network_daily: it''s one row per day'`,
  `comment on column main.network_daily.cost is 'Cost: what was spent (money in USD; final 14 days after the period).'`,
  `create view main.network_daily_final as
   select s.day, s.app_token, s.network, case when p.whole then s.installs end as installs, s._load_id
   from main.network_daily as s
   left join ripen.periods as p on p.slice = 'network_daily' and p.fingerprint = 'f1' and p.start_day = s.day`,
  `comment on view main.network_daily_final is 'Cells that are not final are NULL.'`,
  `comment on column main.network_daily_final.installs is 'Installs'`,
];

/** Values with digits a double would lose, and quotes and separators in the texts. */
async function loadDays(warehouse: Warehouse, days: number, rowsPerDay: number): Promise<void> {
  await warehouse.run(
    `insert into main.network_daily
     select
         DATE '${FIRST_DAY}' + (r // ${rowsPerDay})::integer,
         'app' || r % 3,
         'net, "' || r % ${rowsPerDay} || '''s"',
         9007199254740993 + r,
         (r::decimal(18,6) + 0.000001)::decimal(18,6),
         123456789012345678.0000000001::decimal(38,10) + r,
         r / 7,
         case when r % 5 = 0 then '{"partner":"9007199254740993"}' else '{}' end,
         null,
         l.load_id
     from range(${days * rowsPerDay}) as t(r), (select nextval('ripen_internal.load_ids') as load_id) as l`,
  );
  const slice = 'network_daily';
  const [{ load_id = 0 } = {}] = await rowsOf(
    warehouse,
    'select max(_load_id) as load_id from main.network_daily',
  );
  const all = { rows_fetched: days * rowsPerDay, rows_loaded: days * rowsPerDay };
  const end_day = addDays(day(FIRST_DAY), days);
  await storeRows(warehouse, 'ripen.loads', {
    slice,
    load_id,
    ...all,
    start_day: FIRST_DAY,
    end_day,
  });
  const periods = daysIn({ start: day(FIRST_DAY), end: end_day }).map((start_day) => ({
    slice,
    load_id,
    start_day,
    whole: start_day < '2026-01-03',
    rows: rowsPerDay,
  }));
  await storeRows(warehouse, 'ripen.periods', ...periods);
}

const row = z.record(z.string(), z.unknown());

/** Opens a database as an analyst in this process would and asks it one thing. */
export async function ask(
  path: string,
  sql: string,
  preparations: readonly string[] = [],
): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(
    path,
    path === ':memory:' ? {} : { access_mode: 'READ_ONLY' },
  );
  const connection = await instance.connect();
  try {
    for (const preparation of preparations) await connection.run(preparation);
    const reader = await connection.runAndReadAll(sql);
    return z.array(row).parse(reader.getRowObjectsJson());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

export async function rowsOf(
  warehouse: Warehouse,
  sql: string,
): Promise<Record<string, unknown>[]> {
  return warehouse.rows(sql, [], row);
}
