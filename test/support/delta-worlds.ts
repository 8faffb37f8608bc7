/** Many nights of a sample warehouse, drawn from a seed: what loads and people do to it. */

import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { changeRows, empty, newDay, reload, restate } from './ledger-fixtures.ts';
import { storeRows } from './ledger-rows.ts';
import { rowsOf } from './sample-warehouse.ts';

/** A repeatable draw: 0 ≤ n < most. */
export function draws(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** Does to a warehouse what a night may do; says whether the totals of apps are a slice of it after that. */
export async function passNight(
  warehouse: Warehouse,
  night: number,
  draw: (most: number) => number,
): Promise<boolean> {
  const found = await rowsOf(
    warehouse,
    'select distinct day::varchar as day from network_daily order by day',
  );
  const days = found.map(({ day }) => String(day));
  const any = (): string => days[draw(days.length)] ?? '';
  await newDay(
    warehouse,
    new Date(Date.UTC(2026, 5, 1 + night)).toISOString().slice(0, 10),
    days[0] ?? '',
  );
  for (let each = draw(3); each >= 0; each -= 1) await restate(warehouse, any(), 1 + draw(9));
  await reload(warehouse, any());
  const what = draw(8);
  if (what === 0) await empty(warehouse, any());
  if (what === 1) {
    const day = any();
    await warehouse.run(`delete from network_daily where day = DATE '${day}'`);
    await warehouse.run(`delete from ripen.periods where start_day = DATE '${day}'`);
  }
  const columns = await rowsOf(
    warehouse,
    `select column_name as name from duckdb_columns() where table_name = 'network_daily'`,
  );
  const hasAdded = columns.some(({ name }) => name === 'added');
  if (what === 2)
    await warehouse.alter(
      `alter table network_daily ${hasAdded ? 'drop' : 'add'} column added${hasAdded ? '' : ' BIGINT'}`,
    );
  if (what === 3 && hasAdded)
    await changeRows(warehouse, `added = ${night}`, `day = DATE '${any()}'`);
  await warehouse.alter(
    `create or replace table app_totals as
     select app_token, count(*)::bigint as installs, ${-1 - night}::bigint as _load_id from network_daily group by 1`,
  );
  await warehouse.run(`delete from ripen.slice_tables where slice = 'app_totals'`);
  const hasTotals = night % 7 >= 4;
  if (hasTotals) await storeRows(warehouse, 'ripen.slice_tables', { slice: 'app_totals' });
  return hasTotals;
}
