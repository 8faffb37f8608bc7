/** Nights of a sample warehouse as loads leave them, by plain SQL: rows and ledger change together, under new load ids. */

import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { storeRows } from './ledger-rows.ts';
import { rowsOf, type Sample } from './sample-warehouse.ts';

/** Replaces a day of a slice by what a query of its rows gives (`from held`), as one load. */
export async function loadDay(
  warehouse: Warehouse,
  day: string,
  rows: string,
  slice = 'network_daily',
): Promise<void> {
  await warehouse.run(
    `create or replace temp table held as select * from main.${slice} where day = DATE '${day}'`,
  );
  await warehouse.run(`create or replace temp table loading as ${rows}`);
  const [{ load_id = 0, count = 0 } = {}] = await rowsOf(
    warehouse,
    `select nextval('ripen_internal.load_ids') as load_id, count(*) as count from loading`,
  );
  await warehouse.transact(async () => {
    await warehouse.run(`delete from main.${slice} where day = DATE '${day}'`);
    await warehouse.run(
      `insert into main.${slice} by name select * replace (${String(load_id)} as _load_id) from loading`,
    );
    const row = { slice, load_id, start_day: day };
    const counts = { rows_fetched: count, rows_loaded: count };
    await storeRows(warehouse, 'ripen.loads', {
      ...row,
      ...counts,
      run_id: `run ${String(load_id)}`,
    });
    await warehouse.run(
      `delete from ripen.periods where slice = '${slice}' and start_day = DATE '${day}'`,
    );
    await storeRows(warehouse, 'ripen.periods', { ...row, rows: count });
  });
  await warehouse.run('drop table held');
  await warehouse.run('drop table loading');
}

/** Restates a day: every number of it moves. */
export async function restate(warehouse: Warehouse, day: string, by: number): Promise<void> {
  await loadDay(
    warehouse,
    day,
    `select * replace (installs + ${by} as installs, (cost + 0.01 * ${by})::decimal(18,6) as cost) from held`,
  );
}

/** Changes rows of the sample's slice, as one load of the whole days. */
export async function changeRows(warehouse: Warehouse, set: string, where = 'true'): Promise<void> {
  await warehouse.run(`create or replace temp table brought as
    select nextval('ripen_internal.load_ids') as load_id, list(distinct day) as days from main.network_daily where ${where}`);
  const id = '(select load_id from brought)';
  const changed = (day: string): string => `list_contains((select days from brought), ${day})`;
  await warehouse.run(
    `insert into ripen.loads select * replace (${id} as load_id) from ripen.loads limit 1`,
  );
  await warehouse.run(`update main.network_daily set ${set} where ${where}`);
  await warehouse.run(`update main.network_daily set _load_id = ${id} where ${changed('day')}`);
  await warehouse.run(
    `update ripen.periods set load_id = ${id} where slice = 'network_daily' and ${changed('start_day')}`,
  );
  await warehouse.run('drop table brought');
}

/** A day nobody had before, made of another's rows. */
export async function newDay(warehouse: Warehouse, day: string, from: string): Promise<void> {
  await loadDay(
    warehouse,
    day,
    `select * replace (DATE '${day}' as day) from main.network_daily where day = DATE '${from}'`,
  );
}

/** A load that brings the same rows again. */
export const reload = async (warehouse: Warehouse, day: string): Promise<void> =>
  loadDay(warehouse, day, 'select * from held');

/** A load that brings no rows. */
export const empty = async (warehouse: Warehouse, day: string): Promise<void> =>
  loadDay(warehouse, day, 'select * from held where false');

/** Rows of a slice as its copies hold them. */
export async function heldRows(
  sample: Sample,
  slice = 'network_daily',
): Promise<Record<string, unknown>[]> {
  return rowsOf(sample.warehouse, `select * exclude (_load_id) from main.${slice}`);
}
