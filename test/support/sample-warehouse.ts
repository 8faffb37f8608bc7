/** A warehouse as loads leave it, filled by plain SQL: any number of days, exact values, comments, a ledger; no service. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod';

import type { PublishTarget } from '../../src/config/config.ts';
import type { RunEvent } from '../../src/events.ts';
import { publish, type Published } from '../../src/publish/publish.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { closedOnce } from './closing.ts';

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
  for (const sql of declarations) await warehouse.run(sql);
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

/** The statement that makes a table of main the live one of the slice of its name. */
export function intoLedger(slice: string): string {
  return `insert into ripen.slice_tables by name
   select '${slice}' as slice, 'f1' as fingerprint, 'main."${slice}"' as table_name, 'live' as state,
       now()::timestamp as created_at`;
}

/** The statement that takes a slice out of the ledger, with its table left behind. */
export const outOfLedger = (slice: string): string =>
  `delete from ripen.slice_tables where slice = '${slice}'`;

/** A killed process gives its lock back a moment after it is gone. */
const LOCK_WAIT_MS = 5000;

const declarations = [
  `create table main.network_daily (
       day DATE, app_token VARCHAR, network VARCHAR, installs BIGINT, cost DECIMAL(18,6), revenue DECIMAL(38,10),
       ecpi DOUBLE, attr_dependency JSON, _extra JSON, _load_id BIGINT)`,
  `comment on table main.network_daily is 'Report slice network_daily: it''s one row per day'`,
  `comment on column main.network_daily.cost is 'Cost: what was spent (money in USD; final 14 days after the period).'`,
  intoLedger('network_daily'),
  `insert into ripen.slice_metrics by name
   select 'network_daily' as slice, 'installs' as metric, 0 as position, 'BIGINT' as type, 'plain' as kind, 'documented' as horizon_from,
       true as additive, 604800 as horizon_seconds, 3600 as settle_seconds`,
  `create view main.network_daily_final as
   select s.day, s.app_token, s.network, case when p.whole then s.installs end as installs, s._load_id
   from main.network_daily as s
   left join ripen.periods as p on p.slice = 'network_daily' and p.fingerprint = 'f1' and p.start_day = s.day`,
  `comment on view main.network_daily_final is 'Cells that are not final are NULL.'`,
  `comment on column main.network_daily_final.installs is 'Installs'`,
  `insert into ripen.catalog
   select 'apps', 'app' || i, ['One', 'Two'][i + 1], '', '', '', '', null, now()::timestamp from range(2) as t(i)`,
  `insert into ripen.rejected_rows by name
   select 'run' as run_id, 'network_daily' as slice, DATE '2026-01-01' as start_day, DATE '2026-01-02' as end_day,
       'not a number' as reason, '{"cost":"1,2"}' as row, now()::timestamp as seen_at`,
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
  await warehouse.run(
    `insert into ripen.loads by name
     select max(_load_id) as load_id, 'run' as run_id, 'network_daily' as slice, 'f1' as fingerprint,
         DATE '${FIRST_DAY}' as start_day, DATE '${FIRST_DAY}' + ${days} as end_day, ['never loaded'] as reasons,
         '{}' as parameters, ['installs'] as metrics, 1 as requests, 1 as bytes, count(*) as rows_fetched,
         count(*) as rows_loaded, 0 as rows_rejected, 'proven' as verdict, '{}' as proof,
         now()::timestamp as requested_at, now()::timestamp as received_at, now()::timestamp as loaded_at
     from main.network_daily`,
  );
  await warehouse.run(
    `insert into ripen.periods by name
     select 'network_daily' as slice, 'f1' as fingerprint, day as start_day, day + 1 as end_day, day as requested_start,
         day + 1 as requested_end, (select max(load_id) from ripen.loads) as load_id, now()::timestamp as fetched_at, day + 1 as ends_at,
         day < DATE '2026-01-03' as whole, count(*) as rows, 0 as rejected, 'final' as state,
         case when whole then fetched_at end as trusted_at
     from main.network_daily
     group by day`,
  );
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
